#include <annulus/plan/build_steps.hpp>

namespace annulus {

void hash_beginning(Sha256& sha, const Plan& plan) {
  const auto add_optional = [&sha](const auto& value, auto&& add) {
    sha.add_value(value.has_value());
    if (value) add(*value);
  };
  const auto add_number = [&sha](auto number) { sha.add_value(number); };
  const auto add_range = [&sha](const Range& range) {
    sha.add_value(range.low);
    sha.add_value(range.high);
  };

  // The geometry itself, although the matrix follows from it: two detectors may share a matrix.
  const Geometry& geometry = plan.geometry;
  for (const double value : {geometry.distance, geometry.poni1, geometry.poni2, geometry.rot1, geometry.rot2,
                             geometry.rot3, geometry.detector.pixel1, geometry.detector.pixel2}) {
    sha.add_value(value);
  }
  add_optional(geometry.wavelength, add_number);
  sha.add(std::as_bytes(std::span(geometry.detector.name)));

  const IntegrationOptions& options = plan.options;
  sha.add_value(options.bins);
  sha.add_value(options.unit);
  sha.add_value(options.splitting);
  add_optional(options.radial_range, add_range);
  add_optional(options.azimuth_range, add_range);
  sha.add_value(options.solid_angle);
  add_optional(options.polarization, add_number);

  sha.add_value(plan.pixel_type);
  add_optional(plan.saturation, add_number);
  sha.add_value(plan.shape.rows);
  sha.add_value(plan.shape.cols);
  sha.add_value(plan.validity.dummy_low);
  sha.add_value(plan.validity.dummy_high);
  sha.add_value(plan.validity.max_count);
  add_optional(options.dummy, add_number);
  add_optional(options.delta_dummy, add_number);
  add_optional(options.max_count, add_number);
  sha.add_value(plan.weight_bits);
  sha.add_value(plan.variance_bits);
  sha.add_value(plan.normalization_bits);
  sha.add_value(plan.dark_bits);
  for (const Axis& axis : plan.axes) {
    if (axis.kind == AxisKind::kAzimuth) sha.add_value(options.chi_discontinuity);
    sha.add_array(axis.centres);
    sha.add_array(axis.edges);
  }
  sha.add_array(plan.matrix.first);
  sha.add_array(plan.matrix.bin);
  sha.add_array(plan.matrix.weight);
}

std::string hash_end(Sha256& sha, const Plan& plan) {
  sha.add_array(plan.normalization);
  sha.add_array(plan.dark);
  return sha.finish();
}

}  // namespace annulus
