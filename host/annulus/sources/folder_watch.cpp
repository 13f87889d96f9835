#include <annulus/core/clock.hpp>
#include <annulus/sources/folder_watch.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/image_names.hpp>

#include <fmt/core.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;
constexpr int kWaitMilliseconds = 50;  // until a stop is noticed
constexpr double kListingShare = 10;   // a listing takes this part of the time at most

Clock::duration as_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// None if there are no watches left on this machine: then listings have to do.
int open_events(const std::string& folder) {
  const int events = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events < 0) return -1;
  if (::inotify_add_watch(events, folder.c_str(), IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO) >= 0)
    return events;
  ::close(events);
  return -1;
}

}  // namespace

bool FolderWatch::NaturalOrder::operator()(const std::string& a, const std::string& b) const {
  return natural_less(a, b);
}

FolderWatch::FolderWatch(std::string folder, const FolderSettings& settings)
    : folder_(std::move(folder)), settings_(settings) {
  if (settings_.use_inotify)
    events_ = open_events(folder_);  // before the first listing, so that nothing is missed
}

FolderWatch::~FolderWatch() {
  if (events_ >= 0) ::close(events_);
}

std::optional<FolderWatch::Arrival> FolderWatch::next(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_events();
    if (Clock::now() >= next_listing_) list();
    if (auto arrival = take_first()) return arrival;
    if (!nothing_came()) {
      wait();
      continue;
    }
    // Nobody may have told us of files that came since the last listing, which may be long ago.
    list();
    if (waiting_.empty()) return refusal();
  }
  return std::nullopt;
}

// Why nothing came, if the folder has files of another kind instead.
std::optional<FolderWatch::Arrival> FolderWatch::refusal() const {
  if (hdf5_name_.empty() || !handed_out_.empty()) return std::nullopt;
  return Arrival{path_of(hdf5_name_), nullptr,
                 Error(ErrorKind::kUsage, path_of(hdf5_name_),
                       "of a folder that is followed only CBF, EDF, TIFF and NPY files count",
                       "name the HDF5 file itself with `follow`")};
}

bool FolderWatch::nothing_came() const {
  return waiting_.empty() && seconds_since(last_news_) >= settings_.timeout;
}

void FolderWatch::wait() const {
  pollfd waited{events_, POLLIN, 0};  // without events: only the time counts
  ::poll(&waited, events_ >= 0 ? 1 : 0, kWaitMilliseconds);
}

std::optional<FolderWatch::Stamp> FolderWatch::stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return Stamp{status.st_ino, static_cast<std::uint64_t>(status.st_size),
               std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void FolderWatch::take_events() {
  alignas(inotify_event) std::array<char, 16384> buffer{};
  while (events_ >= 0) {
    const ssize_t count = ::read(events_, buffer.data(), buffer.size());
    if (count <= 0) return;
    for (ssize_t at = 0; at < count;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      take_event(event.mask, event.len > 0 ? std::string(name) : std::string());
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

void FolderWatch::take_event(std::uint32_t mask, const std::string& name) {
  if ((mask & IN_Q_OVERFLOW) != 0) {
    // Some were lost: we list, and no longer know of any writer whether it is at work.
    next_listing_ = Clock::now();
    for (auto& [waiting, file] : waiting_) file.writer = Writer::kUnknown;
    return;
  }
  File* const file = note(name);
  if (file == nullptr) return;
  if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) {
    refresh(path_of(name), *file);
    file->writer = Writer::kDone;
    file->tried.reset();  // it may have changed without a trace: times are coarse
    return;
  }
  // Links are created too, and nobody closes those.
  struct stat status {};
  const bool own =
      ::lstat(path_of(name).c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
  if (own) file->writer = Writer::kAtWork;
}

void FolderWatch::list() {
  const auto start = Clock::now();
  std::error_code gone;  // a server that does not answer may do so the next time
  for (fs::directory_iterator entry(folder_, gone), end; !gone && entry != end; entry.increment(gone))
    note(entry->path().filename().string());
  next_listing_ =
      Clock::now() + as_duration(std::max(settings_.poll_seconds, kListingShare * seconds_since(start)));
}

// The file of that name among those that are waited for; none if it is no image, or was handed out.
FolderWatch::File* FolderWatch::note(const std::string& name) {
  if (!is_image_name(name) || handed_out_.contains(name)) return nullptr;
  if (is_hdf5_name(name)) {
    hdf5_name_ = name;
    return nullptr;
  }
  if (const auto known = waiting_.find(name); known != waiting_.end()) return &known->second;
  const auto stamp = stamp_of(path_of(name));
  if (!stamp) return nullptr;
  last_news_ = Clock::now();
  return &waiting_.emplace(name, File{*stamp, last_news_}).first->second;
}

// False if it is gone.
bool FolderWatch::refresh(const std::string& path, File& file) {
  const auto stamp = stamp_of(path);
  if (!stamp || *stamp == file.stamp) return stamp.has_value();
  file.stamp = *stamp;
  file.changed = last_news_ = Clock::now();
  file.tried.reset();
  if (file.writer == Writer::kDone) file.writer = Writer::kUnknown;  // somebody writes again
  return true;
}

std::optional<FolderWatch::Arrival> FolderWatch::take_first() {
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    const std::string path = path_of(first->first);
    File& file = first->second;
    if (!refresh(path, file)) {
      waiting_.erase(first);  // taken away, or renamed: then it comes under its other name
      continue;
    }
    const bool complete = is_complete(path, file);
    if (!complete && seconds_since(file.changed) < settings_.timeout) return std::nullopt;
    Arrival arrival{path, std::move(file.source)};
    if (!arrival.source) {
      arrival.fault =
          input_error(path,
                      fmt::format("it was not completed: nothing changed for {:g} s, and {}",
                                  settings_.timeout, file.fault ? file.fault->fault() : "it cannot be read"),
                      "the writer has stopped, or `follow_timeout` is too short for it");
    }
    handed_out_.insert(first->first);
    waiting_.erase(first);
    last_news_ = Clock::now();
    return arrival;
  }
  return std::nullopt;
}

bool FolderWatch::is_complete(const std::string& path, File& file) {
  const bool settled = seconds_since(file.changed) >= settings_.settle_seconds;
  // Times of files are coarse: what was tried just after a change may have changed once more since.
  const auto settling = as_duration(settings_.settle_seconds);
  if (!file.tried || (settled && *file.tried < file.changed + settling)) try_to_open(path, file);
  if (!file.source) return false;
  return file.writer == Writer::kDone || (file.writer == Writer::kUnknown && settled);
}

void FolderWatch::try_to_open(const std::string& path, File& file) {
  file.tried = Clock::now();
  file.source.reset();
  try {
    auto source = open_source(path, settings_.open);
    if (!source->is_whole()) throw input_error(path, "bytes that its header announces are missing");
    file.source = std::move(source);
    file.fault.reset();
  } catch (const Error& error) {
    file.fault = error;
  } catch (const std::exception& error) {
    file.fault = input_error(path, error.what());
  }
}

}  // namespace annulus
