#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/beamline.hpp>
#include <tools/simulate/particle.hpp>
#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

constexpr std::uint64_t kRandomParticleStream = ~std::uint64_t{0} - 3;  // beside the frames' numbers
constexpr double kLongest = 1000;                                       // nanometre
constexpr double kWidth = 0.6;

Particle dimer(std::uint64_t) { return {{-3, 0, 0, kWidth, 1}, {3, 0, 0, kWidth, 1}}; }

Particle trimer(std::uint64_t) {
  return {{3, 0, 0, kWidth, 1}, {-1.5, 2.598, 0, kWidth, 1}, {-1.5, -2.598, 0, kWidth, 1}};
}

// Four-fold symmetric about z.
Particle square(std::uint64_t) {
  return {{2.5, 2.5, 0, kWidth, 1},
          {-2.5, 2.5, 0, kWidth, 1},
          {-2.5, -2.5, 0, kWidth, 1},
          {2.5, -2.5, 0, kWidth, 1}};
}

Particle tetrahedron(std::uint64_t) {
  return {{2, 2, 2, kWidth, 1}, {2, -2, -2, kWidth, 1}, {-2, 2, -2, kWidth, 1}, {-2, -2, 2, kWidth, 1}};
}

// A turn and a half.
Particle helix(std::uint64_t) {
  constexpr int kBeads = 10;
  Particle beads;
  for (int i = 0; i < kBeads; ++i) {
    const portable::SinCos turn = portable::sin_cos_turns(1.5 * i / (kBeads - 1));
    beads.push_back({1.8 * turn.cos, 1.8 * turn.sin, 6.0 * i / (kBeads - 1) - 3, kWidth, 1});
  }
  return beads;
}

// Eight unequal blobs in a ball.
Particle random_blobs(std::uint64_t seed) {
  constexpr std::size_t kBlobs = 8;
  constexpr double kRadius = 3.5;
  CounterRandom random(CounterRandom::key(seed, kRandomParticleStream), 0);
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform(); };
  Particle blobs;
  while (blobs.size() < kBlobs) {
    Gaussian blob;
    blob.x = between(-kRadius, kRadius);
    blob.y = between(-kRadius, kRadius);
    blob.z = between(-kRadius, kRadius);
    if (blob.x * blob.x + blob.y * blob.y + blob.z * blob.z > kRadius * kRadius) continue;
    blob.width = between(0.4, 0.8);
    blob.weight = between(0.5, 1.5);
    blobs.push_back(blob);
  }
  return blobs;
}

Particle no_blobs(std::uint64_t) { return {}; }

constexpr std::array kParticles = {
    std::pair{std::string_view("dimer"), &dimer},   std::pair{std::string_view("trimer"), &trimer},
    std::pair{std::string_view("square"), &square}, std::pair{std::string_view("tetrahedron"), &tetrahedron},
    std::pair{std::string_view("helix"), &helix},   std::pair{std::string_view("random"), &random_blobs},
    std::pair{std::string_view("empty"), &no_blobs}};

}  // namespace

Particle particle_from_name(std::string_view name, std::uint64_t seed) {
  for (const auto& [known, make] : kParticles) {
    if (known == name) return make(seed);
  }
  throw Error(ErrorKind::kUsage, "`particle`", fmt::format("'{}' is not known", name),
              "there are " + known_particles());
}

std::string known_particles() {
  std::string names;
  for (const auto& [name, make] : kParticles) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

Gaussian gaussian_from_text(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  bool whole = false;
  while (!whole) {
    double number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (rest != end && *rest != ',')) break;
    numbers.push_back(number);
    whole = rest == end;
    at = whole ? end : rest + 1;
  }
  if (!whole || numbers.size() < 4 || numbers.size() > 5) {
    throw Error(
        ErrorKind::kUsage, fmt::format("`gaussian` '{}'", text), "it is not 4 or 5 numbers",
        "give x,y,z,width or x,y,z,width,weight, for example 1.5,0,-2,0.6; lengths are in nanometres");
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers.size() == 5 ? numbers[4] : 1};
}

void check(const Particle& particle) {
  const auto refuse = [](const std::string& fault, const std::string& cure) {
    return Error(ErrorKind::kUsage, "`particle`", fault, cure);
  };
  if (particle.empty()) throw refuse("it has no Gaussian", "add one with `gaussian`");
  if (particle.size() > kMostGaussians)
    throw refuse(fmt::format("it has {} Gaussians", particle.size()),
                 fmt::format("give {} at most", kMostGaussians));
  double strength = 0;
  for (const Gaussian& blob : particle) {
    for (const double place : {blob.x, blob.y, blob.z})
      require_within("a Gaussian's place (nanometre)", place, -kLongest, kLongest);
    require_within("a Gaussian's width (nanometre)", blob.width, 0, kLongest);
    require_within("a Gaussian's weight", blob.weight, -1e6, 1e6);
    strength = std::max(strength, std::fabs(blob.weight));
  }
  if (strength == 0) throw refuse("all its weights are 0", "give weights above 0");
}

double extent_of(const Particle& particle) {
  double longest = 0;
  for (const Gaussian& a : particle) {
    for (const Gaussian& b : particle) {
      const double x = a.x - b.x;
      const double y = a.y - b.y;
      const double z = a.z - b.z;
      longest = std::max(longest, std::sqrt(x * x + y * y + z * z));
    }
  }
  return longest;
}

}  // namespace annulus
