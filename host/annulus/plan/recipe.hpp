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

enum class ErrorModel { kNone, kPoisson };

// "no", "poisson".
std::string_view name_of(ErrorModel model);

// Leaves out pixels that are more than `threshold` standard deviations off the mean of their bin, and again,
// up to `cycles` times. No backend does this yet: all refuse it by name.
struct Clip {
  double threshold = 5;
  unsigned cycles = 5;
  bool operator==(const Clip&) const = default;
};

struct Recipe {
  ErrorModel error_model = ErrorModel::kNone;
  std::optional<Clip> clip = {};
  bool keep_pixels = false;  // values of pixels by bin, for correlations: as clip, refused by all today

  bool has_variance() const { return error_model == ErrorModel::kPoisson; }

  // How often the decoded pixels of a frame are looked at: a clip needs every cycle's mean before the next.
  unsigned passes() const { return clip ? 1 + clip->cycles : 1; }

  // What it asks for beyond sums over all valid pixels, in words for messages; empty if that is all.
  std::string beyond_sums() const;

  bool operator==(const Recipe&) const = default;
};

// What a backend is asked to do with frames.
struct Job {
  std::shared_ptr<const Plan> plan;
  Recipe recipe = {};

  // The quantities that its frames may have, in the order of the enumeration.
  std::vector<Quantity> quantities() const;
};

// Throws kBackend, naming what `backend` cannot do, unless the recipe asks for nothing but sums: for backends
// that look at every pixel once.
void demand_sums_only(const Recipe& recipe, std::string_view backend);

}  // namespace annulus
