#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/tomography/clean_up.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <span>
#include <string>

namespace annulus {
namespace {

// Fills the gaps of one projection of one bin. False if it has no value at all.
bool fill_projection(float* cells, std::size_t positions, std::size_t stride, std::size_t& filled) {
  std::size_t known = positions;  // the last one that was found
  for (std::size_t position = 0; position < positions; ++position) {
    const float value = cells[position * stride];
    if (std::isnan(value)) continue;
    const std::size_t gap = known == positions ? 0 : known + 1;
    for (std::size_t missing = gap; missing < position; ++missing) {
      const float before = known == positions ? value : cells[known * stride];
      const double part = known == positions
                              ? 0
                              : static_cast<double>(missing - known) / static_cast<double>(position - known);
      cells[missing * stride] = static_cast<float>(before + (static_cast<double>(value) - before) * part);
      ++filled;
    }
    known = position;
  }
  if (known == positions) return false;
  for (std::size_t missing = known + 1; missing < positions; ++missing) {
    cells[missing * stride] = cells[known * stride];
    ++filled;
  }
  return true;
}

// Which of the projections of a bin have no value.
std::vector<std::size_t> fill_bin(Sinogram& sinogram, std::size_t bin, std::size_t& filled) {
  std::vector<std::size_t> empty;
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    if (!fill_projection(sinogram.at(angle, 0) + bin, sinogram.positions, sinogram.bins, filled))
      empty.push_back(angle);
  }
  return empty;
}

void clear_bin(Sinogram& sinogram, std::size_t bin) {
  for (std::size_t cell = 0; cell < sinogram.angles * sinogram.positions; ++cell) {
    sinogram.values[cell * sinogram.bins + bin] = 0;
  }
}

// Reorders the values.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// A value less what a cubic through two neighbours on either side would have there.
constexpr double kRoughness[] = {1.0 / 6, -4.0 / 6, 1, -4.0 / 6, 1.0 / 6};
constexpr std::size_t kTaps = std::size(kRoughness);

// Of the share of the roughness around a stripe that the stripe explains: those of samples explain less.
constexpr double kExplained = 0.95;

// Of each position, counted from two before the first on. Where neighbours are missing on one side, 0.
std::vector<double> roughness_of(const std::vector<double>& profile) {
  std::vector<double> rough(profile.size() + kTaps - 1);
  for (std::size_t i = kTaps - 1; i < profile.size(); ++i) {
    for (std::size_t tap = 0; tap < kTaps; ++tap) rough[i] += kRoughness[tap] * profile[i - tap];
  }
  return rough;
}

// That of a stripe of the height 1, from two before it on.
std::vector<double> roughness_of_stripe(std::size_t width) {
  std::vector<double> rough(width + kTaps - 1);
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t tap = 0; tap < kTaps; ++tap) rough[i + tap] += kRoughness[tap];
  }
  return rough;
}

std::vector<double> mean_projection(const Sinogram& sinogram, std::size_t bin) {
  std::vector<double> mean(sinogram.positions);
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    for (std::size_t position = 0; position < sinogram.positions; ++position)
      mean[position] += sinogram.at(angle, position)[bin];
  }
  for (double& value : mean) value /= static_cast<double>(sinogram.angles);
  return mean;
}

struct Stripe {
  std::size_t position = 0, width = 0;
  double height = 0, explained = 0;
};

// The one that explains most of the roughness; its width is 0 if there is none.
Stripe clearest_stripe(const std::vector<double>& profile, const StripeOptions& options) {
  const std::vector<double> rough = roughness_of(profile);
  std::vector<double> usual;
  for (const double value : rough) usual.push_back(std::abs(value));
  const double least =
      options.threshold * 1.4826 * median_of(usual);  // a standard deviation, if errors are normal
  Stripe best;
  for (std::size_t width = 1; width <= std::min(options.width, profile.size()); ++width) {
    const std::vector<double> shape = roughness_of_stripe(width);
    const double squares = std::inner_product(shape.begin(), shape.end(), shape.begin(), 0.0);
    for (std::size_t position = 0; position + width <= profile.size(); ++position) {
      const auto* const here = rough.data() + position;
      const double height = std::inner_product(shape.begin(), shape.end(), here, 0.0) / squares;
      const double explained = height * height * squares;
      const double all = std::inner_product(here, here + shape.size(), here, 0.0);
      if (std::abs(height) > least && explained > kExplained * all && explained > best.explained) {
        best = {position, width, height, explained};
      }
    }
  }
  return best;
}

std::size_t suppress_in_bin(Sinogram& sinogram, std::size_t bin, const StripeOptions& options) {
  std::vector<double> profile = mean_projection(sinogram, bin), heights(profile.size());
  std::size_t found = 0;
  for (; found < profile.size(); ++found) {
    const Stripe stripe = clearest_stripe(profile, options);
    if (stripe.width == 0) break;
    for (std::size_t position = stripe.position; position < stripe.position + stripe.width; ++position) {
      profile[position] -= stripe.height;
      heights[position] += stripe.height;
    }
  }
  for (std::size_t position = 0; position < profile.size(); ++position) {
    if (heights[position] == 0) continue;
    for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
      float& cell = sinogram.at(angle, position)[bin];
      cell = static_cast<float>(cell - heights[position]);
    }
  }
  return found;
}

// Of the positions [begin, end) of a projection, in one bin.
double mean_of(const Sinogram& sinogram, std::size_t angle, std::size_t begin, std::size_t end,
               std::size_t bin) {
  double sum = 0;
  for (std::size_t position = begin; position < end; ++position) sum += sinogram.at(angle, position)[bin];
  return sum / static_cast<double>(end - begin);
}

void subtract_air(Sinogram& sinogram, std::size_t outermost) {
  const std::size_t positions = sinogram.positions;
  // The means are those of the middle of the outermost positions.
  const double left_place = static_cast<double>(outermost - 1) / 2;
  const double distance = static_cast<double>(positions - 1) - 2 * left_place;
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    for (std::size_t bin = 0; bin < sinogram.bins; ++bin) {
      const double left = mean_of(sinogram, angle, 0, outermost, bin);
      const double slope =
          (mean_of(sinogram, angle, positions - outermost, positions, bin) - left) / distance;
      for (std::size_t position = 0; position < positions; ++position) {
        float& cell = sinogram.at(angle, position)[bin];
        cell = static_cast<float>(cell - (left + slope * (static_cast<double>(position) - left_place)));
      }
    }
  }
}

void check_outermost(std::size_t outermost, std::size_t positions) {
  if (outermost > 0 && 2 * outermost < positions) return;
  throw Error(ErrorKind::kUsage, "`air`",
              fmt::format("{} outermost positions on either side, of {}, leave none for a sample or for air",
                          outermost, positions),
              fmt::format("give {} or fewer", (positions - 1) / 2));
}

void scale_by_air(Sinogram& sinogram, std::size_t outermost) {
  const std::vector<double> factors = air_factors(sinogram, outermost);
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    float* const cells = sinogram.at(angle, 0);
    for (std::size_t i = 0; i < sinogram.positions * sinogram.bins; ++i)
      cells[i] = static_cast<float>(cells[i] * factors[angle]);
  }
}

}  // namespace

FilledCells fill_missing(Sinogram& sinogram, unsigned threads) {
  FilledCells result;
  std::mutex mutex;
  parallel_ranges(sinogram.bins, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bin = begin; bin < end; ++bin) {
      std::size_t filled = 0;
      const std::vector<std::size_t> empty = fill_bin(sinogram, bin, filled);
      const bool all = empty.size() == sinogram.angles;
      if (!empty.empty() && !all) {
        throw Error(ErrorKind::kInput, "the sinogram",
                    fmt::format("projection {} has no value in bin {}, others have", empty.front(), bin),
                    "leave this angle out");
      }
      if (all) clear_bin(sinogram, bin);
      const std::lock_guard lock(mutex);
      result.cells += filled;
      if (all) result.empty_bins.push_back(bin);
    }
  });
  std::ranges::sort(result.empty_bins);
  return result;
}

std::vector<double> air_factors(const Sinogram& sinogram, std::size_t outermost,
                                std::span<const double> degrees) {
  check_outermost(outermost, sinogram.positions);
  std::vector<double> factors(sinogram.angles);
  double mean = 0;
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    double& air = factors[angle];
    for (std::size_t bin = 0; bin < sinogram.bins; ++bin) {
      for (std::size_t i = 0; i < outermost; ++i)
        air += static_cast<double>(sinogram.at(angle, i)[bin]) +
               sinogram.at(angle, sinogram.positions - 1 - i)[bin];
    }
    if (!(air > 0)) {
      const std::string projection = degrees.empty()
                                         ? fmt::format("projection {}", angle)
                                         : fmt::format("the projection at {:g} degrees", degrees[angle]);
      throw Error(ErrorKind::kInput, "`air`",
                  fmt::format("the outermost positions of {} hold nothing that could scale it", projection),
                  "normalise by a monitor, or leave this angle out");
    }
    mean += air / static_cast<double>(sinogram.angles);
  }
  for (double& factor : factors) factor = mean / factor;
  return factors;
}

void normalise_by_air(Sinogram& sinogram, AirUse use, std::size_t outermost) {
  check_outermost(outermost, sinogram.positions);
  check_finite(sinogram.view());
  if (use == AirUse::kSubtract) {
    subtract_air(sinogram, outermost);
  } else {
    scale_by_air(sinogram, outermost);
  }
}

std::size_t suppress_stripes(Sinogram& sinogram, const StripeOptions& options) {
  if (options.width == 0)
    throw Error(ErrorKind::kUsage, "`stripe_width`", "a stripe is 1 position wide or more");
  if (!(options.threshold >= 0)) {
    throw Error(ErrorKind::kUsage, "`stripe_threshold`",
                fmt::format("{} is no number of standard errors", options.threshold));
  }
  check_finite(sinogram.view());
  std::atomic<std::size_t> found = 0;
  parallel_ranges(sinogram.bins, options.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bin = begin; bin < end; ++bin) found += suppress_in_bin(sinogram, bin, options);
  });
  return found;
}

}  // namespace annulus
