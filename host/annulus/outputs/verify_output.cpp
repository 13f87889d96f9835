#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/verify_output.hpp>
#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/sums.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

namespace annulus {
namespace {

constexpr std::uint64_t kMostFramesAtOnce = 64;
constexpr std::uint64_t kMostBinsAtOnce = std::uint64_t{1} << 21;

Hdf5Handle open_output(const std::filesystem::path& path) {
  Hdf5Handle file = open_to_read(path, ReadFirst::kBesideWriter);
  if (!file) throw Error(ErrorKind::kInput, path.string(), "cannot be opened: " + hdf5_reason());
  return file;
}

// The stored integers of a file, read by a second handle beside the one that reads patterns.
class StoredSums {
 public:
  StoredSums(const std::filesystem::path& path, RowExtent bins)
      : name_(path.string()), bins_(bins), file_(open_output(path)) {}

  double attribute(const char* name) const {
    const Hdf5Handle group(H5Gopen2(file_.get(), layout::kAccumulators, H5P_DEFAULT), H5Gclose);
    const Hdf5Handle attribute(H5Aopen(group.get(), name, H5P_DEFAULT), H5Aclose);
    double value = 0;
    if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0) missing(name);
    return value;
  }

  hid_t file() const { return file_.get(); }

  bool has(const std::string& path) const { return has_object(file_.get(), path); }

  // Of the plan: one value a bin.
  std::vector<std::int64_t> totals(const char* name) const {
    const std::string path = std::string(layout::kAccumulators) + "/" + name;
    const bool cake = bins_.lines > 0;
    return read(path.c_str(), RowExtent{cake ? bins_.width : 0, 0}, 0, cake ? bins_.lines : bins_.width);
  }

  // Of consecutive frames.
  std::vector<Sums> frames(const Job& job, std::uint64_t first, std::uint64_t count) const {
    std::vector<Sums> frames(count);
    const std::size_t bins = bins_.values();
    for (const Quantity quantity : job.quantities()) {
      const std::size_t words = words_of(quantity);
      for (Sums& frame : frames) frame.make(quantity, bins, words);
      for (std::size_t word = 0; word < words; ++word) {
        const auto rows = read(layout::sums_of(quantity, word).c_str(), bins_, first, count);
        for (std::size_t i = 0; i < count; ++i) {
          const auto row = std::span(rows).subspan(i * bins, bins);
          std::ranges::copy(row, frames[i][quantity].begin() + static_cast<std::ptrdiff_t>(word * bins));
        }
      }
    }
    const auto fraction_bits = read(layout::kFractionBits, {}, first, count);
    const auto invalid_pixels = read(layout::kInvalidPixels, {}, first, count);
    for (std::size_t i = 0; i < count; ++i) {
      frames[i].fraction_bits = static_cast<int>(fraction_bits[i]);
      frames[i].invalid_pixels = static_cast<std::uint64_t>(invalid_pixels[i]);
    }
    return frames;
  }

 private:
  [[noreturn]] void missing(const std::string& what) const {
    throw Error(ErrorKind::kInput, name_, fmt::format("is corrupt: {} cannot be read", what));
  }

  // Words after the last that holds anything, for any frame, are 0 and need not be read.
  std::size_t words_of(Quantity quantity) const {
    for (std::size_t word = kMostWords - 1; word > 0; --word) {
      const std::string path = layout::sums_of(quantity, word);
      if (!has(path)) continue;
      const Hdf5Handle dataset(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
      if (H5Dget_storage_size(dataset.get()) > 0) return word + 1;
    }
    return 1;
  }

  std::vector<std::int64_t> read(const char* path, RowExtent extent, std::uint64_t first,
                                 std::uint64_t count) const {
    std::vector<std::int64_t> values(count * extent.values());
    if (read_rows(file_.get(), path, extent, first, count, H5T_NATIVE_INT64, values.data()) !=
        ReadRows::kGood) {
      missing(path);
    }
    return values;
  }

  std::string name_;
  RowExtent bins_;
  Hdf5Handle file_;
};

// As much of a plan as normalising needs.
std::shared_ptr<const Plan> stored_plan(const StoredSums& sums, const OutputHeader& header) {
  const auto stored = std::make_shared<Plan>();
  Plan& plan = *stored;
  plan.axes = header.axes;
  plan.weight_bits = static_cast<int>(sums.attribute("weight_bits"));
  plan.variance_bits = static_cast<int>(sums.attribute("variance_bits"));
  plan.normalization_bits = static_cast<int>(sums.attribute("normalization_bits"));
  plan.dark_bits = static_cast<int>(sums.attribute("dark_bits"));
  plan.totals.count = sums.totals("count");
  plan.totals.normalization = sums.totals("normalization");
  if (sums.has(std::string(layout::kAccumulators) + "/dark")) plan.totals.dark = sums.totals("dark");
  return stored;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string compare(const char* what, std::span<const double> stored, std::span<const double> expected) {
  for (std::size_t bin = 0; bin < stored.size(); ++bin) {
    const double value = expected.empty() ? std::nan("") : expected[bin];
    if (!same(stored[bin], value)) {
      return fmt::format("{} of bin {} is {}, its accumulators give {}", what, bin, stored[bin], value);
    }
  }
  return {};
}

// Every pixel of a plan weighs 2^weight_bits in all of its bins together. Unsigned, since a damaged file may
// state anything.
std::string check_invalid(const Plan& plan, const Sums& sums) {
  const auto missing = sums[Quantity::kMissingCount];
  const std::uint64_t pixels = sums.invalid_pixels;
  std::uint64_t sum = 0;
  for (const std::int64_t value : missing) sum += static_cast<std::uint64_t>(value);
  const bool bits_are_possible = plan.weight_bits >= 0 && plan.weight_bits <= kMaxWeightBits;
  if (bits_are_possible && sum == pixels << plan.weight_bits) return {};
  return fmt::format("{} invalid pixels are stated, but missing_count is that of {}", pixels,
                     std::ldexp(static_cast<double>(sum), -plan.weight_bits));
}

// Of the largest number on the axis. Centres and edges are rounded each on its own, by a few units in the
// last place (2^-52); a mistake is many orders larger.
constexpr double kAxisTolerance = 1e-12;

std::string check_axis(hid_t file, const Axis& axis) {
  const std::string_view kind = name_of(axis.kind);
  const std::vector<double>& centres = axis.centres;
  const auto edges =
      read_doubles(file, layout::path_in_data(layout::edges_field(axis.kind)), centres.size() + 1);
  if (!edges) return fmt::format("the {} axis has no readable edges of its bins", kind);
  if (edges->size() != centres.size() + 1) {
    return fmt::format("the {} axis has {} bins, but {} edges", kind, centres.size(), edges->size());
  }
  const double largest = std::max(std::abs(edges->front()), std::abs(edges->back()));
  for (std::size_t bin = 0; bin < centres.size(); ++bin) {
    const double low = (*edges)[bin], high = (*edges)[bin + 1];
    if (!(low < high)) return fmt::format("the {} axis has edges that do not ascend at bin {}", kind, bin);
    const double middle = low + (high - low) / 2;
    if (!(std::abs(centres[bin] - middle) <= kAxisTolerance * largest)) {
      return fmt::format("the {} axis has bin {} at {}, the middle of its edges is {}", kind, bin,
                         centres[bin], middle);
    }
  }
  return {};
}

// As the writer computes it, so bit for bit.
std::string check_norm(hid_t file, const Plan& plan) {
  const RowExtent bins = layout::extent_of(plan.axes);
  const bool lines = bins.lines > 0;
  std::vector<double> norm(plan.bins());
  if (read_rows(file, layout::kNorm, {lines ? bins.width : 0, 0}, 0, lines ? bins.lines : bins.width,
                H5T_NATIVE_DOUBLE, norm.data()) != ReadRows::kGood) {
    return "norm cannot be read";
  }
  const double unit = std::ldexp(1.0, -(plan.weight_bits + plan.normalization_bits));
  for (std::size_t bin = 0; bin < norm.size(); ++bin) {
    const double expected = static_cast<double>(plan.totals.normalization[bin]) * unit;
    if (norm[bin] != expected) {
      return fmt::format("norm of bin {} is {}, the plan's total gives {}", bin, norm[bin], expected);
    }
  }
  return {};
}

// What the file holds once for all frames: axes, their edges, and the normalisation. One sentence per fault.
std::vector<std::string> verify_axes(hid_t file, const Plan& plan) {
  std::vector<std::string> faults;
  for (const Axis& axis : plan.axes) faults.push_back(check_axis(file, axis));
  faults.push_back(check_norm(file, plan));
  const bool errors = has_object(file, layout::kErrors),
             variance = has_object(file, layout::sums_of(Quantity::kVariance));
  if (errors != variance) {
    faults.push_back(errors ? "has I_errors, but no variance from which they follow"
                            : "has a variance, but no I_errors");
  }
  std::erase(faults, std::string());
  return faults;
}

std::uint64_t stored_closing(hid_t file) {
  return read_whole_number(file, layout::kClosingChecksum).value_or(0);
}

// The checksums of a file. Its writer may be at work: what is written at the end is compared only if it is
// the same as `closing`, which was read before the frames were counted.
class StoredChecksums {
 public:
  StoredChecksums(hid_t file, std::uint64_t closing)
      : file_(file),
        rows_(row_datasets(file)),
        header_(read_whole_number(file, layout::kHeaderChecksum).value_or(0)),
        closing_(closing) {}

  // One sentence per frame, empty where its checksum is right.
  std::vector<std::string> check_frames(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::uint64_t> sums(count), stored(count);
    for (const std::string& path : rows_) {
      const auto bytes = read_raw_rows(file_, path, first, count, kMostRowBytes);
      if (!bytes) throw_hdf5(ErrorKind::kInput, file_, fmt::format("is corrupt: {} cannot be read", path));
      const std::uint64_t seed = checksum_seed(path);
      const std::size_t size = bytes->size() / count;
      for (std::size_t i = 0; i < count; ++i)
        sums[i] += row_checksum(seed, std::span(*bytes).subspan(i * size, size));
    }
    if (read_rows(file_, layout::kFrameChecksums, {}, first, count, H5T_NATIVE_UINT64, stored.data()) !=
        ReadRows::kGood) {
      throw_hdf5(ErrorKind::kInput, file_, "is corrupt: the checksums of frames cannot be read");
    }
    std::vector<std::string> faults(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (stored[i] != frame_checksum(sums[i], first + i))
        faults[i] = "its checksum is wrong: something that is stored for it was changed";
    }
    return faults;
  }

  std::string check_header() const {
    if (header_ == header_checksum(file_)) return {};
    return "the checksum of what is stored once is wrong: an axis, a total, an attribute, an option or the "
           "like was "
           "changed, removed or added";
  }

  bool is_open() const { return closing_ == open_mark(header_) || closing_ != stored_closing(file_); }

  std::string check_closing(std::uint64_t frames) const {
    if (is_open() || closing_ == closing_checksum(file_, header_, frames)) return {};
    return "the checksum of its end is wrong: frames were taken away or added, or the end time was changed";
  }

 private:
  static constexpr std::size_t kMostRowBytes = std::size_t{1} << 30;

  hid_t file_;
  std::vector<std::string> rows_;
  std::uint64_t header_;
  std::uint64_t closing_;
};

}  // namespace

OutputCheck verify_output(const std::filesystem::path& path) {
  const Hdf5Session scope;
  OutputCheck check;
  const auto add_fault = [&](const std::string& fault) {
    if (!fault.empty()) check.faults.push_back(fmt::format("{}: {}", path.string(), fault));
  };
  if (was_annulus_output(path)) {
    add_fault(
        "is an output of annulus no more: its definition, its program, the status of its frames or its "
        "intensities were changed or are gone");
    return check;
  }
  const std::uint64_t closing = stored_closing(open_output(path).get());
  const PatternFile file(path);
  const StoredSums sums(path, layout::extent_of(file.header().axes));
  Job job{stored_plan(sums, file.header())};
  const Plan& plan = *job.plan;
  const std::size_t bins = file.bins();
  const std::uint64_t at_once = std::clamp<std::uint64_t>(kMostBinsAtOnce / bins, 1, kMostFramesAtOnce);
  const bool has_errors = file.header().has_errors && sums.has(layout::sums_of(Quantity::kVariance));
  if (has_errors) job.recipe.error_model = ErrorModel::kPoisson;
  std::optional<StoredChecksums> checksums;
  if (sums.has(layout::kChecksums)) checksums.emplace(sums.file(), closing);
  for (const std::string& fault : verify_axes(sums.file(), plan)) add_fault(fault);
  for (; check.frames < file.frames(); check.frames += std::min(at_once, file.frames() - check.frames)) {
    const std::uint64_t first = check.frames, count = std::min(at_once, file.frames() - first);
    const StoredPatterns patterns = file.read(first, count);
    const std::vector<Sums> stored = sums.frames(job, first, count);
    std::vector<std::string> changed(count);
    if (checksums) changed = checksums->check_frames(first, count);

    for (std::size_t i = 0; i < count; ++i) {
      Pattern expected;  // empty: NaN everywhere, as for a bad frame
      if (patterns.frames[i].bad) ++check.recorded_bad;
      if (!patterns.frames[i].bad) expected = normalise(plan, stored[i], patterns.frames[i].normalization);
      std::string fault = check_invalid(plan, stored[i]);
      if (fault.empty()) fault = compare("the intensity", patterns.intensity(i), expected.intensity);
      if (fault.empty() && has_errors) fault = compare("the error", patterns.error(i), expected.error);
      if (fault.empty()) fault = changed[i];
      if (!fault.empty()) add_fault(fmt::format("frame {}: {}", first + i, fault));
    }
  }
  const auto note = [&](const char* text) {
    check.notes.push_back(fmt::format("{}: {}", path.string(), text));
  };
  if (!checksums) {
    note("an earlier version wrote it, without checksums: only what can be recomputed was verified");
    return check;
  }
  add_fault(checksums->check_header());
  add_fault(checksums->check_closing(file.frames()));
  if (checksums->is_open())
    note("it is not closed (a run is writing it, or was killed): its end time and length cannot be verified");
  return check;
}

}  // namespace annulus
