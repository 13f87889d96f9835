#include <annulus/core/sha256.hpp>
#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/plan_key.hpp>
#include <annulus/version.hpp>

#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace annulus {
namespace {

class KeyHash {
 public:
  template <typename T>
  void add(T value) {
    sha_.add_value(value);
  }
  void add(const std::string& text) { sha_.add_array(text); }
  void add(Range range) {
    add(range.low);
    add(range.high);
  }
  void add(Shape shape) {
    add(shape.rows);
    add(shape.cols);
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <typename T>
  void add(const std::optional<Image<T>>& map) {
    add(map.has_value());
    if (!map) return;
    add(map->shape);
    sha_.add_array(map->pixels);
  }
  std::string finish() { return sha_.finish(); }

 private:
  Sha256 sha_;
};

// Angles come from the system's library, whose last bit may differ between versions and processors. A folder
// of plans may be shared by machines for which that is so: each must find its own.
void add_arithmetic(KeyHash& key) {
  constexpr int kSamples = 4096;
  for (int i = 1; i <= kSamples; ++i) {
    const double x = static_cast<double>(i) / kSamples;
    key.add(std::atan2(x, 1.0 - 0.7 * x));
    key.add(std::sin(x));
    key.add(std::cos(x));
  }
}

void add_geometry(KeyHash& key, const Geometry& geometry) {
  for (const double value : {geometry.distance, geometry.poni1, geometry.poni2, geometry.rot1, geometry.rot2,
                             geometry.rot3, geometry.detector.pixel1, geometry.detector.pixel2}) {
    key.add(value);
  }
  key.add(geometry.wavelength);
  const Detector& detector = geometry.detector;
  key.add(detector.name);
  key.add(detector.shape);
  key.add(detector.grid.module);
  key.add(detector.grid.gap);
  key.add(detector.grid.middle);
  key.add(detector.round);
  key.add(detector.dectris);
}

void add_options(KeyHash& key, const IntegrationOptions& options) {
  key.add(options.bins);
  key.add(options.unit);
  key.add(options.splitting);
  key.add(options.radial_range);
  key.add(options.azimuth_range);
  key.add(options.azimuth_bins);
  key.add(options.chi_discontinuity);
  key.add(options.solid_angle);
  key.add(options.polarization);
  key.add(options.dummy);
  key.add(options.delta_dummy);
  key.add(options.max_count);
}

}  // namespace

std::string plan_key(const Geometry& geometry, const IntegrationOptions& options, const PixelMaps& maps,
                     const FrameProperties& frames) {
  KeyHash key;
  key.add(std::string(kVersion));
  for (const int rule : {kPlanRules, kMaxWeightBits, kMinWeightBits, kMaxVarianceBits}) key.add(rule);
  add_arithmetic(key);
  add_geometry(key, geometry);
  add_options(key, options);
  key.add(maps.mask);
  key.add(maps.dark);
  key.add(maps.flat);
  key.add(frames.shape);
  key.add(frames.type);
  key.add(frames.max_count);
  return key.finish();
}

}  // namespace annulus
