#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/verify_output.hpp>
#include <annulus/plan/pattern.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace annulus {
namespace {

constexpr std::uint64_t kFramesAtOnce = 64;

// The stored integers of a file, read by a second handle beside the one that reads patterns.
class StoredSums {
 public:
  StoredSums(const std::filesystem::path& path, std::size_t bins) : name_(path.string()), bins_(bins) {
    file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT), H5Fclose);
    if (!file_) file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file_) throw Error(ErrorKind::kInput, name_, "cannot be opened: " + hdf5_reason());
  }

  double attribute(const char* name) const {
    const Hdf5Handle group(H5Gopen2(file_.get(), layout::kAccumulators, H5P_DEFAULT), H5Gclose);
    const Hdf5Handle attribute(H5Aopen(group.get(), name, H5P_DEFAULT), H5Aclose);
    double value = 0;
    if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0) missing(name);
    return value;
  }

  bool has(const std::string& path) const { return has_object(file_.get(), path); }

  std::vector<std::int64_t> totals(const char* name) const {
    const std::string path = std::string(layout::kAccumulators) + "/" + name;
    return read(path, {0, 0}, {bins_, 0}, 1);
  }

  // One value a bin, or one a frame with width 0.
  std::vector<std::int64_t> rows(const char* path, std::uint64_t first, std::uint64_t count,
                                 std::size_t width) const {
    return read(path, {first, 0}, {count, width}, width > 0 ? 2 : 1);
  }

 private:
  [[noreturn]] void missing(const std::string& what) const {
    throw Error(ErrorKind::kInput, name_, fmt::format("is corrupt: {} cannot be read", what));
  }

  std::vector<std::int64_t> read(const std::string& path, std::array<hsize_t, 2> start,
                                 std::array<hsize_t, 2> shape, int rank) const {
    const Hdf5Handle dataset(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    std::array<hsize_t, 2> size{};
    if (H5Sget_simple_extent_ndims(space.get()) != rank) missing(path);
    H5Sget_simple_extent_dims(space.get(), size.data(), nullptr);
    if (size[0] < start[0] + shape[0] || size[1] != (rank == 2 ? shape[1] : 0)) missing(path);
    const Hdf5Handle memory(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, shape.data(), nullptr);
    std::vector<std::int64_t> values(shape[0] * (rank == 2 ? shape[1] : 1));
    if (H5Dread(dataset.get(), H5T_NATIVE_INT64, memory.get(), space.get(), H5P_DEFAULT, values.data()) < 0) {
      missing(path);
    }
    return values;
  }

  std::string name_;
  hsize_t bins_;
  Hdf5Handle file_;
};

// As much of a plan as normalising needs.
Plan stored_plan(const StoredSums& sums, const OutputHeader& header) {
  Plan plan;
  plan.axis = header.axis;
  plan.weight_bits = static_cast<int>(sums.attribute("weight_bits"));
  plan.variance_bits = static_cast<int>(sums.attribute("variance_bits"));
  plan.normalization_bits = static_cast<int>(sums.attribute("normalization_bits"));
  plan.dark_bits = static_cast<int>(sums.attribute("dark_bits"));
  plan.options.normalization_factor = sums.attribute("normalization_factor");
  plan.totals.count = sums.totals("count");
  plan.totals.normalization = sums.totals("normalization");
  if (sums.has(std::string(layout::kAccumulators) + "/dark")) plan.totals.dark = sums.totals("dark");
  return plan;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string compare(const char* what, std::span<const double> stored, const std::vector<double>& expected) {
  for (std::size_t bin = 0; bin < stored.size(); ++bin) {
    const double value = expected.empty() ? std::nan("") : expected[bin];
    if (!same(stored[bin], value)) {
      return fmt::format("{} of bin {} is {}, its accumulators give {}", what, bin, stored[bin], value);
    }
  }
  return {};
}

// Row i of a block of rows.
std::vector<std::int64_t> row(const std::vector<std::int64_t>& block, std::size_t i, std::size_t bins) {
  const auto begin = block.begin() + static_cast<std::ptrdiff_t>(i * bins);
  return {begin, begin + static_cast<std::ptrdiff_t>(bins)};
}

}  // namespace

OutputCheck verify_output(const std::filesystem::path& path) {
  const PatternFile file(path);
  const Hdf5Session scope;
  const StoredSums sums(path, file.bins());
  const Plan plan = stored_plan(sums, file.header());
  const std::size_t bins = file.bins();
  OutputCheck check;
  for (; check.frames < file.frames();
       check.frames += std::min(kFramesAtOnce, file.frames() - check.frames)) {
    const std::uint64_t first = check.frames, count = std::min(kFramesAtOnce, file.frames() - first);
    const StoredPatterns patterns = file.read(first, count);
    const auto signal = sums.rows(layout::kSignal, first, count, bins);
    const auto fraction_bits = sums.rows(layout::kFractionBits, first, count, 0);
    const auto missing_norm = sums.rows(layout::kMissingNormalization, first, count, bins);
    const auto missing_count = sums.rows(layout::kMissingCount, first, count, bins);
    std::vector<std::int64_t> variance, missing_dark;
    if (file.header().has_errors) variance = sums.rows(layout::kVariance, first, count, bins);
    if (!plan.totals.dark.empty()) missing_dark = sums.rows(layout::kMissingDark, first, count, bins);

    for (std::size_t i = 0; i < count; ++i) {
      Pattern expected;  // empty: NaN everywhere, as for a bad frame
      if (!patterns.frames[i].bad) {
        Accumulators frame;
        frame.fraction_bits = static_cast<int>(fraction_bits[i]);
        frame.signal = row(signal, i, bins);
        frame.missing_normalization = row(missing_norm, i, bins);
        frame.missing_count = row(missing_count, i, bins);
        if (!variance.empty()) frame.variance = row(variance, i, bins);
        if (!missing_dark.empty()) frame.missing_dark = row(missing_dark, i, bins);
        expected = normalise(plan, frame);
      }
      std::string fault = compare("the intensity", patterns.intensity(i), expected.intensity);
      if (fault.empty() && file.header().has_errors)
        fault = compare("the error", patterns.error(i), expected.error);
      if (!fault.empty())
        check.faults.push_back(fmt::format("{}: frame {}: {}", path.string(), first + i, fault));
    }
  }
  return check;
}

}  // namespace annulus
