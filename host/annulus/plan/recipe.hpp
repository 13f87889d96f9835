// What is made of every frame, beside the plan that says where its pixels go: which sums, and how many looks
// at the pixels that takes.
#pragma once

#include <annulus/plan/plan.hpp>
#include <annulus/plan/sums.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// Where the errors of a pattern come from.
enum class ErrorModel {
  kNone,
  kPoisson,    // counting statistics
  kAzimuthal,  // the spread of the pixels in a bin
  kHybrid      // a clip goes by the spread; what it leaves has the errors of counting statistics
};

// "no", "poisson", "azimuthal", "hybrid".
std::string_view name_of(ErrorModel model);

// Which pixels of a bin are left out, because they are far from the others of their bin.
enum class ClipMethod {
  kNone,
  kSigma,     // more than some standard deviations off the mean, again and again
  kMedian,    // all but the median
  kQuantiles  // all but those between two quantiles
};

// "no", "sigma", "median", "quantiles".
std::string_view name_of(ClipMethod method);

struct Clip {
  ClipMethod method = ClipMethod::kNone;
  double threshold = 5;                 // of kSigma: standard deviations
  unsigned cycles = 5;                  // of kSigma: at most
  std::optional<Range> quantiles = {};  // of kQuantiles: parts of the weights in a bin, 0 to 1

  bool by_sigma() const { return method == ClipMethod::kSigma; }
  bool by_rank() const { return method == ClipMethod::kMedian || method == ClipMethod::kQuantiles; }
  bool operator==(const Clip&) const = default;
};

struct Recipe {
  ErrorModel error_model = ErrorModel::kNone;
  Clip clip = {};
  bool spottiness = false;  // how far each ring is from a smooth powder

  bool has_clip() const { return clip.method != ClipMethod::kNone; }
  bool has_errors() const { return error_model != ErrorModel::kNone; }

  // Sums that its results have.
  bool has_variance() const {
    return error_model == ErrorModel::kPoisson || error_model == ErrorModel::kHybrid || spottiness;
  }
  bool has_spread() const { return error_model == ErrorModel::kAzimuthal || spottiness; }

  // The standard deviation of a pixel, beside the error of the mean.
  bool has_deviation() const {
    return error_model == ErrorModel::kAzimuthal || error_model == ErrorModel::kHybrid ||
           (has_errors() && has_clip());
  }

  // What a clip looks at after each pass.
  bool clips_by_spread() const { return clip.by_sigma() && error_model != ErrorModel::kPoisson; }
  bool clips_by_variance() const { return clip.by_sigma() && error_model == ErrorModel::kPoisson; }

  // Whether it takes the plan's spread table (plan/spread_table.hpp).
  bool needs_spread_table() const { return has_spread() || has_deviation() || has_clip(); }

  // What it asks for beyond sums of each valid pixel and its variance, in words for messages; empty if that
  // is all.
  std::string beyond_sums() const;

  bool operator==(const Recipe&) const = default;
};

// Throws kUsage for what makes no sense.
void check(const Recipe& recipe);

// What a backend is asked to do with frames.
struct Job {
  std::shared_ptr<const Plan> plan;
  Recipe recipe = {};

  // The quantities that its frames may have, in the order of the enumeration.
  std::vector<Quantity> quantities() const;

  // Those that a clip needs between two passes, too.
  std::vector<Quantity> quantities_of_passes() const;

  // Outliers of each frame are wanted as a list of pixels.
  bool list_outliers = false;
};

// With the plan's spread table if the recipe needs it. Throws kPlan if the plan cannot have one.
Job make_job(std::shared_ptr<const Plan> plan, const Recipe& recipe);

// Throws kBackend, naming what `backend` cannot do, unless the recipe asks for nothing but sums of pixels and
// of their variances.
void demand_sums_only(const Recipe& recipe, std::string_view backend);

}  // namespace annulus
