#include <fmt/core.h>
#include <tools/plot/canvas.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace annulus {
namespace {

std::string superscript(int number) {
  constexpr std::array<const char*, 10> kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result = number < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(number)))
    result += kDigits[static_cast<std::size_t>(digit - '0')];
  return result;
}

// Whole numbers and short decimals as they are, the rest with a power of ten; digits only as the step asks.
std::string label_of(double value, double step) {
  if (value == 0) return "0";
  const int step_power = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  if (power < 5 && step_power > -4) return fmt::format("{:.{}f}", value, std::max(0, -step_power));
  const std::string digits =
      fmt::format("{:.{}f}", value / std::pow(10.0, power), std::max(0, power - step_power));
  return fmt::format("{}×10{}", digits, superscript(power));
}

std::string decade_label(int power) {
  if (power >= -2 && power <= 3) return fmt::format("{:.{}f}", std::pow(10.0, power), std::max(0, -power));
  return "10" + superscript(power);
}

std::ptrdiff_t labels_in(const std::vector<Tick>& ticks) {
  return std::ranges::count_if(ticks, [](const Tick& tick) { return !tick.label.empty(); });
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  std::vector<Tick> ticks;
  const double rough = (high - low) / std::max(wanted, 1);
  if (!(rough > 0) || !std::isfinite(rough)) return ticks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  int parts = 5;
  for (const auto& [factor, minor] : {std::pair{1, 5}, std::pair{2, 4}, std::pair{5, 5}}) {
    if (factor * power < rough * 0.7) continue;
    step = factor * power;
    parts = minor;
    break;
  }
  const double small = step / parts;
  if (!(small > 0) || (high - low) / small > 1000) return ticks;
  const double first = std::ceil(low / small - 1e-6);
  const auto count = static_cast<int>(std::floor(high / small + 1e-6) - first);
  // Far from zero the numbers of the ticks are no longer whole in double precision; such axes have none.
  if (std::abs(first) + count > 1e9) return ticks;
  for (int i = 0; i <= count; ++i) {
    const double number = first + i;
    const bool major = std::fmod(std::abs(number), parts) == 0;
    ticks.push_back({number * small, major ? label_of(number * small, step) : ""});
  }
  return ticks;
}

std::vector<Tick> degree_ticks(double low, double high, int wanted) {
  struct Steps {
    int label;
    int minor;
  };
  const double rough = (high - low) / std::max(wanted, 1);
  if (rough < 3 || high - low > 720) return linear_ticks(low, high, wanted);
  for (const Steps steps : {Steps{5, 1}, Steps{10, 5}, Steps{15, 5}, Steps{30, 10}, Steps{45, 15},
                            Steps{60, 20}, Steps{90, 30}, Steps{180, 60}}) {
    if (steps.label < rough * 0.8 && steps.label < 180) continue;
    std::vector<Tick> ticks;
    const int first = static_cast<int>(std::ceil(low / steps.minor - 1e-3));
    const int last = static_cast<int>(std::floor(high / steps.minor + 1e-3));
    for (int i = first; i <= last; ++i) {
      const int angle = i * steps.minor;
      ticks.push_back({static_cast<double>(angle), angle % steps.label == 0 ? std::to_string(angle) : ""});
    }
    return ticks;
  }
  return {};
}

std::vector<Tick> decade_ticks(double low, double high) {
  std::vector<Tick> ticks;
  if (!(high > low) || high - low > 700) return ticks;
  const int step = std::max(1, static_cast<int>(std::ceil((high - low) / 8)));
  const bool few = std::floor(high + 1e-9) - std::ceil(low - 1e-9) < 2;
  for (int power = static_cast<int>(std::floor(low)); power <= std::ceil(high); ++power) {
    for (int factor = 1; factor < 10; ++factor) {
      const double at = power + std::log10(factor);
      if (at < low - 1e-9 || at > high + 1e-9) continue;
      std::string label;
      if (factor == 1 && power % step == 0) label = decade_label(power);
      if (few && (factor == 2 || factor == 5))
        label = label_of(factor * std::pow(10.0, power), std::pow(10.0, power));
      if (factor != 1 && step > 1) continue;
      ticks.push_back({at, label});
    }
  }
  return ticks;
}

// Fewer than three of 1, 2, 5, 10, 20... are on less than a decade only. There equal steps do not crowd: the
// uppermost two labels are still about a fifth of (high - low) / wanted apart.
std::vector<Tick> log_ticks(double low, double high, int wanted) {
  std::vector<Tick> decades = decade_ticks(low, high);
  if (labels_in(decades) >= 3) return decades;
  std::vector<Tick> steps = linear_ticks(std::pow(10.0, low), std::pow(10.0, high), wanted + 1);
  if (labels_in(steps) <= labels_in(decades)) return decades;
  for (Tick& tick : steps) tick.at = std::log10(tick.at);
  return steps;
}

}  // namespace annulus
