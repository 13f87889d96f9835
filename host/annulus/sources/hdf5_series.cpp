#include <annulus/sources/hdf5_find.hpp>
#include <annulus/sources/hdf5_series.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace annulus {
namespace {

// Data files are used one after the other, by a few readers; a scan may have more than a process may open.
constexpr std::size_t kMostOpen = 4;

}  // namespace

Hdf5Series::Hdf5Series(std::string path, std::string dataset, bool growing, Fence fence)
    : path_(std::move(path)), dataset_(std::move(dataset)), growing_(growing), fence_(std::move(fence)) {
  if (growing_) {
    look();
  } else {
    for (const std::string& name : find_paths()) add_complete(name);
  }
  if (!described_) throw *parts_.front().fault;
}

std::vector<std::string> Hdf5Series::find_paths() const {
  if (!dataset_.empty()) return {dataset_};
  const Hdf5Handle file = open_hdf5_file(path_, fence_);
  return find_image_datasets(path_, file.get(), growing_);
}

std::unique_ptr<const Hdf5Dataset> Hdf5Series::open(const std::string& path) const {
  const Hdf5Handle file = open_hdf5_file(path_, fence_);
  auto dataset = std::make_unique<const Hdf5Dataset>(locate_dataset(file.get(), path_, path, fence_), fence_);
  const std::string url = dataset->place().url();
  if (described_ && (dataset->type() != type_ || dataset->shape() != shape_)) {
    throw input_error(
        url,
        fmt::format("{} {}, but {} is {} {}", to_string(dataset->shape()), name_of(dataset->type()),
                    join_url(path_, first_dataset()), to_string(shape_), name_of(type_)),
        "name one dataset");
  }
  // The numbers of frames depend on all sides of the grid but the first.
  if (described_ && growing_ &&
      !std::ranges::equal(dataset->grid() | std::views::drop(1), grid_ | std::views::drop(1))) {
    throw input_error(url, "its grid of frames has changed",
                      "reduce it when it is complete, without `follow`");
  }
  if (growing_ && !dataset->shows_what_is_written()) {
    throw input_error(
        url,
        "frames have no chunks of their own, or got them in advance, so nobody can tell which were written",
        "leave `follow` out");
  }
  if (!growing_ && dataset->frames() == 0)
    throw input_error(url, "the stack holds no frames", "wait until the file is written");
  return dataset;
}

void Hdf5Series::describe(const Hdf5Dataset& dataset) {
  if (!described_) {
    type_ = dataset.type();
    shape_ = dataset.shape();
    grid_ = dataset.grid();
  }
  described_ = true;
  average_bytes_ = std::max(average_bytes_, dataset.average_bytes());
  held_bytes_ = std::max(held_bytes_, dataset.held_bytes());
}

void Hdf5Series::add_complete(const std::string& path) {
  Part part{.path = path, .complete = true};
  try {
    const auto dataset = open(path);
    part.extent = part.frames = dataset->frames();
    part.url = dataset->place().url();
    describe(*dataset);
  } catch (const Error& error) {
    part.frames = 1;
    part.fault = error;
  }
  parts_.push_back(std::move(part));
}

// Of all data files but the last, which are equally long; 0 if nothing tells.
std::uint64_t Hdf5Series::full_length(std::optional<std::uint64_t> promised) const {
  std::uint64_t longest = 0;
  for (const Part& part : parts_ | std::views::take(parts_.size() - 1))
    longest = std::max(longest, part.fault ? 0 : part.extent);
  if (longest > 0 || parts_.size() == 1) return longest;
  // Only the last is there, and it is not longer than the others.
  const std::uint64_t last = parts_.back().extent, others = parts_.size() - 1;
  const std::uint64_t rest = promised.value_or(0) - std::min(promised.value_or(0), last);
  return rest % others == 0 && rest / others >= last ? rest / others : 0;
}

void Hdf5Series::reckon_missing(std::optional<std::uint64_t> promised) {
  const std::uint64_t full = full_length(promised);
  if (full == 0) return;
  std::uint64_t before_last = 0;
  for (Part& part : parts_ | std::views::take(parts_.size() - 1)) {
    if (part.fault) part.frames = full;
    before_last += part.frames;
  }
  Part& last = parts_.back();
  if (last.fault && promised > before_last) last.frames = std::min(*promised - before_last, full);
}

std::vector<std::string> Hdf5Series::datasets() const {
  std::vector<std::string> urls;
  for (const Part& part : parts_) urls.push_back(join_url(path_, part.path));
  return urls;
}

std::vector<std::uint64_t> Hdf5Series::grid() const {
  if (parts_.size() > 1 || grid_.size() < 2) return {};
  return {grid_.begin(), grid_.end()};
}

std::uint64_t Hdf5Series::frames() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) {
    sum += part.frames;
    if (!part.complete) break;
  }
  return sum;
}

const Hdf5Dataset& Hdf5Series::use(Part& part) {
  const auto index = static_cast<std::size_t>(&part - parts_.data());
  std::erase(open_parts_, index);
  if (!part.dataset) {
    // One that keeps chunks keeps as much as was reckoned for all of them.
    const std::size_t most = held_bytes_ > 0 ? 1 : kMostOpen;
    while (open_parts_.size() >= most) {
      parts_[open_parts_.front()].dataset.reset();
      open_parts_.erase(open_parts_.begin());
    }
    part.dataset = open(part.path);
  }
  open_parts_.push_back(index);
  return *part.dataset;
}

Hdf5Series::Part& Hdf5Series::part_of(std::uint64_t& i) {
  for (Part& part : parts_) {
    if (i < part.frames) return part;
    i -= part.frames;
  }
  throw input_error(path_, "no such frame");
}

bool Hdf5Series::can_open(std::uint64_t i) {
  Part& part = part_of(i);
  try {
    if (!part.fault || !part.complete) use(part);
    return true;
  } catch (const Error&) {
    return part.complete;
  }
}

FrameId Hdf5Series::locate(std::uint64_t i) {
  const Part& part = part_of(i);
  return {0, part.url.empty() ? join_url(path_, part.path) : part.url, i, true};
}

FetchedFrame Hdf5Series::fetch(std::uint64_t i) {
  Part& part = part_of(i);
  if (part.fault && part.complete) throw *part.fault;
  FetchedFrame fetched = use(part).fetch(i);
  // A writer that opens its file for every frame must not find it in use; one in SWMR mode does not mind.
  if (!part.complete && !part.dataset->is_shared_with_writer()) close(part);
  return fetched;
}

void Hdf5Series::touch() {
  for (Part& part : parts_) {
    try {
      if (!part.fault) use(part).touch();
    } catch (const Error&) {
      // A fault of this part, which its frames will say.
    }
  }
}

void Hdf5Series::close(Part& part) {
  part.dataset.reset();
  std::erase(open_parts_, static_cast<std::size_t>(&part - parts_.data()));
}

void Hdf5Series::look() {
  // Whoever has a file open sees it as it was; all of it has to be closed to see it as it is.
  for (const std::size_t index : open_parts_) parts_[index].dataset.reset();
  open_parts_.clear();
  take_over(find_paths());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].complete) continue;
    if (!examine(parts_[i]) || i + 1 == parts_.size()) return;
    // That the next one is there says that this one is complete, if it is looked at once more.
    examine(parts_[i + 1]);
    if (parts_[i + 1].extent == 0 || !examine(parts_[i])) return;
    parts_[i].complete = true;
  }
}

// Parts that the file has now. While it is being made it may change its mind where they are.
void Hdf5Series::take_over(const std::vector<std::string>& paths) {
  const auto same = [](const Part& part, const std::string& path) { return part.path == path; };
  const bool agree = parts_.size() <= paths.size() &&
                     std::ranges::equal(parts_, paths | std::views::take(parts_.size()), same);
  moved_.reset();
  if (!agree && frames() > 0) {
    // What was read cannot be taken back, and what comes must not be put behind it.
    moved_ = input_error(
        path_, fmt::format("its images were {} at first, and are {} now", first_dataset(), paths.front()),
        "reduce it when it is complete, without `follow`");
    return;
  }
  if (!agree) parts_.clear();
  for (std::size_t i = parts_.size(); i < paths.size(); ++i) parts_.push_back({.path = paths[i]});
}

std::optional<std::uint64_t> Hdf5Series::bytes_written() const {
  std::uint64_t sum = 0;
  bool any = false;
  for (const Part& part : parts_) {
    if (part.complete) continue;
    try {
      sum += open(part.path)->stored_bytes();
      any = true;
    } catch (const Error&) {
      break;  // data files come one after the other
    }
  }
  return any ? std::optional(sum) : std::nullopt;
}

// Whether all that is laid out is there.
bool Hdf5Series::examine(Part& part) {
  try {
    const auto dataset = open(part.path);
    describe(*dataset);
    part.url = dataset->place().url();
    part.fault.reset();
    part.extent = dataset->frames();
    while (part.frames < part.extent && dataset->is_written(part.frames)) ++part.frames;
  } catch (const Error& error) {
    part.fault = error;
    return false;
  }
  return part.extent > 0 && part.frames == part.extent;
}

Hdf5Series::Rest Hdf5Series::give_up(std::optional<std::uint64_t> promised) {
  std::size_t end = 0;  // of the parts that have a frame
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (!part.complete) examine_to_the_end(part);
    if (part.frames > 0) end = i + 1;
  }
  Rest rest{.fault = moved_};
  const std::uint64_t missing = std::max<std::uint64_t>(full_length(promised), 1);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.complete) continue;
    part.complete = true;
    if (i + 1 < end) {
      part.frames = part.fault ? std::max(part.frames, missing) : part.extent;
    } else {
      rest.frames += part.extent - std::min(part.extent, part.frames);
      if (part.fault && !rest.fault) rest.fault = part.fault;
      if (i >= end) part.fault.reset();
    }
  }
  return rest;
}

// Up to the last frame that was written, whatever is missing before it.
void Hdf5Series::examine_to_the_end(Part& part) {
  examine(part);
  if (part.fault) return;
  // A file that became shorter keeps its frames here: reading them says what is wrong.
  part.frames = std::max(part.frames, std::min(open(part.path)->written_end(), part.extent));
}

}  // namespace annulus
