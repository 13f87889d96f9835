#include <annulus/tomography/angle_weights.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace annulus {
namespace {

constexpr double kHalfTurn = std::numbers::pi;
constexpr double kSameDirection = 1e-6;
constexpr double kWedgeBySteps = 10;
constexpr double kWedgeAtLeast = 5 * kHalfTurn / 180;
constexpr std::size_t kMostWedges = 3;  // of a scan that is not finished, and has lost blocks

// Angles of one direction.
struct Direction {
  double angle;  // of the first one, in [0, pi)
  std::vector<std::size_t> members;
};

double folded(double angle) {
  const double rest = std::fmod(angle, kHalfTurn);
  const double positive = rest < 0 ? rest + kHalfTurn : rest;
  return positive >= kHalfTurn ? 0 : positive;
}

std::vector<Direction> directions_of(std::span<const double> angles) {
  std::vector<double> rest(angles.size());
  std::ranges::transform(angles, rest.begin(), folded);
  std::vector<std::size_t> order(angles.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rest[i]; });
  std::vector<Direction> directions;
  for (const std::size_t i : order) {
    if (directions.empty() || rest[i] - directions.back().angle > kSameDirection) {
      directions.push_back({rest[i], {}});
    }
    directions.back().members.push_back(i);
  }
  // The last may be the first from behind: 179.9999999 and 0 degrees.
  if (directions.size() > 1 &&
      directions.front().angle + kHalfTurn - directions.back().angle <= kSameDirection) {
    auto& first = directions.front().members;
    first.insert(first.end(), directions.back().members.begin(), directions.back().members.end());
    directions.pop_back();
  }
  return directions;
}

// From each direction to the next, the last one's round to the first.
std::vector<double> gaps_of(const std::vector<Direction>& directions) {
  std::vector<double> gaps(directions.size());
  for (std::size_t i = 0; i + 1 < directions.size(); ++i)
    gaps[i] = directions[i + 1].angle - directions[i].angle;
  gaps.back() = directions.front().angle + kHalfTurn - directions.back().angle;
  return gaps;
}

// In what steps most of the half turn was measured: at least half of it in such steps or smaller ones. The
// longest gaps do not count. By length, not by number: near opposite directions of a full turn, and where
// a part was scanned more densely, tiny gaps are the more numerous.
double typical_step(std::vector<double> gaps) {
  std::ranges::sort(gaps);
  gaps.resize(gaps.size() - std::min(kMostWedges, gaps.size() - 1));
  const double half = std::accumulate(gaps.begin(), gaps.end(), 0.0) / 2;
  double sum = 0;
  for (const double gap : gaps) {
    sum += gap;
    if (sum >= half) return gap;
  }
  return gaps.back();
}

// Whether all gaps that begin less than `reach` from the ends of one are smaller than that.
bool has_smaller_beside(const std::vector<double>& gaps, std::size_t gap, double reach) {
  for (const std::size_t next : {std::size_t{1}, gaps.size() - 1}) {
    double distance = 0;
    for (std::size_t i = (gap + next) % gaps.size(); i != gap && distance < reach;
         i = (i + next) % gaps.size()) {
      if (gaps[i] >= reach) return false;
      distance += gaps[i];
    }
  }
  return true;
}

// The gaps that were not measured.
std::vector<bool> find_wedges(const std::vector<double>& gaps) {
  const double least = std::max(kWedgeBySteps * typical_step(gaps), kWedgeAtLeast);
  std::vector<bool> wedges(gaps.size());
  for (std::size_t i = 0; i < gaps.size(); ++i)
    wedges[i] = gaps[i] > least && has_smaller_beside(gaps, i, gaps[i] / kWedgeBySteps);
  return wedges;
}

}  // namespace

std::size_t count_directions(std::span<const double> angles) { return directions_of(angles).size(); }

AngleWeights weigh_angles(std::span<const double> angles, AngleWeighting weighting) {
  if (weighting == AngleWeighting::kEqual) {
    return {std::vector<double>(angles.size(), kHalfTurn / static_cast<double>(angles.size())), kHalfTurn};
  }
  const std::vector<Direction> directions = directions_of(angles);
  const std::vector<double> gaps = gaps_of(directions);
  const std::vector<bool> wedges = find_wedges(gaps);
  AngleWeights result{std::vector<double>(angles.size()), 0};
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const std::size_t last = (i + gaps.size() - 1) % gaps.size();
    // Never both: beside a wedge are smaller gaps.
    const double before = gaps[wedges[last] ? i : last], after = gaps[wedges[i] ? last : i];
    const double weight = (before + after) / 2;
    for (const std::size_t angle : directions[i].members) {
      result.weights[angle] = weight / static_cast<double>(directions[i].members.size());
    }
    result.covered += weight;
  }
  return result;
}

std::vector<double> weigh_positions(std::size_t positions, double axis) {
  const double before = axis, after = static_cast<double>(positions - 1) - axis;
  const double both = std::min(before, after), one_sided = std::abs(after - before);
  const double transition = std::min(both, one_sided), towards = after > before ? 1 : -1;
  std::vector<double> weights(positions);
  for (std::size_t i = 0; i < positions; ++i) {
    const double distance = (static_cast<double>(i) - axis) * towards;
    const double into = std::abs(distance) - (both - transition);
    const double part = transition > 0 ? std::clamp(into / transition, 0.0, 1.0) : (into > 0 ? 1.0 : 0.0);
    // In long double, as all of our cosines: those of the C library differ between processors.
    const auto smooth = static_cast<double>(
        (1 - std::cos(static_cast<long double>(part) * std::numbers::pi_v<long double>)) / 2);
    weights[i] = 1 + (distance < 0 ? -smooth : smooth);
  }
  return weights;
}

}  // namespace annulus
