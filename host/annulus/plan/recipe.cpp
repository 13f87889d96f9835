#include <annulus/core/error.hpp>
#include <annulus/plan/recipe.hpp>

#include <fmt/core.h>

namespace annulus {

std::string_view name_of(ErrorModel model) { return model == ErrorModel::kPoisson ? "poisson" : "no"; }

std::string Recipe::beyond_sums() const {
  if (clip && keep_pixels) return "sigma clipping and values of pixels by bin";
  if (clip) return "sigma clipping";
  return keep_pixels ? "values of pixels by bin" : "";
}

std::vector<Quantity> Job::quantities() const {
  std::vector<Quantity> wanted{Quantity::kSignal};
  if (recipe.has_variance()) wanted.push_back(Quantity::kVariance);
  wanted.push_back(Quantity::kMissingNormalization);
  if (!plan->totals.dark.empty()) wanted.push_back(Quantity::kMissingDark);
  wanted.push_back(Quantity::kMissingCount);
  return wanted;
}

void demand_sums_only(const Recipe& recipe, std::string_view backend) {
  const std::string more = recipe.beyond_sums();
  if (more.empty()) return;
  throw Error(ErrorKind::kBackend, std::string(backend), fmt::format("it cannot do {}", more),
              "ask for a recipe without it, or use another backend");
}

}  // namespace annulus
