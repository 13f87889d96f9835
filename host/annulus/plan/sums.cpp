#include <annulus/plan/sums.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace annulus {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr int kWordBits = 64;

// Sums to be made into words, the least significant first; one more than a number may have.
using Parts = std::array<Wide, kMostWords + 1>;

void add_shifted(Parts& parts, std::int64_t value, int shift) {
  const auto word = static_cast<std::size_t>(shift / kWordBits);
  const Wide product = Wide{value} * (Wide{1} << (shift % kWordBits));
  parts[word] += static_cast<std::uint64_t>(product);
  parts[word + 1] += static_cast<std::int64_t>(product >> kWordBits);
}

// The signed words, which the number has in only one way. What remains beyond them.
Wide carry_over(Parts& parts, std::size_t words) {
  Wide carry = 0;
  for (std::size_t word = 0; word < words; ++word) {
    const Wide sum = parts[word] + carry;
    parts[word] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum));
    carry = (sum - parts[word]) >> kWordBits;
  }
  return parts[words] + carry;
}

void combine(const std::vector<Sums>& layers, int unit, std::size_t words, Quantity quantity, Sums& total) {
  const std::size_t bins = layers.front()[quantity].size();
  const auto target = total.make(quantity, bins, words);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    Parts parts{};
    for (const Sums& layer : layers) add_shifted(parts, layer[quantity][bin], unit - layer.fraction_bits);
    if (carry_over(parts, words) != 0) throw std::logic_error("a sum of layers left its words");
    for (std::size_t word = 0; word < words; ++word) {
      target[word * bins + bin] = static_cast<std::int64_t>(parts[word]);
    }
  }
}

}  // namespace

double Sums::wide_number(const Numbers& numbers, std::size_t bin) {
  const std::size_t bins = numbers.values.size() / numbers.words;
  // In two's complement, and then without sign.
  std::array<std::uint64_t, kMostWords> memory{};
  const auto words = std::span(memory).first(numbers.words);
  Wide carry = 0;
  for (std::size_t word = 0; word < words.size(); ++word) {
    const Wide sum = Wide{numbers.values[word * bins + bin]} + carry;
    words[word] = static_cast<std::uint64_t>(sum);
    carry = sum >> kWordBits;
  }
  const bool negative = carry < 0;
  if (negative) {
    UnsignedWide next = 1;
    for (std::uint64_t& word : words) {
      next += static_cast<std::uint64_t>(~word);
      word = static_cast<std::uint64_t>(next);
      next >>= kWordBits;
    }
  }
  std::size_t top = words.size() - 1;
  while (top > 0 && words[top] == 0) --top;
  // Two words have all bits that a double can take; of the others counts only whether there is anything.
  UnsignedWide leading = words[top];
  int shift = 0;
  if (top > 0) {
    leading = leading << kWordBits | words[top - 1];
    shift = kWordBits * static_cast<int>(top - 1);
    const auto rest = words.first(top - 1);
    if (std::ranges::any_of(rest, [](std::uint64_t word) { return word != 0; })) leading |= 1;
  }
  const double magnitude = std::ldexp(static_cast<double>(leading), shift);
  return negative ? -magnitude : magnitude;
}

std::size_t most_words(PixelType type) {
  if (is_float(type)) return kMostWords;
  return type == PixelType::kI64 || type == PixelType::kU64 ? 2 : 1;
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
