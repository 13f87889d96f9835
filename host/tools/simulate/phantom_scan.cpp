#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/phantom_scan.hpp>
#include <tools/simulate/poisson.hpp>

#include <cmath>

namespace annulus {
namespace {

constexpr std::uint64_t kPointStream = ~std::uint64_t{0} - 1;  // beside the frames' numbers
constexpr double kMostPoints = 1e7;

// Written so that NaN fails.
void demand(const char* option, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorKind::kUsage, option, fmt::format("{} is not between {} and {}", value, low, high),
              "choose a value in that range");
}

void check(const PhantomOptions& options) {
  demand("`voxels`", options.voxels, 1, 2048);
  demand("`voxel_size` (mm)", options.voxel_size, 1e-6, 100);
  if (options.positions) demand("`positions`", *options.positions, 1, 1e5);
  if (options.step) demand("`step` (mm)", *options.step, 1e-9, 1e4);
  demand("`angles`", options.angles, 1, 1e6);
  demand("`angle_range` (degree)", options.angle_range, 1e-3, 360);
  demand("`jitter`", options.jitter, 0, 0.5);
  demand("`missing`", options.missing, 0, 1);
  demand("`axis_offset` (mm)", options.axis_offset, -1e4, 1e4);
}

}  // namespace

Phantom phantom_of(const PhantomOptions& options, std::uint64_t seed) {
  check(options);
  std::vector<Disc> discs = discs_of_phantom(options.name, seed);
  discs.insert(discs.end(), options.discs.begin(), options.discs.end());
  return {discs, options.voxels * options.voxel_size};
}

std::vector<ScanPoint> scan_points(const PhantomOptions& options, std::uint64_t seed) {
  check(options);
  const std::uint64_t positions = options.positions.value_or(options.voxels);
  const double step = options.step.value_or(options.voxel_size);
  const std::uint64_t all = positions * options.angles;
  if (static_cast<double>(all) > kMostPoints) {
    throw Error(ErrorKind::kUsage, "`positions`, `angles`", fmt::format("they make {} frames", all),
                fmt::format("make at most {:.0f}", kMostPoints));
  }
  std::vector<ScanPoint> points;
  points.reserve(all);
  for (std::uint64_t i = 0; i < all; ++i) {
    const std::uint64_t line = i / positions;
    const std::uint64_t place = i % positions;
    const std::uint64_t position = options.zigzag && line % 2 == 1 ? positions - 1 - place : place;
    CounterRandom random(CounterRandom::key(seed, kPointStream), i);
    const double off = options.jitter * (2 * random.uniform() - 1);
    if (random.uniform() < options.missing) continue;
    ScanPoint point;
    point.translation = (static_cast<double>(position) - static_cast<double>(positions - 1) / 2 + off) * step;
    point.angle = static_cast<double>(line) * options.angle_range / options.angles;
    point.time = static_cast<double>(i) * kFrameSeconds;
    points.push_back(point);
  }
  if (points.empty()) {
    throw Error(ErrorKind::kUsage, "`missing`", fmt::format("with {} no frame is left", options.missing),
                "give a smaller share");
  }
  return points;
}

}  // namespace annulus
