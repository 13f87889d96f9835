#include <annulus/core/parallel.hpp>

#include <tools/simulate/particle_intensity.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

// portable::sin_cos_turns() without divisions, branches and calls, so that compilers make it work on several
// numbers at once. |turns| < 2^50.
inline portable::SinCos quick_sin_cos(double turns) {
  constexpr double kRounder = 0x1.8p52;  // adding it leaves no place for a fraction
  const double nearest = (turns + kRounder) - kRounder;
  // A quarter of the angle is at most pi / 4; two doublings bring the whole back.
  const double quarter = (turns - nearest) * (portable::kPi / 2);
  const double square = quarter * quarter;
  constexpr std::array<double, 7> kSine = {1 / 6.0,   1 / 20.0,  1 / 42.0, 1 / 72.0,
                                           1 / 110.0, 1 / 156.0, 1 / 210.0};
  constexpr std::array<double, 7> kVersine = {1 / 12.0,  1 / 30.0,  1 / 56.0, 1 / 90.0,
                                              1 / 132.0, 1 / 182.0, 1 / 240.0};
  double sine = 1;
  double versine = 1;  // 1 - cos, which keeps its digits for small angles
  for (std::size_t n = kSine.size(); n-- > 0;) {
    sine = 1 - sine * square * kSine[n];
    versine = 1 - versine * square * kVersine[n];
  }
  sine *= quarter;
  versine *= square * 0.5;
  for (int doubling = 0; doubling < 2; ++doubling) {
    const double cosine = 1 - versine;
    versine = 2 * sine * sine;
    sine = 2 * sine * cosine;
  }
  return {sine, 1 - versine};
}

}  // namespace

Orientation random_orientation(CounterRandom& random) {
  // Marsaglia (1972): two points in the unit disc make one on the sphere in four dimensions.
  const auto in_disc = [&] {
    struct Point {
      double x, y, square;
    };
    while (true) {
      const double x = 2 * random.uniform() - 1;
      const double y = 2 * random.uniform() - 1;
      const double square = x * x + y * y;
      if (square < 1 && square > 0) return Point{x, y, square};
    }
  };
  const auto one = in_disc();
  const auto other = in_disc();
  const double rest = std::sqrt((1 - one.square) / other.square);
  return {one.x, one.y, other.x * rest, other.y * rest};
}

Particle turned(const Particle& particle, const Orientation& o) {
  Particle result = particle;
  for (Gaussian& blob : result) {
    const double x = blob.x;
    const double y = blob.y;
    const double z = blob.z;
    blob.x = (1 - 2 * (o.y * o.y + o.z * o.z)) * x + 2 * (o.x * o.y - o.w * o.z) * y +
             2 * (o.x * o.z + o.w * o.y) * z;
    blob.y = 2 * (o.x * o.y + o.w * o.z) * x + (1 - 2 * (o.x * o.x + o.z * o.z)) * y +
             2 * (o.y * o.z - o.w * o.x) * z;
    blob.z = 2 * (o.x * o.z - o.w * o.y) * x + 2 * (o.y * o.z + o.w * o.x) * y +
             (1 - 2 * (o.x * o.x + o.y * o.y)) * z;
  }
  return result;
}

void ScatteringVectors::resize(std::size_t count) {
  x.resize(count);
  y.resize(count);
  z.resize(count);
}

double ScatteringVectors::length(std::size_t i) const {
  return std::sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i]);
}

ParticleIntensity::ParticleIntensity(Particle particle, ScatteringVectors vectors, unsigned threads)
    : particle_(std::move(particle)), vectors_(std::move(vectors)) {
  std::vector<double> widths;
  for (const Gaussian& blob : particle_) {
    const auto found = std::ranges::find(widths, blob.width);
    of_width_.push_back(static_cast<std::size_t>(found - widths.begin()));
    if (found == widths.end()) widths.push_back(blob.width);
  }
  for (const double width : widths) {
    std::vector<float>& factors = form_factors_.emplace_back(vectors_.size());
    parallel_ranges(vectors_.size(), threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double product = width * vectors_.length(i);
        factors[i] = static_cast<float>(portable::exp(-0.5 * product * product));
      }
    });
  }
}

void ParticleIntensity::add(const Orientation& orientation, std::span<double> intensities) const {
  const Particle blobs = turned(particle_, orientation);
  constexpr std::size_t kBlock = 512;
  std::array<double, kBlock> real;
  std::array<double, kBlock> imaginary;
  for (std::size_t begin = 0; begin < vectors_.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, vectors_.size() - begin);
    const double* const x = vectors_.x.data() + begin;
    const double* const y = vectors_.y.data() + begin;
    const double* const z = vectors_.z.data() + begin;
    real.fill(0);
    imaginary.fill(0);
    for (std::size_t k = 0; k < blobs.size(); ++k) {
      const float* const form = form_factors_[of_width_[k]].data() + begin;
      const double weight = blobs[k].weight;
      constexpr double kTurn = 1 / (2 * portable::kPi);
      const double turn_x = blobs[k].x * kTurn;
      const double turn_y = blobs[k].y * kTurn;
      const double turn_z = blobs[k].z * kTurn;
      for (std::size_t i = 0; i < count; ++i) {
        const portable::SinCos phase = quick_sin_cos(x[i] * turn_x + y[i] * turn_y + z[i] * turn_z);
        const double amplitude = weight * static_cast<double>(form[i]);
        real[i] += amplitude * phase.cos;
        imaginary[i] += amplitude * phase.sin;
      }
    }
    for (std::size_t i = 0; i < count; ++i)
      intensities[begin + i] += real[i] * real[i] + imaginary[i] * imaginary[i];
  }
}

}  // namespace annulus
