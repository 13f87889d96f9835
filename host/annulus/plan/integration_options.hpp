// What the user asks of a plan: everything that decides where pixels go and what they weigh.
#pragma once

#include <annulus/core/image.hpp>
#include <annulus/geometry/unit.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace annulus {

enum class Splitting { kNo, kBoundingBox, kFull };

// "no", "bbox", "full".
constexpr std::string_view name_of(Splitting splitting) {
  switch (splitting) {
    case Splitting::kNo:
      return "no";
    case Splitting::kBoundingBox:
      return "bbox";
    case Splitting::kFull:
      break;
  }
  return "full";
}

struct Range {
  double low = 0;
  double high = 0;
  bool operator==(const Range&) const = default;
};

struct IntegrationOptions {
  std::uint32_t bins = 1000;
  Unit unit = Unit::kTwoThetaDeg;
  Splitting splitting = Splitting::kBoundingBox;
  std::optional<Range> radial_range;   // in `unit`
  std::optional<Range> azimuth_range;  // degrees; low > high or high > 180 crosses the cut

  // Bins in azimuth, which make a cake: radius x azimuth. None: a pattern over the radius.
  std::optional<std::uint32_t> azimuth_bins;
  std::uint32_t chi_discontinuity = 180;  // degrees, 180 or 0: where the azimuths of a cake begin and end

  bool solid_angle = true;
  std::optional<double> polarization;  // factor in [-1, 1]; none: no correction

  std::optional<double> dummy;            // value of invalid pixels; none: the detector's habit
  std::optional<double> delta_dummy;      // |raw - dummy| <= delta is invalid
  std::optional<std::int64_t> max_count;  // above is saturated, so invalid; none: the source's, or the type's

  bool operator==(const IntegrationOptions&) const = default;
};

// Maps of the detector's shape that go with the options; empty optionals are not applied.
struct PixelMaps {
  std::optional<Mask> mask;  // added to the detector's gaps
  std::optional<Image<double>> dark;
  std::optional<Image<double>> flat;

  // Files they came from, for messages.
  std::string mask_name = "mask";
  std::string dark_name = "dark";
  std::string flat_name = "flat";
};

}  // namespace annulus
