#include <annulus/core/error.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace annulus {
namespace {

// With these, products of sizes fit into 64 bits, and sizes into the int of FFTW and BLAS.
constexpr std::size_t kMostRings = 1U << 16U;
constexpr std::size_t kMostAngles = 1U << 16U;

constexpr double kLeastOf12Bits = -2048, kMostOf12Bits = 2047;

void check_size(const PolarShape& shape, std::span<const double> image) {
  if (image.size() != shape.values()) {
    throw Error(ErrorKind::kInput, "polar image",
                fmt::format("it has {} values, and {} rings x {} angles have {}", image.size(), shape.rings,
                            shape.angles, shape.values()));
  }
}

void check_limits(const PolarOptions& options) {
  for (const auto& [limit, key] :
       {std::pair{options.least_mean, "`least_mean`"}, std::pair{options.most_mean, "`most_mean`"}}) {
    if (limit && std::isnan(*limit)) throw Error(ErrorKind::kUsage, key, "NaN is no limit");
  }
  if (options.least_mean && options.most_mean && *options.least_mean > *options.most_mean) {
    throw Error(ErrorKind::kUsage, "`least_mean`",
                fmt::format("{} is more than `most_mean`, {}: no image would be taken", *options.least_mean,
                            *options.most_mean));
  }
}

// An image whose values are found by ring and angle.
class PolarView {
 public:
  PolarView(const PolarShape& shape, std::span<const double> values, PolarOrder order)
      : shape_(shape), values_(values), order_(order) {
    check_size(shape, values);
  }

  const PolarShape& shape() const { return shape_; }
  PolarOrder order() const { return order_; }
  double at(std::size_t ring, std::size_t angle) const {
    return values_[order_ == PolarOrder::kByRing ? ring * shape_.angles + angle
                                                 : angle * shape_.rings + ring];
  }
  // A line in memory: a ring, or all rings at an angle.
  std::span<const double> line(std::size_t i) const {
    const std::size_t length = order_ == PolarOrder::kByRing ? shape_.angles : shape_.rings;
    return values_.subspan(i * length, length);
  }

 private:
  const PolarShape& shape_;
  std::span<const double> values_;
  PolarOrder order_;
};

// Sums over the valid values of each ring, from the first angle to the last.
struct RingSums {
  std::vector<double> sums, counts;

  explicit RingSums(const PolarView& image)
      : sums(image.shape().rings, 0.0), counts(image.shape().rings, 0.0) {
    if (image.order() == PolarOrder::kByRing) {
      for (std::size_t ring = 0; ring < sums.size(); ++ring) {
        for (const double value : image.line(ring)) add(value, sums[ring], counts[ring]);
      }
    } else {
      for (std::size_t angle = 0; angle < image.shape().angles; ++angle) {
        const double* const values = image.line(angle).data();
        double* const sum = sums.data();
        double* const count = counts.data();
        for (std::size_t ring = 0; ring < sums.size(); ++ring) add(values[ring], sum[ring], count[ring]);
      }
    }
  }

  double total() const { return std::accumulate(sums.begin(), sums.end(), 0.0); }
  double valid() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

  // What is subtracted from each ring.
  std::vector<double> levels(bool subtract_mean) const {
    std::vector<double> means(sums.size(), 0.0);
    for (std::size_t ring = 0; subtract_mean && ring < sums.size(); ++ring) {
      if (counts[ring] > 0) means[ring] = sums[ring] / counts[ring];
    }
    return means;
  }

 private:
  static void add(double value, double& sum, double& count) {
    const bool valid = !std::isnan(value);
    sum += valid ? value : 0.0;
    count += valid ? 1.0 : 0.0;
  }
};

double mean_of(const RingSums& rings) {
  const double mean = rings.total() / rings.valid();
  return std::isfinite(mean) ? mean : std::numeric_limits<double>::quiet_NaN();
}

// Why an image is not even looked at further.
std::optional<std::string> veto(const PolarOptions& options, const RingSums& rings) {
  if (rings.valid() == 0) return "all its values are masked";
  if (!std::isfinite(rings.total())) return "a value, or the sum of all, is infinite";
  const double mean = rings.total() / rings.valid();
  if (options.least_mean && !(mean >= *options.least_mean))
    return fmt::format("its mean is below `least_mean`, {}", *options.least_mean);
  if (options.most_mean && !(mean <= *options.most_mean))
    return fmt::format("its mean is above `most_mean`, {}", *options.most_mean);
  return std::nullopt;
}

constexpr double kLeastOf16Bits = -32768, kMostOf16Bits = 32767;

// Integers of one ring after the other; std::rint and conversions in a form that compilers vectorise. Returns
// whether all values fit.
class Rounding {
 public:
  explicit Rounding(int scale) : factor_(std::ldexp(1.0, scale)) {}

  // Rounded to even as std::rint does; not beyond values that fit nowhere.
  double round(double difference) const {
    constexpr double kShift = 0x1.8p52;  // doubles of this size have no fractions
    const double scaled = std::min(std::max(difference * factor_, -kBeyond), kBeyond);
    return scaled + kShift - kShift;
  }

  static bool fits(double rounded) { return rounded >= kLeastOf16Bits && rounded <= kMostOf16Bits; }

 private:
  static constexpr double kBeyond = 65536;
  double factor_;
};

// The integers of `count` values with one level each, or one level for all; masked ones are 0.
template <bool kMasked>
bool round_values(const Rounding& rounding, const double* values, const double* levels,
                  std::size_t level_step, std::size_t count, std::int16_t* integers, std::uint8_t* valid) {
  bool fit = true;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_valid = !kMasked || !std::isnan(values[i]);
    const double rounded = is_valid ? rounding.round(values[i] - levels[i * level_step]) : 0.0;
    fit &= Rounding::fits(rounded);
    integers[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(rounded));
    if constexpr (kMasked) valid[i] = is_valid ? 1 : 0;
  }
  return fit;
}

// A square of values by angle becomes one by ring.
constexpr std::size_t kTile = 16;

template <typename T>
void turn_tile(const T (&tile)[kTile][kTile], std::size_t rings, std::size_t angles, std::size_t stride,
               T* place) {
  for (std::size_t ring = 0; ring < rings; ++ring) {
    for (std::size_t angle = 0; angle < angles; ++angle) place[ring * stride + angle] = tile[angle][ring];
  }
}

template <bool kMasked>
bool round_by_angle(const Rounding& rounding, const PolarView& image, const std::vector<double>& levels,
                    IntegerImage& integers) {
  const PolarShape& shape = image.shape();
  bool fit = true;
  std::int16_t tile[kTile][kTile];
  std::uint8_t valid_tile[kTile][kTile];
  for (std::size_t angle = 0; angle < shape.angles; angle += kTile) {
    const std::size_t high = std::min(kTile, shape.angles - angle);
    for (std::size_t ring = 0; ring < shape.rings; ring += kTile) {
      const std::size_t wide = std::min(kTile, shape.rings - ring);
      for (std::size_t i = 0; i < high; ++i) {
        fit &= round_values<kMasked>(rounding, image.line(angle + i).data() + ring, levels.data() + ring, 1,
                                     wide, tile[i], valid_tile[i]);
      }
      const std::size_t place = ring * shape.angles + angle;
      turn_tile(tile, wide, high, shape.angles, integers.values.data() + place);
      if constexpr (kMasked) turn_tile(valid_tile, wide, high, shape.angles, integers.valid.data() + place);
    }
  }
  return fit;
}

template <bool kMasked>
bool round_by_ring(const Rounding& rounding, const PolarView& image, const std::vector<double>& levels,
                   IntegerImage& integers) {
  const PolarShape& shape = image.shape();
  bool fit = true;
  for (std::size_t ring = 0; ring < shape.rings; ++ring) {
    const std::size_t place = ring * shape.angles;
    fit &= round_values<kMasked>(rounding, image.line(ring).data(), &levels[ring], 0, shape.angles,
                                 integers.values.data() + place,
                                 kMasked ? integers.valid.data() + place : nullptr);
  }
  return fit;
}

template <bool kMasked>
bool round_image(const Rounding& rounding, const PolarView& image, const std::vector<double>& levels,
                 IntegerImage& integers) {
  return image.order() == PolarOrder::kByRing ? round_by_ring<kMasked>(rounding, image, levels, integers)
                                              : round_by_angle<kMasked>(rounding, image, levels, integers);
}

}  // namespace

void PolarShape::check() const {
  if (rings == 0 || angles == 0 || rings > kMostRings || angles > kMostAngles) {
    throw Error(ErrorKind::kUsage, "polar images",
                fmt::format("{} rings x {} angles cannot be correlated", rings, angles),
                fmt::format("1 to {} rings and 1 to {} angles can be", kMostRings, kMostAngles));
  }
}

ImageVerdict judge_image(const PolarShape& shape, const PolarOptions& options, std::span<const double> image,
                         PolarOrder order) {
  const RingSums rings(PolarView(shape, image, order));
  return {mean_of(rings), veto(options, rings)};
}

PolarQuantizer::PolarQuantizer(PolarShape shape, int scale, PolarOptions options)
    : shape_(shape), scale_(scale), options_(options) {
  shape_.check();
  check_limits(options_);
  if (scale < kLeastScale || scale > kMostScale) {
    throw Error(ErrorKind::kUsage, "`scale`",
                fmt::format("{} is not between {} and {}", scale, kLeastScale, kMostScale),
                "it is the power of two that values are multiplied by");
  }
}

std::optional<std::string> PolarQuantizer::quantize(std::span<const double> values, IntegerImage& integers,
                                                    PolarOrder order) const {
  const PolarView image(shape_, values, order);
  const RingSums rings(image);
  integers.mean = mean_of(rings);
  if (auto reason = veto(options_, rings)) return reason;
  const std::vector<double> levels = rings.levels(options_.subtract_mean);
  const bool masked = rings.valid() < static_cast<double>(shape_.values());
  integers.values.resize(shape_.values());
  integers.valid.resize(masked ? shape_.values() : 0);
  const Rounding rounding(scale_);
  const bool fit = masked ? round_image<true>(rounding, image, levels, integers)
                          : round_image<false>(rounding, image, levels, integers);
  if (!fit) return fmt::format("a value leaves 16 bits with `scale` {}", scale_);
  return std::nullopt;
}

ScaleFinder::ScaleFinder(PolarShape shape, PolarOptions options) : shape_(shape), options_(options) {
  shape_.check();
  check_limits(options_);
}

bool ScaleFinder::add(std::span<const double> values, PolarOrder order) {
  const PolarView image(shape_, values, order);
  const RingSums rings(image);
  if (decided() || veto(options_, rings)) return false;
  const std::vector<double> levels = rings.levels(options_.subtract_mean);
  double least = least_, most = most_;
  for (std::size_t ring = 0; ring < shape_.rings; ++ring) {
    for (std::size_t angle = 0; angle < shape_.angles; ++angle) {
      const double difference = image.at(ring, angle) - levels[ring];
      if (std::isnan(difference)) continue;
      if (!std::isfinite(difference)) return false;
      least = std::min(least, difference);
      most = std::max(most, difference);
    }
  }
  least_ = least;
  most_ = most;
  ++images_;
  return true;
}

int ScaleFinder::scale() const {
  const double largest = std::max(-least_, most_);
  if (largest == 0) return 0;
  // 2^11 <= largest 2^scale < 2^12 is too much or just right; one or two below is right.
  int scale = 12 - (std::ilogb(largest) + 1);
  while (std::rint(std::ldexp(least_, scale)) < kLeastOf12Bits ||
         std::rint(std::ldexp(most_, scale)) > kMostOf12Bits) {
    --scale;
  }
  return std::clamp(scale, kLeastScale, kMostScale);
}

}  // namespace annulus
