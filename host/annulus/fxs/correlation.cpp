#include <annulus/fxs/correlation.hpp>

#include <fmt/format.h>

namespace annulus {
namespace {

std::string text_of(const std::optional<double>& limit) {
  return limit ? fmt::format("{}", *limit) : "not given";
}

std::string rings_of(const Axis& axis) {
  if (axis.bins() == 0) return "none";
  return fmt::format("{} from {} to {} {}", axis.name, axis.low(), axis.high(), axis.units);
}

std::string images_of(const std::string& plan_hash) {
  return plan_hash.empty() ? "polar images" : fmt::format("frames with the plan {:.12}", plan_hash);
}

std::string name_or_none(const std::string& name) { return name.empty() ? "not given" : name; }

std::string coefficients_of(const std::optional<LegendreChoice>& choice) {
  if (!choice) return "not given";
  if (choice->wavelength == 0) return fmt::format("{} on a flat Ewald sphere", choice->highest);
  return fmt::format("{} at a wavelength of {}", choice->highest, choice->wavelength);
}

const char* means_of(const PolarOptions& options) {
  return options.subtract_mean ? "means are subtracted" : "means are kept";
}

std::string differ(const std::string& what, const std::string& one, const std::string& other) {
  return fmt::format("{}: {} here, {} there", what, one, other);
}

}  // namespace

std::string difference_of(const std::optional<LegendreChoice>& here,
                          const std::optional<LegendreChoice>& there) {
  if (here == there) return {};
  return differ("`legendre`", coefficients_of(here), coefficients_of(there));
}

std::string difference_of(const CorrelationSetup& here, const CorrelationSetup& there) {
  if (here.shape != there.shape) {
    return differ("shape", fmt::format("{} rings x {} angles", here.shape.rings, here.shape.angles),
                  fmt::format("{} x {}", there.shape.rings, there.shape.angles));
  }
  if (here.plan_hash != there.plan_hash)
    return differ("images", images_of(here.plan_hash), images_of(there.plan_hash));
  if (here.radial != there.radial) return differ("rings", rings_of(here.radial), rings_of(there.radial));
  if (here.scale != there.scale)
    return differ("`scale`", fmt::format("{}", here.scale), fmt::format("{}", there.scale));
  if (here.polar.subtract_mean != there.polar.subtract_mean)
    return differ("`keep_mean`", means_of(here.polar), means_of(there.polar));
  if (here.polar.least_mean != there.polar.least_mean)
    return differ("`least_mean`", text_of(here.polar.least_mean), text_of(there.polar.least_mean));
  if (here.polar.most_mean != there.polar.most_mean)
    return differ("`most_mean`", text_of(here.polar.most_mean), text_of(there.polar.most_mean));
  if (here.normalization_factor != there.normalization_factor) {
    return differ("`normalization_factor`", fmt::format("{}", here.normalization_factor),
                  fmt::format("{}", there.normalization_factor));
  }
  if (here.monitor != there.monitor)
    return differ("`monitor`", name_or_none(here.monitor), name_or_none(there.monitor));
  return {};
}

}  // namespace annulus
