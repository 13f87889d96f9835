#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>

namespace annulus {
namespace {

// Of the sum over a bin, relative to the magnitude of what is summed.
constexpr double kMapPrecision = 1e-6;

// Of the shares of a bin, and of their squares, relative to their sum.
constexpr double kSharePrecision = 1.0 / (1 << kSureWeightBits);

constexpr std::int64_t kLargestSum = std::numeric_limits<std::int64_t>::max();

// The matrix of a range of rows, before the ranges are joined.
struct MatrixPart {
  std::size_t end_row = 0;
  LargeVector<std::uint32_t> bin;
  LargeVector<std::uint32_t> weight;
};

// Fills first[] of the part's pixels with where their entries end, counted from the part's beginning. Throws
// when all parts together have too many.
MatrixPart split_rows(const Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                      int bits, std::size_t begin, std::size_t end, std::atomic<std::uint64_t>& entries,
                      LargeVector<std::uint32_t>& first) {
  constexpr std::size_t kCountAtOnce = 1u << 16;
  std::size_t counted = 0;
  const Shape shape = plan.shape;
  MatrixPart part;
  part.end_row = end;
  // The first part has room for all, since the others are added to it. Memory that is not used costs nothing.
  constexpr std::size_t kUsualEntriesAPixel = 3;
  part.bin.reserve((begin == 0 ? shape.rows : end - begin) * shape.cols * kUsualEntriesAPixel);
  part.weight.reserve(part.bin.capacity());
  std::vector<Share> shares;
  std::vector<std::uint32_t> weights;
  for (std::size_t row = begin; row < end; ++row) {
    for (std::uint32_t col = 0; col < shape.cols; ++col) {
      const std::size_t pixel = row * shape.cols + col;
      if (!excluded[pixel]) {
        splitter.split(static_cast<std::uint32_t>(row), col, shares);
        quantise_shares(shares, bits, weights);
        for (const Share& share : shares) part.bin.push_back(share.bin);
        for (const std::uint32_t weight : weights) part.weight.push_back(weight);
        if (part.bin.size() - counted > kCountAtOnce) {
          const std::uint64_t all = entries += part.bin.size() - counted;
          if (all > max_entries(plan)) refuse_entries(plan, all);
          counted = part.bin.size();
        }
      }
      first[pixel + 1] = static_cast<std::uint32_t>(part.bin.size());
    }
  }
  return part;
}

SparseMatrix split_all(const Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                       int bits, unsigned threads) {
  const Shape shape = plan.shape;
  LargeVector<std::uint32_t> first(shape.size() + 1);
  first[0] = 0;
  std::map<std::size_t, MatrixPart> parts;  // by first row
  std::mutex storing;
  std::atomic<std::uint64_t> counted = 0;
  parallel_ranges(shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    MatrixPart part = split_rows(plan, splitter, excluded, bits, begin, end, counted, first);
    const std::lock_guard lock(storing);
    parts.emplace(begin, std::move(part));
  });

  std::uint64_t entries = 0;
  std::vector<std::uint64_t> starts;
  for (const auto& [row, part] : parts) {
    starts.push_back(entries);
    entries += part.bin.size();
  }
  if (entries > max_entries(plan)) refuse_entries(plan, entries);
  LargeVector<std::uint32_t> bin = std::move(parts.begin()->second.bin);
  LargeVector<std::uint32_t> weight = std::move(parts.begin()->second.weight);
  bin.resize(entries);
  weight.resize(entries);
  parallel_ranges(parts.size() - 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin + 1; i < end + 1; ++i) {
      auto& [row, part] = *std::next(parts.begin(), static_cast<std::ptrdiff_t>(i));
      std::copy(part.bin.begin(), part.bin.end(), bin.begin() + static_cast<std::ptrdiff_t>(starts[i]));
      std::copy(part.weight.begin(), part.weight.end(),
                weight.begin() + static_cast<std::ptrdiff_t>(starts[i]));
      const auto offset = static_cast<std::uint32_t>(starts[i]);
      for (std::size_t pixel = row * shape.cols; pixel < part.end_row * shape.cols; ++pixel) {
        first[pixel + 1] += offset;
      }
      part = {};
    }
  });
  return {std::move(first), std::move(bin), std::move(weight)};
}

// Calls add(sums, pixel, begin, end) for every pixel that has entries, where these are [begin, end); `sums`
// has one Sum per bin. The pixels are summed in parts whose number does not depend on the threads, so that
// sums of floating point do not either; with many bins they are few, for the memory they take.
template <typename Sum, typename Add>
std::vector<Sum> sum_by_bin(const SparseMatrix& matrix, std::uint32_t bins, unsigned threads, Add&& add) {
  constexpr std::size_t kMostParts = 16;
  const std::size_t parts =
      std::clamp<std::size_t>(matrix.bin.size() / (std::size_t{16} * bins), 1, kMostParts);
  const std::size_t pixels = matrix.first.size() - 1;
  std::vector<std::vector<Sum>> sums(parts);
  parallel_ranges(parts, threads, [&](std::size_t first_part, std::size_t end_part) {
    for (std::size_t part = first_part; part < end_part; ++part) {
      sums[part].resize(bins);
      const std::size_t end = pixels * (part + 1) / parts;
      for (std::size_t pixel = pixels * part / parts; pixel < end; ++pixel) {
        const std::uint32_t begin_entry = matrix.first[pixel], end_entry = matrix.first[pixel + 1];
        if (begin_entry != end_entry) add(sums[part], pixel, begin_entry, end_entry);
      }
    }
  });
  for (std::size_t part = 1; part < parts; ++part) {
    for (std::size_t bin = 0; bin < bins; ++bin) sums[0][bin] += sums[part][bin];
  }
  return std::move(sums[0]);
}

// The largest variance_bits for which the squared weights of no bin, times the largest count, reach 2^63.
int safe_variance_bits(const Plan& plan, unsigned threads) {
  const SparseMatrix& matrix = plan.matrix;
  int bits = std::min(kMaxVarianceBits, 2 * plan.weight_bits);
  while (true) {
    const auto sums = sum_by_bin<std::int64_t>(
        matrix, plan.bins(), threads,
        [&](std::vector<std::int64_t>& sum, std::size_t, std::uint32_t entry, std::uint32_t end) {
          for (; entry < end; ++entry) {
            sum[matrix.bin[entry]] += squared_weight(matrix.weight[entry], plan.weight_bits, bits);
          }
        });
    std::int64_t largest = *std::max_element(sums.begin(), sums.end());
    const std::int64_t limit = kLargestSum / plan.validity.max_count;
    if (largest <= limit) return bits;
    // One bit less halves the sums, but for rounding: look again.
    for (; largest > limit; largest >>= 1) --bits;
  }
}

template <typename Value>
double largest_magnitude(const SparseMatrix& matrix, unsigned threads, Value&& value) {
  double largest = 0;
  std::mutex merging;
  parallel_ranges(matrix.first.size() - 1, threads, [&](std::size_t begin, std::size_t end) {
    double part = 0;
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      if (matrix.first[pixel] != matrix.first[pixel + 1]) part = std::max(part, std::abs(value(pixel)));
    }
    const std::lock_guard lock(merging);
    largest = std::max(largest, part);
  });
  return largest;
}

template <typename Value>
int choose_value_bits(const Plan& plan, unsigned threads, Value&& value) {
  const SparseMatrix& matrix = plan.matrix;
  const std::int64_t count = *std::max_element(plan.totals.count.begin(), plan.totals.count.end());
  const double largest = largest_magnitude(matrix, threads, value);
  const int most = safe_value_bits(largest, 0, 0);
  // As if the largest value were everywhere: quickly told, and mostly enough.
  const int quick = safe_value_bits(largest, largest * static_cast<double>(count), count);
  if (quick == most) return quick;
  const auto sums = sum_by_bin<double>(
      matrix, plan.bins(), threads,
      [&](std::vector<double>& sum, std::size_t pixel, std::uint32_t entry, std::uint32_t end) {
        const double magnitude = std::abs(value(pixel));
        for (; entry < end; ++entry) sum[matrix.bin[entry]] += matrix.weight[entry] * magnitude;
      });
  return safe_value_bits(largest, *std::max_element(sums.begin(), sums.end()), count);
}

// What the shares of a bin add up to, and by how much the weights that stand for them are off; the same for
// squares.
struct ShareSum {
  double share = 0, share_off = 0;
  double square = 0, square_off = 0;

  ShareSum& operator+=(const ShareSum& other) {
    share += other.share;
    share_off += other.share_off;
    square += other.square;
    square_off += other.square_off;
    return *this;
  }
};

// Few bits are enough for bins of many pixels, most of which are in one bin alone. Whether that is so is seen
// bin by bin; a bin for which the shares are too coarse is refused.
void check_share_precision(const Plan& plan, const Splitter& splitter, unsigned threads) {
  const SparseMatrix& matrix = plan.matrix;
  const double unit = std::ldexp(1.0, -plan.weight_bits), square_unit = std::ldexp(1.0, -plan.variance_bits);
  const auto sums = sum_by_bin<ShareSum>(
      matrix, plan.bins(), threads,
      [&](std::vector<ShareSum>& sum, std::size_t pixel, std::uint32_t entry, std::uint32_t end) {
        std::vector<Share> shares;
        splitter.split(static_cast<std::uint32_t>(pixel / plan.shape.cols),
                       static_cast<std::uint32_t>(pixel % plan.shape.cols), shares);
        for (const auto& [bin, share] : shares) {
          const bool kept = entry < end && matrix.bin[entry] == bin;
          const std::uint32_t weight = kept ? matrix.weight[entry++] : 0;
          const double square =
              kept ? square_unit * squared_weight(weight, plan.weight_bits, plan.variance_bits) : 0.0;
          sum[bin] +=
              {share, std::abs(unit * weight - share), share * share, std::abs(square - share * share)};
        }
      });
  const auto coarse = std::ranges::find_if(sums, [](const ShareSum& sum) {
    return sum.share_off > kSharePrecision * sum.share || sum.square_off > kSharePrecision * sum.square;
  });
  if (coarse == sums.end()) return;
  const auto fullest = std::ranges::max_element(plan.totals.count);
  throw Error(
      ErrorKind::kPlan, "`max_count`",
      fmt::format("bin {} holds {} pixels of up to {} counts: that its sum fits 64 bits leaves {} bits "
                  "for shares, too few for bin {} with {:.3g} pixels",
                  fullest - plan.totals.count.begin(), ((*fullest - 1) >> plan.weight_bits) + 1,
                  plan.validity.max_count, plan.weight_bits, coarse - sums.begin(), coarse->share),
      "give the detector's real saturation with `max_count`, use other bins, or `split` no");
}

// What a bin gets of a map: in fixed point, and what that stands for.
struct MapSum {
  std::int64_t fixed = 0;
  double exact = 0;
  double magnitude = 0;

  MapSum& operator+=(const MapSum& other) {
    fixed += other.fixed;
    exact += other.exact;
    magnitude += other.magnitude;
    return *this;
  }
};

// One power of two serves a whole map, so a single huge value takes the precision from all others. That is
// refused where it shows in a bin.
template <typename Value>
void check_precision(const Plan& plan, const std::vector<MapSum>& sums, int bits, const std::string& name,
                     Value&& value) {
  const bool precise = std::ranges::all_of(sums, [bits](const MapSum& sum) {
    return std::abs(std::ldexp(static_cast<double>(sum.fixed), -bits) - sum.exact) <=
           kMapPrecision * sum.magnitude;
  });
  if (precise) return;
  std::size_t largest = 0;
  double magnitude = -1;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    if (plan.matrix.first[pixel] == plan.matrix.first[pixel + 1] || !(std::abs(value(pixel)) > magnitude))
      continue;
    largest = pixel;
    magnitude = std::abs(value(pixel));
  }
  throw Error(
      ErrorKind::kPlan, name,
      fmt::format("the value {} at row {}, column {} is so large that beside it others lose their precision",
                  value(largest), largest / plan.shape.cols, largest % plan.shape.cols),
      "mask that pixel, or correct the map");
}

// A map of values in units of 2^-bits where the plan has entries, 0 elsewhere; with its sums over bins.
template <typename Value>
LargeVector<std::int32_t> compile_map(const Plan& plan, int bits, const std::string& name, unsigned threads,
                                      std::vector<std::int64_t>& totals, Value&& value) {
  const SparseMatrix& matrix = plan.matrix;
  const double scale = std::ldexp(1.0, bits);  // a product with it is the same as ldexp, and faster
  LargeVector<std::int32_t> fixed(plan.pixels());
  parallel_ranges(plan.pixels(), threads, [&](std::size_t begin, std::size_t end) {
    std::fill(fixed.begin() + static_cast<std::ptrdiff_t>(begin),
              fixed.begin() + static_cast<std::ptrdiff_t>(end), 0);
  });
  const auto sums = sum_by_bin<MapSum>(
      matrix, plan.bins(), threads,
      [&](std::vector<MapSum>& sum, std::size_t pixel, std::uint32_t entry, std::uint32_t end) {
        const double exact = value(pixel);
        fixed[pixel] = static_cast<std::int32_t>(
            std::lround(std::isnormal(scale) ? exact * scale : std::ldexp(exact, bits)));
        for (; entry < end; ++entry) {
          const double part = matrix.weight[entry] * exact;
          sum[matrix.bin[entry]] +=
              MapSum{std::int64_t{matrix.weight[entry]} * fixed[pixel], part, std::abs(part)};
        }
      });
  check_precision(plan, sums, bits, name, value);
  totals.resize(sums.size());
  std::ranges::transform(sums, totals.begin(), &MapSum::fixed);
  return fixed;
}

}  // namespace

void compile_matrix(Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                    unsigned threads) {
  const SparseMatrix& matrix = plan.matrix;
  int bits = kMaxWeightBits;
  while (true) {
    plan.matrix = split_all(plan, splitter, excluded, bits, threads);
    plan.totals.count = sum_by_bin<std::int64_t>(
        matrix, plan.bins(), threads,
        [&](std::vector<std::int64_t>& sum, std::size_t, std::uint32_t entry, std::uint32_t end) {
          for (; entry < end; ++entry) sum[matrix.bin[entry]] += matrix.weight[entry];
        });
    const auto fullest = std::max_element(plan.totals.count.begin(), plan.totals.count.end());
    // The proof: the fullest bin's weights times the largest count that is valid stay below 2^63.
    if (*fullest <= kLargestSum / plan.validity.max_count) break;

    const std::int64_t pixels = ((*fullest - 1) >> bits) + 1;
    if (bits == kMinWeightBits) {
      throw Error(ErrorKind::kPlan, "`max_count`",
                  fmt::format("bin {} holds {} pixels of up to {} counts: their sum does not fit 64 bits",
                              fullest - plan.totals.count.begin(), pixels, plan.validity.max_count),
                  "use more bins, or give the detector's real saturation with `max_count`");
    }
    bits = std::min(bits - 1, safe_weight_bits(static_cast<std::uint64_t>(pixels), plan.validity.max_count));
  }
  plan.weight_bits = bits;
  if (plan.matrix.bin.empty()) {
    const bool ranged = plan.options.radial_range || plan.options.azimuth_range;
    throw Error(
        ErrorKind::kPlan, ranged ? "`radial_range`, `azimuth_range`" : "mask, flat and dark",
        ranged ? "no pixel of the detector lies in the ranges asked for" : "they leave no pixel to integrate",
        ranged ? fmt::format("widen them, and check the mask and the unit, {}", name_of(plan.options.unit))
               : "check that the flat is positive and the mask not full");
  }
  plan.variance_bits = safe_variance_bits(plan, threads);
  if (bits < kSureWeightBits) check_share_precision(plan, splitter, threads);
}

void choose_correction_bits(Plan& plan, const LargeVector<double>& normalization, const PixelMaps& maps,
                            unsigned threads) {
  plan.normalization_bits =
      choose_value_bits(plan, threads, [&](std::size_t pixel) { return normalization[pixel]; });
  if (!maps.dark) return;
  plan.dark_bits =
      choose_value_bits(plan, threads, [&](std::size_t pixel) { return maps.dark->pixels[pixel]; });
}

void compile_corrections(Plan& plan, const LargeVector<double>& normalization, const PixelMaps& maps,
                         unsigned threads) {
  plan.normalization =
      compile_map(plan, plan.normalization_bits, maps.flat ? maps.flat_name : "normalization", threads,
                  plan.totals.normalization, [&](std::size_t pixel) { return normalization[pixel]; });
  if (!maps.dark) return;
  plan.dark = compile_map(plan, plan.dark_bits, maps.dark_name, threads, plan.totals.dark,
                          [&](std::size_t pixel) { return maps.dark->pixels[pixel]; });
}

}  // namespace annulus
