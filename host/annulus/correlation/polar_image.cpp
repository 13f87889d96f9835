#include <annulus/core/error.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

// Why an image is not even looked at further.
std::optional<std::string> veto(const PolarShape& shape, const PolarOptions& options,
                                std::span<const double> image) {
  double sum = 0;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (std::isnan(image[i])) continue;
    if (std::isinf(image[i])) {
      return fmt::format("the value at ring {}, angle {} is infinite", i / shape.angles, i % shape.angles);
    }
    sum += image[i];
    ++valid;
  }
  if (valid == 0) return "all its values are masked";
  const double mean = sum / static_cast<double>(valid);
  if (options.least_mean && !(mean >= *options.least_mean)) {
    return fmt::format("its mean, {}, is below `least_mean`, {}", mean, *options.least_mean);
  }
  if (options.most_mean && !(mean <= *options.most_mean)) {
    return fmt::format("its mean, {}, is above `most_mean`, {}", mean, *options.most_mean);
  }
  return std::nullopt;
}

double level_of(std::span<const double> ring, bool subtract_mean) {
  if (!subtract_mean) return 0;
  double sum = 0;
  std::size_t valid = 0;
  for (const double value : ring) {
    if (std::isnan(value)) continue;
    sum += value;
    ++valid;
  }
  return valid == 0 ? 0 : sum / static_cast<double>(valid);
}

}  // namespace

void PolarShape::check() const {
  if (rings == 0 || angles == 0 || rings > kMostRings || angles > kMostAngles) {
    throw Error(ErrorKind::kUsage, "polar images",
                fmt::format("{} rings x {} angles cannot be correlated", rings, angles),
                fmt::format("1 to {} rings and 1 to {} angles can be", kMostRings, kMostAngles));
  }
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

std::optional<std::string> PolarQuantizer::quantize(std::span<const double> image,
                                                    IntegerImage& integers) const {
  check_size(shape_, image);
  if (auto reason = veto(shape_, options_, image)) return reason;
  integers.values.assign(shape_.values(), 0);
  integers.valid.assign(shape_.values(), 0);
  for (std::size_t ring = 0; ring < shape_.rings; ++ring) {
    const std::span<const double> values = image.subspan(ring * shape_.angles, shape_.angles);
    const double level = level_of(values, options_.subtract_mean);
    for (std::size_t angle = 0; angle < shape_.angles; ++angle) {
      if (std::isnan(values[angle])) continue;
      const double scaled = std::rint(std::ldexp(values[angle] - level, scale_));
      // Also where the difference of huge values is infinite or none.
      if (!(scaled >= std::numeric_limits<std::int16_t>::min() &&
            scaled <= std::numeric_limits<std::int16_t>::max())) {
        return fmt::format(
            "the value at ring {}, angle {} becomes {}, more than 16 bits hold, with `scale` {}", ring, angle,
            scaled, scale_);
      }
      const std::size_t place = ring * shape_.angles + angle;
      integers.values[place] = static_cast<std::int16_t>(scaled);
      integers.valid[place] = 1;
    }
  }
  return std::nullopt;
}

ScaleFinder::ScaleFinder(PolarShape shape, PolarOptions options) : shape_(shape), options_(options) {
  shape_.check();
  check_limits(options_);
}

bool ScaleFinder::add(std::span<const double> image) {
  check_size(shape_, image);
  if (decided() || veto(shape_, options_, image)) return false;
  double least = least_, most = most_;
  for (std::size_t ring = 0; ring < shape_.rings; ++ring) {
    const std::span<const double> values = image.subspan(ring * shape_.angles, shape_.angles);
    const double level = level_of(values, options_.subtract_mean);
    for (const double value : values) {
      if (std::isnan(value)) continue;
      const double difference = value - level;
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
