#include <annulus/core/error.hpp>
#include <annulus/scan/scan_axis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace annulus {
namespace {

constexpr double kJump = 10;         // from noise to steps
constexpr double kLeastStep = 0.25;  // of the mean distance
constexpr double kRounding = 1e-12;  // of the largest value: what two ways of writing a number differ by
constexpr std::size_t kMostPositions = std::size_t{1} << 24;

// Of a step: a value at the end of an interval is in the next, however it was rounded.
constexpr double kEdge = 1e-9;

// A frame and its value, within one period.
struct Visit {
  double value;
  std::uint32_t frame;
};

double rounding_of(std::span<const double> sorted) {
  return kRounding * std::max(std::abs(sorted.front()), std::abs(sorted.back()));
}

Error axis_error(const ColumnInfo& column, const std::string& what, const std::string& cure) {
  return Error(ErrorKind::kInput, "column " + column.name, what, cure);
}

void check_rule(const ColumnInfo& column, const AxisRule& rule) {
  const auto refuse_rule = [&](const char* what) {
    throw Error(ErrorKind::kUsage, "column " + column.name, what, "give a positive number");
  };
  const auto is_positive = [](double number) { return std::isfinite(number) && number > 0; };
  if (rule.tolerance && !(std::isfinite(*rule.tolerance) && *rule.tolerance >= 0))
    refuse_rule("its tolerance is no distance");
  if (rule.step && !is_positive(*rule.step)) refuse_rule("its step is no width");
  if (rule.period && !is_positive(*rule.period)) refuse_rule("its period is no angle");
  if (rule.step && rule.tolerance) {
    throw Error(ErrorKind::kUsage, "column " + column.name, "a step and a tolerance exclude each other",
                "give one of them");
  }
}

std::vector<Visit> sorted_visits(std::span<const double> values, const AxisRule& rule) {
  std::vector<Visit> visits;
  visits.reserve(values.size());
  for (std::size_t frame = 0; frame < values.size(); ++frame) {
    double value = values[frame];
    if (!std::isfinite(value)) continue;
    if (rule.period) {
      value -= *rule.period * std::floor(value / *rule.period);
      if (value >= *rule.period) value = 0;  // a tiny negative angle rounds up to the whole
    }
    visits.push_back({value, static_cast<std::uint32_t>(frame)});
  }
  // Equal values in the order of the frames, so that the sums below do not depend on the sorting.
  std::ranges::sort(visits, [](const Visit& a, const Visit& b) {
    return a.value < b.value || (a.value == b.value && a.frame < b.frame);
  });
  return visits;
}

// Where each group of neighbours begins, and the end of the last.
std::vector<std::size_t> group_by_tolerance(const std::vector<Visit>& visits, double tolerance) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < visits.size(); ++i) {
    if (visits[i].value - visits[i - 1].value > tolerance) begins.push_back(i);
  }
  begins.push_back(visits.size());
  return begins;
}

// Intervals of one width.
class Intervals {
 public:
  Intervals(const std::vector<Visit>& visits, double step) : step_(step), origin_(visits.front().value) {
    // Where values are within a step, as directions on a circle: their mean is long where they crowd. In long
    // double, as all of our cosines: those of the C library differ between processors.
    long double x = 0, y = 0;
    for (const Visit& visit : visits) {
      const long double phase =
          std::remainder((visit.value - origin_) / step, 1.0) * 2 * std::numbers::pi_v<long double>;
      x += std::cos(phase);
      y += std::sin(phase);
    }
    if (std::hypot(x, y) < kCrowd * static_cast<long double>(visits.size())) return;
    const auto place =
        static_cast<double>(std::atan2(y, x) / (2 * std::numbers::pi_v<long double>));  // -1/2 to 1/2
    origin_ += (place - 0.5) * step;
  }
  double of(double value) const { return std::floor((value - origin_) / step_ + kEdge); }

  // Whether the last values go on as the first where a period ends.
  bool meet(const std::vector<Visit>& visits, double period) const {
    const double number = std::round(period / step_);
    return std::abs(period - number * step_) <= kEdge * period &&
           of(visits.back().value) == of(visits.front().value) + number;
  }

 private:
  static constexpr double kCrowd = 0.15;
  double step_, origin_;
};

std::vector<std::size_t> group_by_step(const std::vector<Visit>& visits, const Intervals& intervals) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < visits.size(); ++i) {
    if (intervals.of(visits[i].value) != intervals.of(visits[i - 1].value)) begins.push_back(i);
  }
  begins.push_back(visits.size());
  return begins;
}

// One value far away, of a parking position for example, makes all steps look like noise: nearly all frames
// are at one position then, although their values differ.
void check_groups(const ColumnInfo& column, const std::vector<Visit>& visits,
                  const std::vector<std::size_t>& begins, double rounding) {
  constexpr double kNearlyAll = 0.9;
  constexpr int kSteps = 3;
  if (begins.size() <= 2) return;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const auto group = std::span(visits).subspan(begins[i], begins[i + 1] - begins[i]);
    if (static_cast<double>(group.size()) < kNearlyAll * static_cast<double>(visits.size())) continue;
    int steps = 0;
    for (std::size_t j = 1; j < group.size(); ++j) steps += group[j].value - group[j - 1].value > rounding;
    if (steps < kSteps) continue;
    const double other = begins[i] > 0 ? visits.front().value : visits.back().value;
    throw axis_error(column,
                     fmt::format("{} of its {} values, from {} to {}, count as one position beside {}",
                                 group.size(), visits.size(), group.front().value, group.back().value, other),
                     "give a tolerance below the step, or take out values that are far from the scan");
  }
}

}  // namespace

double ScanAxis::least_step() const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < positions.size(); ++i) least = std::min(least, positions[i] - positions[i - 1]);
  return least;
}

double find_tolerance(std::span<const double> sorted) {
  if (sorted.size() < 2) return 0;
  const double range = sorted.back() - sorted.front();
  const double rounding = rounding_of(sorted);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > rounding) gaps.push_back(sorted[i] - sorted[i - 1]);
  }
  std::ranges::sort(gaps);
  const double least_step = kLeastStep * range / static_cast<double>(gaps.size());
  double largest_jump = kJump, tolerance = rounding;
  for (std::size_t i = 1; i < gaps.size(); ++i) {
    if (gaps[i] < least_step || gaps[i] < largest_jump * gaps[i - 1]) continue;
    largest_jump = gaps[i] / gaps[i - 1];
    tolerance = std::sqrt(gaps[i] * gaps[i - 1]);
  }
  return tolerance;
}

ScanAxis find_axis(const ColumnInfo& column, std::span<const double> values, const AxisRule& rule) {
  check_rule(column, rule);
  if (values.empty()) throw axis_error(column, "there are no frames", "reduce some first");
  if (values.size() >= ScanAxis::kNowhere) throw axis_error(column, "there are too many frames", "use fewer");
  std::vector<Visit> visits = sorted_visits(values, rule);
  if (visits.empty()) {
    throw axis_error(column, fmt::format("none of its {} values is a number", values.size()),
                     "choose a column that was recorded");
  }
  std::vector<double> sorted(visits.size());
  std::ranges::transform(visits, sorted.begin(), &Visit::value);
  ScanAxis axis;
  axis.column = column;
  axis.tolerance = rule.step.value_or(rule.tolerance.value_or(find_tolerance(sorted)));
  std::optional<Intervals> intervals;
  if (rule.step) intervals.emplace(visits, *rule.step);
  std::vector<std::size_t> begins =
      intervals ? group_by_step(visits, *intervals) : group_by_tolerance(visits, axis.tolerance);

  // Across the end of a period the last positions go on as the first.
  if (rule.period && begins.size() > 2 &&
      (intervals ? intervals->meet(visits, *rule.period)
                 : visits.front().value + *rule.period - visits.back().value <= axis.tolerance)) {
    const std::size_t last = begins[begins.size() - 2];
    for (std::size_t i = last; i < visits.size(); ++i) visits[i].value -= *rule.period;
    std::ranges::rotate(visits, visits.begin() + static_cast<std::ptrdiff_t>(last));
    const std::size_t moved = visits.size() - last;
    begins.pop_back();
    begins.pop_back();
    for (std::size_t& begin : begins) begin += begin == 0 ? 0 : moved;
    begins.push_back(visits.size());
  }
  if (!rule.step && !rule.tolerance) check_groups(column, visits, begins, rounding_of(sorted));
  const std::size_t positions = begins.size() - 1;
  if (positions < 2) {
    throw axis_error(
        column,
        sorted.front() == sorted.back()
            ? fmt::format("it never moves: all of its {} values are {}", visits.size(), sorted[0])
            : fmt::format("it has one position only: its values from {} to {} are closer together "
                          "than {}",
                          sorted.front(), sorted.back(), axis.tolerance),
        "choose a column that moves during the scan, or another tolerance");
  }
  if (positions > kMostPositions) {
    throw axis_error(column, fmt::format("it has {} positions", positions),
                     "give a tolerance, or the step of a motor that was moving");
  }
  axis.position_of.assign(values.size(), ScanAxis::kNowhere);
  for (std::size_t i = 0; i < positions; ++i) {
    // As distances from the first, so that large values lose no digits.
    const double origin = visits[begins[i]].value;
    double sum = 0;
    for (std::size_t j = begins[i]; j < begins[i + 1]; ++j) {
      sum += visits[j].value - origin;
      axis.position_of[visits[j].frame] = static_cast<std::uint32_t>(i);
    }
    axis.positions.push_back(origin + sum / static_cast<double>(begins[i + 1] - begins[i]));
  }
  return axis;
}

}  // namespace annulus
