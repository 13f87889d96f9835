#include <annulus/plan/sums.hpp>
#include <annulus/plan/wide_sum.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace annulus {
namespace {

using WordSum = WideSum<kMostWords>;
constexpr int kWordBits = WordSum::kWordBits;

void combine(const std::vector<Sums>& layers, int unit, std::size_t words, Quantity quantity, Sums& total) {
  const std::size_t bins = layers.front()[quantity].size();
  const auto target = total.make(quantity, bins, words);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    WordSum sum;
    for (const Sums& layer : layers) sum.add(layer[quantity][bin], unit - layer.fraction_bits);
    if (sum.signed_words(words, &target[bin], bins) != 0)
      throw std::logic_error("a sum of layers left its words");
  }
}

}  // namespace

double Sums::wide_number(const Numbers& numbers, std::size_t bin) {
  const std::size_t bins = numbers.values.size() / numbers.words;
  WordSum sum;
  for (std::size_t word = 0; word < numbers.words; ++word)
    sum.add(numbers.values[word * bins + bin], static_cast<int>(word) * kWordBits);
  return sum.rounded();
}

std::size_t most_words(PixelType type) {
  if (is_float(type)) return kMostWords;
  return type == PixelType::kI64 || type == PixelType::kU64 ? 2 : 1;
}

std::size_t most_words(PixelType type, Quantity quantity) {
  switch (quantity) {
    case Quantity::kSquares:
    case Quantity::kProducts:
      return std::max<std::size_t>(2, most_words(type));
    case Quantity::kMissingSquares:
      return 2;
    default:
      return is_missing(quantity) ? 1 : most_words(type);
  }
}

Sums combine_layers(std::vector<Sums> layers) {
  if (layers.size() == 1) return std::move(layers.front());
  int unit = layers.front().fraction_bits;
  int coarsest = unit;
  for (const Sums& layer : layers) {
    unit = std::max(unit, layer.fraction_bits);
    coarsest = std::min(coarsest, layer.fraction_bits);
  }
  // A layer's sums have a word, so the highest leaves the words below it that its shift skips.
  const auto words = static_cast<std::size_t>((unit - coarsest + 2 * kWordBits - 1) / kWordBits);
  if (words > kMostWords) throw std::logic_error("the layers of a frame are too far apart");
  Sums total;
  total.fraction_bits = unit;
  total.invalid_pixels = layers.front().invalid_pixels;
  for (const Quantity quantity : all_quantities()) {
    const Sums& first = layers.front();
    if (!first.has(quantity)) continue;
    if (is_missing(quantity)) {
      total.set(quantity, PooledArray<std::int64_t>(first[quantity]));
    } else {
      combine(layers, unit, words, quantity, total);
    }
  }
  return total;
}

void subtract_invalid(const Plan& plan, const std::vector<std::uint32_t>& invalid_pixels, Sums& sums) {
  sums.invalid_pixels = invalid_pixels.size();
  if (invalid_pixels.empty()) return;
  const auto normalization = sums.make(Quantity::kMissingNormalization, plan.bins());
  const auto count = sums.make(Quantity::kMissingCount, plan.bins());
  const auto dark = sums.make(Quantity::kMissingDark, plan.dark.empty() ? 0 : plan.bins());
  for (const std::uint32_t pixel : invalid_pixels) {
    for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t bin = plan.matrix.bin[entry];
      const std::int64_t weight = plan.matrix.weight[entry];
      normalization[bin] += weight * plan.normalization[pixel];
      count[bin] += weight;
      if (!dark.empty()) dark[bin] += weight * plan.dark[pixel];
    }
  }
}

}  // namespace annulus
