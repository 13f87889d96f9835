// The integers of one frame: what all backends must agree on, byte for byte (docs/numerics.md).
// And the pattern that is made of them, in the user's units.
#pragma once

#include <annulus/core/pooled_array.hpp>
#include <annulus/plan/plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

// What is summed over the pixels of a bin. Another quantity is added here, in the backends that make it, and
// in the sinks' tables of names.
enum class Quantity : std::uint8_t {
  kSignal,    // sum of weight * raw over valid pixels
  kVariance,  // sum of squared_weight * max(raw, one count) over valid pixels

  // For the spread of the pixels in a bin (spread_table.hpp): s is a pixel's value less its dark, n its
  // divisor.
  kSquares,   // sum of squared_weight * s * s
  kProducts,  // sum of squared_weight * s * n

  // What this frame's invalid pixels, and those that a clip left out, take from the plan's totals. Absent if
  // every pixel of the plan counts; the dark is also absent where the plan has none.
  kMissingNormalization,
  kMissingDark,
  kMissingCount,
  kMissingSquares,  // sum of squared_weight * n * n

  // Of a clip; absent like those above.
  kClipped,  // how many pixels of the bin it left out
  kEmptied   // 1 where the last step of the clip would have left nothing, and was not done
};
inline constexpr std::size_t kQuantityCount = static_cast<std::size_t>(Quantity::kEmptied) + 1;

// Words of 64 bits that the sum of a bin may take, and of frames of a type: with all of a frame's layers
// (codecs/quantise.hpp).
inline constexpr std::size_t kMostWords = 6;
std::size_t most_words(PixelType type);
std::size_t most_words(PixelType type, Quantity quantity);

// One array of integers per quantity, empty where the frame has none of it.
class Sums {
 public:
  std::uint64_t invalid_pixels = 0;  // pixels with weights in the plan that were not accepted
  int fraction_bits = 0;             // of the frame: signal is in units of 2^-(weight_bits + fraction_bits)

  // Pixels that a clip left out of one of their bins at least, ascending; only if the job lists them.
  std::vector<std::uint32_t> outliers;

  bool has(Quantity quantity) const { return !at(quantity).values.empty(); }

  // Words that make the number of one bin: the sum of word w * 2^(64 w). Words are signed, so the number of
  // a bin that fits 64 bits is its word 0, and the others are 0.
  std::size_t words(Quantity quantity) const { return at(quantity).words; }

  // One word of every bin; nothing if there is no such word.
  std::span<const std::int64_t> word(Quantity quantity, std::size_t number) const {
    const Numbers& numbers = at(quantity);
    if (number >= numbers.words) return {};
    const std::size_t bins = numbers.values.size() / numbers.words;
    return std::span(numbers.values).subspan(number * bins, bins);
  }

  // The number of one bin, rounded once.
  double number(Quantity quantity, std::size_t bin) const {
    const Numbers& numbers = at(quantity);
    return numbers.words == 1 ? static_cast<double>(numbers.values[bin]) : wide_number(numbers, bin);
  }

  // All words, those of number 0 first.
  std::span<const std::int64_t> operator[](Quantity quantity) const { return at(quantity).values; }
  std::span<std::int64_t> operator[](Quantity quantity) { return at(quantity).values; }

  // Each replaces what was there: by zeros, by numbers that the caller has to fill in, by these numbers.
  std::span<std::int64_t> make(Quantity quantity, std::size_t bins, std::size_t words = 1) {
    return set(quantity, PooledArray<std::int64_t>(bins * words, 0), words);
  }
  std::span<std::int64_t> reserve(Quantity quantity, std::size_t bins) {
    return set(quantity, PooledArray<std::int64_t>(bins));
  }
  std::span<std::int64_t> set(Quantity quantity, PooledArray<std::int64_t> values, std::size_t words = 1) {
    at(quantity) = {std::move(values), words};
    return at(quantity).values;
  }

  void drop(Quantity quantity) { at(quantity) = {}; }

  bool operator==(const Sums&) const = default;

 private:
  struct Numbers {
    PooledArray<std::int64_t> values;
    std::size_t words = 1;
    bool operator==(const Numbers&) const = default;
  };
  static double wide_number(const Numbers& numbers, std::size_t bin);
  Numbers& at(Quantity quantity) { return numbers_[static_cast<std::size_t>(quantity)]; }
  const Numbers& at(Quantity quantity) const { return numbers_[static_cast<std::size_t>(quantity)]; }

  std::array<Numbers, kQuantityCount> numbers_;
};

// All quantities that there are, to go through.
constexpr std::array<Quantity, kQuantityCount> all_quantities() {
  std::array<Quantity, kQuantityCount> all{};
  for (std::size_t i = 0; i < kQuantityCount; ++i) all[i] = static_cast<Quantity>(i);
  return all;
}

// A quantity of which frames have nothing if every pixel counts.
constexpr bool is_missing(Quantity quantity) { return quantity >= Quantity::kMissingNormalization; }

// The sums of a frame from those of its layers, which differ in their fraction_bits. The first layer has the
// missing sums. Exact.
Sums combine_layers(std::vector<Sums> layers);

// Makes the missing sums from the plan's pixels that were invalid in a frame, in any order. Backends that can
// only list those pixels share this.
void subtract_invalid(const Plan& plan, const std::vector<std::uint32_t>& invalid_pixels, Sums& sums);

struct Recipe;

struct Pattern {
  PooledArray<double> intensity;   // NaN where no pixel contributes
  PooledArray<double> error;       // standard error of the mean; empty without error model
  PooledArray<double> deviation;   // standard deviation of a pixel; empty unless the recipe has_deviation()
  PooledArray<double> spottiness;  // empty unless the recipe has it
};

// (S - D) / (N * factor) and sqrt(V) / (N * factor), once, in double: the only floating point of the way. The
// factor is the frame's: what a monitor counted, for example.
Pattern normalise(const Plan& plan, const Recipe& recipe, const Sums& sums, double factor = 1);

// Of sums of pixels, with errors if there are variances.
Pattern normalise(const Plan& plan, const Sums& sums, double factor = 1);

}  // namespace annulus
