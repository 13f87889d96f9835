#include <annulus/core/error.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/plan/spread_table.hpp>

#include <fmt/core.h>

#include <cmath>

namespace annulus {
namespace {

constexpr unsigned kMostCycles = 100;

// In the order of the enumeration. `for_passes`: also what a clip looks at between two passes.
std::vector<Quantity> quantities_of(const Job& job, bool for_passes) {
  const Recipe& recipe = job.recipe;
  const bool spread = recipe.has_spread() || (for_passes && recipe.clips_by_spread());
  const bool squares = spread || recipe.has_deviation() || (for_passes && recipe.clip.by_sigma());
  std::vector<Quantity> wanted{Quantity::kSignal};
  const auto add = [&wanted](bool is_wanted, Quantity quantity) {
    if (is_wanted) wanted.push_back(quantity);
  };
  add(recipe.has_variance(), Quantity::kVariance);
  add(spread, Quantity::kSquares);
  add(spread, Quantity::kProducts);
  add(true, Quantity::kMissingNormalization);
  add(!job.plan->totals.dark.empty(), Quantity::kMissingDark);
  add(true, Quantity::kMissingCount);
  add(squares, Quantity::kMissingSquares);
  add(recipe.has_clip(), Quantity::kClipped);
  add(recipe.clip.by_sigma(), Quantity::kEmptied);
  return wanted;
}

}  // namespace

std::string_view name_of(ErrorModel model) {
  switch (model) {
    case ErrorModel::kPoisson:
      return "poisson";
    case ErrorModel::kAzimuthal:
      return "azimuthal";
    case ErrorModel::kHybrid:
      return "hybrid";
    default:
      return "no";
  }
}

std::string_view name_of(ClipMethod method) {
  switch (method) {
    case ClipMethod::kSigma:
      return "sigma";
    case ClipMethod::kMedian:
      return "median";
    case ClipMethod::kQuantiles:
      return "quantiles";
    default:
      return "no";
  }
}

std::string Recipe::beyond_sums() const {
  std::string text;
  const auto add = [&text](bool has, const char* what) {
    if (has) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(clip.by_sigma(), "sigma clipping");
  add(clip.by_rank(), clip.method == ClipMethod::kMedian ? "medians" : "quantiles");
  add(error_model == ErrorModel::kAzimuthal, "azimuthal errors");
  add(error_model == ErrorModel::kHybrid, "hybrid errors");
  add(spottiness, "spottiness");
  return text;
}

void check(const Recipe& recipe) {
  const auto refuse = [](const char* option, std::string fault, const char* cure) {
    throw Error(ErrorKind::kUsage, option, std::move(fault), cure);
  };
  const Clip& clip = recipe.clip;
  if (!(clip.threshold > 0) || !std::isfinite(clip.threshold))
    refuse("`clip_threshold`", fmt::format("{} standard deviations hold nothing", clip.threshold),
           "give a positive number, for example 5");
  if (clip.cycles == 0 || clip.cycles > kMostCycles)
    refuse("`clip_cycles`", fmt::format("{} cycles are not sensible", clip.cycles), "give 1 to 100");
  const bool by_quantiles = clip.method == ClipMethod::kQuantiles;
  if (by_quantiles != clip.quantiles.has_value())
    refuse("`clip_quantiles`",
           by_quantiles ? "`clip` quantiles needs to know which" : "only `clip` quantiles takes it",
           by_quantiles ? "give two numbers from 0 to 1, the smaller one first"
                        : "leave it out, or ask for `clip` quantiles");
  if (by_quantiles &&
      !(clip.quantiles->low >= 0 && clip.quantiles->low <= clip.quantiles->high && clip.quantiles->high <= 1))
    refuse("`clip_quantiles`",
           fmt::format("{} to {} are no quantiles", clip.quantiles->low, clip.quantiles->high),
           "give two numbers from 0 to 1, the smaller one first");
  if (!clip.by_sigma() && (clip.threshold != Clip().threshold || clip.cycles != Clip().cycles))
    refuse("`clip_threshold`, `clip_cycles`", "only `clip` sigma takes them",
           "leave them out, or ask for `clip` sigma");
  if (recipe.spottiness && recipe.has_clip())
    refuse("`spottiness`", "it is about all pixels, and a clip leaves some out",
           "make it in a run without `clip`");
}

std::vector<Quantity> Job::quantities() const { return quantities_of(*this, false); }
std::vector<Quantity> Job::quantities_of_passes() const { return quantities_of(*this, true); }

Job make_job(std::shared_ptr<const Plan> plan, const Recipe& recipe) {
  if (recipe.needs_spread_table()) plan = with_spread_table(std::move(plan));
  return {std::move(plan), recipe};
}

void demand_sums_only(const Recipe& recipe, std::string_view backend) {
  const std::string more = recipe.beyond_sums();
  if (more.empty()) return;
  throw Error(ErrorKind::kBackend, std::string(backend), fmt::format("it cannot do {}", more),
              "ask for a recipe without it, or use the cpu or the opencl backend");
}

}  // namespace annulus
