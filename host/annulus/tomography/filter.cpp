#include <annulus/tomography/filter.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace annulus {
namespace {

constexpr std::pair<Filter, std::string_view> kFilterNames[] = {
    {Filter::kRamp, "ramp"},     {Filter::kSheppLogan, "shepp-logan"},
    {Filter::kCosine, "cosine"}, {Filter::kHann, "hann"},
    {Filter::kNone, "none"},
};

constexpr std::size_t kLeastLength = 64;

double ramp_tap(std::size_t distance) {
  if (distance == 0) return 0.5;
  if (distance % 2 == 0) return 0;
  const double step = std::numbers::pi * static_cast<double>(distance);
  return -2 / (step * step);
}

std::vector<double> ramp_spectrum(std::size_t length) {
  const std::vector<double> cosine = cosine_table(length);
  std::vector<double> spectrum(length / 2 + 1);
  for (std::size_t j = 0; j < spectrum.size(); ++j) {
    double sum = 0;  // small terms first
    for (std::size_t d = length / 2; d-- > 1;) {
      if (d % 2 == 1) sum += ramp_tap(d) * cosine[j * d % length];
    }
    spectrum[j] = ramp_tap(0) + 2 * sum;
  }
  return spectrum;
}

// hanning(length) counts from the lowest frequency and has its maximum between two of them.
double hann_window(std::size_t j, std::size_t length) {
  const auto value = [&](std::size_t place) {
    const long double turn = 2 * std::numbers::pi_v<long double> * static_cast<long double>(place);
    return static_cast<double>(0.5L - 0.5L * std::cos(turn / static_cast<long double>(length - 1)));
  };
  if (j == length / 2) return value(0);
  return (value(length / 2 + j) + value(length / 2 - j)) / 2;
}

double window(Filter filter, std::size_t j, std::size_t length) {
  const long double turn =
      std::numbers::pi_v<long double> * static_cast<long double>(j) / static_cast<long double>(length);
  switch (filter) {
    case Filter::kSheppLogan:
      return j == 0 ? 1 : static_cast<double>(std::sin(turn) / turn);
    case Filter::kCosine:
      return j == length / 2 ? 0 : static_cast<double>(std::cos(turn));
    case Filter::kHann:
      return hann_window(j, length);
    case Filter::kRamp:
    case Filter::kNone:
      break;
  }
  return 1;
}

}  // namespace

std::string_view name_of(Filter filter) {
  for (const auto& [known, name] : kFilterNames) {
    if (known == filter) return name;
  }
  return "";
}

std::optional<Filter> filter_from_name(std::string_view name) {
  for (const auto& [filter, known] : kFilterNames) {
    if (known == name) return filter;
  }
  return std::nullopt;
}

std::size_t filter_length(std::size_t positions, std::size_t reach) {
  const auto diagonal =
      static_cast<std::size_t>(std::ceil(std::numbers::sqrt2 * static_cast<double>(positions)));
  return std::max(kLeastLength, std::bit_ceil(2 * std::max(diagonal, reach + 1)));
}

std::size_t band_length(std::size_t reach) { return smooth_size(std::max(kLeastLength, 2 * (reach + 1))); }

std::size_t smooth_size(std::size_t least) {
  for (std::size_t size = least + least % 2;; size += 2) {
    std::size_t rest = size;
    for (const std::size_t factor : {2U, 3U, 5U}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return size;
  }
}

std::vector<double> cosine_table(std::size_t length) {
  std::vector<double> table(length);
  for (std::size_t i = 0; i < length; ++i) {
    const long double turn = 2 * std::numbers::pi_v<long double> * static_cast<long double>(i);
    table[i] = static_cast<double>(std::cos(turn / static_cast<long double>(length)));
  }
  return table;
}

std::vector<double> filter_spectrum(Filter filter, std::size_t length) {
  if (filter == Filter::kNone) return std::vector<double>(length / 2 + 1, 1.0);
  std::vector<double> spectrum = ramp_spectrum(length);
  for (std::size_t j = 0; j < spectrum.size(); ++j) spectrum[j] *= window(filter, j, length);
  return spectrum;
}

std::vector<double> filter_taps(Filter filter, std::size_t length, std::size_t reach) {
  std::vector<double> taps(reach + 1);
  if (filter == Filter::kNone) {
    taps[0] = 1;
    return taps;
  }
  if (filter == Filter::kRamp) {
    for (std::size_t d = 0; d <= reach; ++d) taps[d] = ramp_tap(d);
    return taps;
  }
  const std::vector<double> spectrum = filter_spectrum(filter, length), cosine = cosine_table(length);
  for (std::size_t d = 0; d <= reach; ++d) {
    double sum = (spectrum.front() + spectrum.back() * (d % 2 == 0 ? 1 : -1)) / 2;
    for (std::size_t j = 1; j < length / 2; ++j) sum += spectrum[j] * cosine[j * d % length];
    taps[d] = 2 * sum / static_cast<double>(length);
  }
  return taps;
}

}  // namespace annulus
