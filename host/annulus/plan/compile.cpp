#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/compile.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

namespace annulus {
namespace {

// Of the sum over a bin, relative to the magnitude of what is summed.
constexpr double kMapPrecision = 1e-6;

constexpr std::int64_t kLargestSum = std::numeric_limits<std::int64_t>::max();

// The matrix of a range of rows, before the ranges are joined.
struct MatrixPart {
  std::vector<std::uint32_t> bin;
  std::vector<std::uint32_t> weight;
};

SparseMatrix split_all(const PixelSplitter& splitter, Shape shape, const std::vector<std::uint8_t>& excluded,
                       int bits, unsigned threads) {
  SparseMatrix matrix;
  matrix.first.assign(shape.size() + 1, 0);
  std::map<std::size_t, MatrixPart> parts;  // by first row
  std::mutex storing;
  parallel_ranges(shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    MatrixPart part;
    std::vector<Share> shares;
    std::vector<std::uint32_t> weights;
    for (std::size_t row = begin; row < end; ++row) {
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const std::size_t pixel = row * shape.cols + col;
        if (excluded[pixel]) continue;
        splitter.split(static_cast<std::uint32_t>(row), col, shares);
        quantise_shares(shares, bits, weights);
        for (const Share& share : shares) part.bin.push_back(share.bin);
        part.weight.insert(part.weight.end(), weights.begin(), weights.end());
        matrix.first[pixel + 1] = static_cast<std::uint32_t>(weights.size());
      }
    }
    const std::lock_guard lock(storing);
    parts.emplace(begin, std::move(part));
  });

  std::uint64_t entries = 0;
  for (std::uint32_t& first : matrix.first) {
    entries += first;
    first = static_cast<std::uint32_t>(entries);
  }
  if (entries > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::kPlan, "--npt", fmt::format("the plan would have {} entries", entries),
                "ask for fewer bins, or use --split no");
  }
  matrix.bin.reserve(entries);
  matrix.weight.reserve(entries);
  for (auto& [row, part] : parts) {
    matrix.bin.insert(matrix.bin.end(), part.bin.begin(), part.bin.end());
    matrix.weight.insert(matrix.weight.end(), part.weight.begin(), part.weight.end());
    part = {};
  }
  return matrix;
}

// Sum of weight * value(pixel) over each bin.
template <typename Value>
std::vector<std::int64_t> sum_by_bin(const SparseMatrix& matrix, std::uint32_t bins, Value&& value) {
  std::vector<std::int64_t> sums(bins, 0);
  for (std::size_t pixel = 0; pixel + 1 < matrix.first.size(); ++pixel) {
    for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
      sums[matrix.bin[entry]] += std::int64_t{matrix.weight[entry]} * value(pixel);
    }
  }
  return sums;
}

// Values in range to integers in units of 2^-bits, where the plan has entries; 0 elsewhere.
template <typename Value>
std::vector<std::int32_t> to_fixed(const SparseMatrix& matrix, int bits, Value&& value) {
  std::vector<std::int32_t> fixed(matrix.first.size() - 1, 0);
  for (std::size_t pixel = 0; pixel < fixed.size(); ++pixel) {
    if (matrix.first[pixel] == matrix.first[pixel + 1]) continue;
    fixed[pixel] = static_cast<std::int32_t>(std::lround(std::ldexp(value(pixel), bits)));
  }
  return fixed;
}

// The largest variance_bits for which the squared weights of no bin, times the largest count, reach 2^63.
int safe_variance_bits(const Plan& plan) {
  int bits = std::min(kMaxVarianceBits, 2 * plan.weight_bits);
  while (true) {
    std::vector<std::int64_t> sums(plan.bins(), 0);
    for (std::size_t entry = 0; entry < plan.matrix.bin.size(); ++entry) {
      sums[plan.matrix.bin[entry]] += squared_weight(plan.matrix.weight[entry], plan.weight_bits, bits);
    }
    std::int64_t largest = *std::max_element(sums.begin(), sums.end());
    const std::int64_t limit = kLargestSum / plan.validity.max_count;
    if (largest <= limit) return bits;
    // One bit less halves the sums, but for rounding: look again.
    for (; largest > limit; largest >>= 1) --bits;
  }
}

template <typename Value>
double largest_magnitude(const SparseMatrix& matrix, Value&& value) {
  double largest = 0;
  for (std::size_t pixel = 0; pixel + 1 < matrix.first.size(); ++pixel) {
    if (matrix.first[pixel] != matrix.first[pixel + 1]) largest = std::max(largest, std::abs(value(pixel)));
  }
  return largest;
}

// One power of two serves a whole map, so a single huge value takes the precision from all others. That is
// refused where it shows in a bin.
template <typename Value>
void check_precision(const Plan& plan, Value&& value, const std::string& name, int bits,
                     const std::vector<std::int64_t>& totals) {
  std::vector<double> exact(plan.bins(), 0.0), magnitude(plan.bins(), 0.0);
  std::size_t largest = 0;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const double part = plan.matrix.weight[entry] * value(pixel);
      exact[plan.matrix.bin[entry]] += part;
      magnitude[plan.matrix.bin[entry]] += std::abs(part);
      if (std::abs(value(pixel)) > std::abs(value(largest))) largest = pixel;
    }
  }
  for (std::size_t bin = 0; bin < exact.size(); ++bin) {
    const double error = std::abs(std::ldexp(static_cast<double>(totals[bin]), -bits) - exact[bin]);
    if (error <= kMapPrecision * magnitude[bin]) continue;
    throw Error(
        ErrorKind::kPlan, name,
        fmt::format(
            "the value {} at row {}, column {} is so large that beside it others lose their precision",
            value(largest), largest / plan.shape.cols, largest % plan.shape.cols),
        "mask that pixel, or correct the map");
  }
}

// A map of values in fixed point, with its sums over bins.
template <typename Value>
std::vector<std::int32_t> compile_map(const Plan& plan, Value&& value, const std::string& name, int& bits,
                                      std::vector<std::int64_t>& totals) {
  const std::int64_t largest_count = *std::max_element(plan.totals.count.begin(), plan.totals.count.end());
  bits = safe_value_bits(largest_magnitude(plan.matrix, value), largest_count);
  std::vector<std::int32_t> fixed = to_fixed(plan.matrix, bits, value);
  totals =
      sum_by_bin(plan.matrix, plan.bins(), [&](std::size_t pixel) { return std::int64_t{fixed[pixel]}; });
  check_precision(plan, value, name, bits, totals);
  return fixed;
}

}  // namespace

void compile_matrix(Plan& plan, const PixelSplitter& splitter, const std::vector<std::uint8_t>& excluded,
                    unsigned threads) {
  const std::uint32_t bins = plan.bins();
  int bits = kMaxWeightBits;
  while (true) {
    plan.matrix = split_all(splitter, plan.shape, excluded, bits, threads);
    plan.totals.count = sum_by_bin(plan.matrix, bins, [](std::size_t) { return std::int64_t{1}; });
    const auto fullest = std::max_element(plan.totals.count.begin(), plan.totals.count.end());
    // The proof: the fullest bin's weights times the largest count that is valid stay below 2^63.
    if (*fullest <= kLargestSum / plan.validity.max_count) break;

    const std::int64_t pixels = ((*fullest - 1) >> bits) + 1;
    bits = std::min(bits - 1, safe_weight_bits(static_cast<std::uint64_t>(pixels), plan.validity.max_count));
    if (bits < kMinWeightBits) {
      throw Error(
          ErrorKind::kPlan, "--max-count",
          fmt::format("bin {} holds {} pixels of up to {} counts: with at least {} bits for the shares "
                      "its sum does not fit 64 bits",
                      fullest - plan.totals.count.begin(), pixels, plan.validity.max_count, kMinWeightBits),
          "use more bins, or give the detector's real saturation with --max-count");
    }
  }
  plan.weight_bits = bits;
  if (plan.matrix.bin.empty()) {
    const bool ranged = plan.options.radial_range || plan.options.azimuth_range;
    throw Error(
        ErrorKind::kPlan, ranged ? "--radial-range, --azimuth-range" : "mask, flat and dark",
        ranged ? "no pixel of the detector lies in the ranges asked for" : "they leave no pixel to integrate",
        ranged ? "widen them, and check the mask" : "check that the flat is positive and the mask not full");
  }
  if (plan.has_variance()) plan.variance_bits = safe_variance_bits(plan);
}

void compile_corrections(Plan& plan, const std::vector<double>& normalization, const PixelMaps& maps) {
  const auto norm = [&](std::size_t pixel) { return normalization[pixel]; };
  plan.normalization = compile_map(plan, norm, maps.flat ? maps.flat_name : "normalization",
                                   plan.normalization_bits, plan.totals.normalization);
  if (!maps.dark) return;
  const auto dark = [&](std::size_t pixel) { return maps.dark->pixels[pixel]; };
  plan.dark = compile_map(plan, dark, maps.dark_name, plan.dark_bits, plan.totals.dark);
}

}  // namespace annulus
