#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/stored_checksums.hpp>
#include <annulus/outputs/stored_sums.hpp>
#include <annulus/outputs/verify_output.hpp>
#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/sums.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace annulus {
namespace {

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

__extension__ using Wide = __int128;

// What a clip left out of the bins, at most a whole pixel each time.
std::string check_clipped(const Sums& sums, Wide& clipped) {
  for (const Quantity quantity : {Quantity::kClipped, Quantity::kEmptied}) {
    const auto values = sums[quantity];
    const std::int64_t most = quantity == Quantity::kEmptied ? 1 : std::numeric_limits<std::int64_t>::max();
    for (std::size_t bin = 0; bin < values.size(); ++bin) {
      if (values[bin] >= 0 && values[bin] <= most) continue;
      return fmt::format("{} of bin {} is {}", most == 1 ? "emptied" : "clipped", bin, values[bin]);
    }
  }
  for (const std::int64_t value : sums[Quantity::kClipped]) clipped += value;
  return {};
}

// Every pixel of a plan weighs 2^weight_bits in all of its bins together. Wide, since a damaged file may
// state anything.
std::string check_invalid(const Plan& plan, const Sums& sums) {
  Wide clipped = 0;
  if (std::string fault = check_clipped(sums, clipped); !fault.empty()) return fault;
  const std::uint64_t pixels = sums.invalid_pixels;
  Wide sum = 0;
  for (const std::int64_t value : sums[Quantity::kMissingCount]) sum += value;
  const bool bits_are_possible = plan.weight_bits >= 0 && plan.weight_bits <= kMaxWeightBits;
  if (bits_are_possible) {
    const Wide whole = Wide{1} << plan.weight_bits;
    const Wide rest = sum - pixels * whole;
    if (rest >= 0 && rest <= clipped * whole) return {};
  }
  if (clipped > 0) {
    return fmt::format("{} invalid pixels and {} clipped ones are stated, but missing_count is that of {}",
                       pixels, static_cast<double>(clipped),
                       std::ldexp(static_cast<double>(sum), -plan.weight_bits));
  }
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
std::vector<std::string> verify_axes(hid_t file, const Plan& plan, const Recipe& recipe) {
  std::vector<std::string> faults;
  for (const Axis& axis : plan.axes) faults.push_back(check_axis(file, axis));
  faults.push_back(check_norm(file, plan));
  for (const layout::Curve& curve : layout::kCurves) {
    const bool is_there = has_object(file, curve.path);
    if (!recipe.needs_spread_table() || curve.is_made(recipe) == is_there) continue;
    faults.push_back(fmt::format("has {}{}, and its recipe {}", is_there ? "" : "no ", curve.path,
                                 is_there ? "makes none" : "makes one"));
  }
  const bool errors = has_object(file, layout::kErrors),
             variance = has_object(file, layout::sums_of(Quantity::kVariance));
  if (!recipe.needs_spread_table() && errors != variance) {
    faults.push_back(errors ? "has I_errors, but no variance from which they follow"
                            : "has a variance, but no I_errors");
  }
  std::erase(faults, std::string());
  return faults;
}

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
  const std::uint64_t closing = stored_closing(path);
  const PatternFile file(path);
  const StoredSums sums(path, file.header());
  const Job& job = sums.job();
  const Plan& plan = *job.plan;
  const std::uint64_t at_once = sums.frames_at_once();
  std::optional<StoredChecksums> checksums;
  if (sums.has(layout::kChecksums)) checksums.emplace(sums.file(), closing);
  for (const std::string& fault : verify_axes(sums.file(), plan, job.recipe)) add_fault(fault);
  for (; check.frames < file.frames(); check.frames += std::min(at_once, file.frames() - check.frames)) {
    const std::uint64_t first = check.frames, count = std::min(at_once, file.frames() - first);
    const StoredPatterns patterns = file.read(first, count);
    const std::vector<Sums> stored = sums.frames(first, count);
    std::vector<std::string> changed(count);
    if (checksums) changed = checksums->check_frames(first, count);

    for (std::size_t i = 0; i < count; ++i) {
      Pattern expected;  // empty: NaN everywhere, as for a bad frame
      if (patterns.frames[i].bad) ++check.recorded_bad;
      if (!patterns.frames[i].bad)
        expected = normalise(plan, job.recipe, stored[i], patterns.frames[i].normalization);
      std::string fault = check_invalid(plan, stored[i]);
      const auto check_curve = [&](const layout::Curve& curve, std::span<const double> values) {
        if (fault.empty() && curve.is_made(job.recipe))
          fault = compare(curve.name, values, expected.*curve.values);
      };
      const std::array<std::span<const double>, layout::kCurves.size()> curves = {
          patterns.intensity(i), patterns.error(i), patterns.deviation(i), patterns.spottiness(i)};
      for (std::size_t k = 0; k < curves.size(); ++k) check_curve(layout::kCurves[k], curves[k]);
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
  if (!checksums->is_open()) {
    std::string uncounted;
    add_fault(check_outliers(sums.file(), file.frames(), uncounted));
    if (!uncounted.empty()) note(uncounted.c_str());
  }
  if (checksums->is_open())
    note("it is not closed (a run is writing it, or was killed): its end time and length cannot be verified");
  return check;
}

}  // namespace annulus
