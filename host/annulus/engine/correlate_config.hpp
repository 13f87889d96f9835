// Every option of a correlation: those of an integration that make its cakes, and its own.
#pragma once

#include <annulus/engine/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct CorrelateConfig {
  CorrelateConfig();

  IntegrateConfig reduction;          // inputs, plan, backend, output
  bool polar = false;                 // inputs are polar images [q][phi] already
  std::optional<std::int64_t> scale;  // none: found from the first images
  bool keep_mean = false;
  std::optional<double> least_mean, most_mean;
  std::uint64_t block = 0;
  bool fast = false;
  std::optional<std::uint32_t> legendre;  // the largest l
  bool flat_ewald = false;                // of the Ewald sphere; needs `legendre`
  std::optional<double> wavelength;       // angstrom, of polar images; needs `legendre`
  double checkpoint = 60;                 // seconds; 0: only at the end
};

// Whether an option of an integration is one of a correlation, too.
bool is_of_correlation(const OptionInfo& info);

// Calls visit(info, field) for the options that only a correlation has.
template <OptionsOf<CorrelateConfig> Config, typename Visit>
void for_each_own_option(Config& config, Visit&& visit) {
  visit(OptionInfo{"polar", "Input",
                   "Inputs are polar images [q][phi], with NaN where masked: no plan is made"},
        config.polar);
  visit(
      OptionInfo{
          "scale", "Correlation",
          "Power of two that values are multiplied by before they become integers (default: the largest "
          "for which the first 100 images keep to 12 bits)"},
      config.scale);
  visit(OptionInfo{"keep_mean", "Correlation", "Do not subtract the mean of each ring of each image"},
        config.keep_mean);
  visit(OptionInfo{"least_mean", "Correlation", "Reject images whose mean is below"}, config.least_mean);
  visit(OptionInfo{"most_mean", "Correlation", "Reject images whose mean is above"}, config.most_mean);
  visit(OptionInfo{"legendre", "Correlation",
                   "Also Legendre coefficients B_l of C2, for even l up to this one, with their condition"},
        config.legendre);
  visit(OptionInfo{"flat_ewald", "Correlation", "Of `legendre`: take the Ewald sphere for a plane"},
        config.flat_ewald);
  visit(OptionInfo{"wavelength", "Correlation", "Of `legendre` with `polar`: in angstrom"},
        config.wavelength);
  visit(OptionInfo{"fast", "Correlation", "A preview in single precision: nothing can be added to it"},
        config.fast);
  visit(OptionInfo{"block", "Run", "Images that are multiplied at once (0: as many as are fast)"},
        config.block);
  visit(
      OptionInfo{
          "checkpoint", "Run",
          "Seconds between two times that the output is written while images come (0: only at the end)"},
      config.checkpoint);
}

// The whole configuration, for the output.
nlohmann::ordered_json to_json(const CorrelateConfig& config);
std::vector<std::pair<std::string, std::string>> as_text(const CorrelateConfig& config);

// Checks options against each other, and returns the reduction that makes the cakes: all azimuths, no errors.
// Throws kUsage.
IntegrateConfig checked_reduction(const CorrelateConfig& config);

}  // namespace annulus
