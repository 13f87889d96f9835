// Polar images of snapshots, [q][phi], and how they become the integers that are correlated.
//
//   J(q, phi) = rint((value - mean(q)) 2^scale) m(q, phi)
//
// m is 0 where the value is NaN, 1 elsewhere; mean(q) is that of the valid values of the ring, or 0 if means
// are not subtracted. An image that cannot become integers, or whose mean intensity is out of limits, is
// rejected: that is a fact about the image, with a reason, and no exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace annulus {

struct PolarShape {
  std::size_t rings = 0;   // q
  std::size_t angles = 0;  // phi, equally spaced over a full turn

  std::size_t values() const { return rings * angles; }
  std::size_t pairs() const { return rings * (rings + 1) / 2; }  // of q and q' >= q
  std::size_t correlations() const { return pairs() * angles; }  // [q][q' >= q][d]
  std::size_t frequencies() const { return angles / 2 + 1; }     // of a real ring
  std::size_t pair(std::size_t q, std::size_t other) const {     // other >= q
    return q * rings - q * (q + 1) / 2 + other;
  }
  bool operator==(const PolarShape&) const = default;

  // Throws kUsage if a dimension is 0 or so large that correlations cannot be addressed.
  void check() const;
};

struct PolarOptions {
  bool subtract_mean = true;
  // Of the mean of all valid values of an image.
  std::optional<double> least_mean, most_mean;
};

// How the values of a polar image lie in memory.
enum class PolarOrder {
  kByRing,   // [q][phi]
  kByAngle,  // [phi][q], as cakes lie
};

// Sums are the same whatever the order: those of a ring are added up by angle, those of an image by ring.
struct IntegerImage {
  std::vector<std::int16_t> values;  // [q][phi], 0 where masked
  std::vector<std::uint8_t> valid;   // [q][phi], 1 or 0; empty if all are valid
  double mean = 0;                   // of all valid values before; NaN if there is none, or no finite one
};

// What is known of an image whatever the scale.
struct ImageVerdict {
  double mean = 0;                    // as of IntegerImage
  std::optional<std::string> reason;  // it is rejected for this
};
// Throws kInput if it has another number of values.
ImageVerdict judge_image(const PolarShape& shape, const PolarOptions& options, std::span<const double> image,
                         PolarOrder order = PolarOrder::kByRing);

class PolarQuantizer {
 public:
  // Throws kUsage for a shape, scale or limits that make no sense.
  PolarQuantizer(PolarShape shape, int scale, PolarOptions options);

  int scale() const { return scale_; }
  // The reason why the image was rejected, or nothing: then `integers` is the image. Its mean is there in any
  // case. Many images share a reason, so it names no values. Throws kInput if it has another number of
  // values.
  std::optional<std::string> quantize(std::span<const double> image, IntegerImage& integers,
                                      PolarOrder order = PolarOrder::kByRing) const;

 private:
  PolarShape shape_;
  int scale_;
  PolarOptions options_;
};

// The largest scale for which no value of the first images leaves 12 bits, -2048 to 2047.
class ScaleFinder {
 public:
  static constexpr std::size_t kImages = 100;

  ScaleFinder(PolarShape shape, PolarOptions options);

  // Whether the image counts: those that a PolarQuantizer would reject by their mean or for a value that is
  // infinite do not, and none does after the first kImages.
  bool add(std::span<const double> image, PolarOrder order = PolarOrder::kByRing);
  bool decided() const { return images_ == kImages; }
  // Of the images so far; 0 if all their values are 0.
  int scale() const;

 private:
  PolarShape shape_;
  PolarOptions options_;
  std::size_t images_ = 0;
  double least_ = 0, most_ = 0;
};

// Scales beyond these are of no physical unit.
inline constexpr int kLeastScale = -400, kMostScale = 400;

}  // namespace annulus
