#include <annulus/core/error.hpp>
#include <annulus/plan/spread_table.hpp>
#include <annulus/plan/wide_sum.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace annulus {
namespace {

std::int32_t largest_normalization(const Plan& plan) {
  std::int32_t largest = 0;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    if (plan.matrix.first[pixel] == plan.matrix.first[pixel + 1]) continue;
    const std::int32_t value = plan.normalization[pixel];
    if (value <= 0) {
      throw Error(ErrorKind::kPlan,
                  fmt::format("pixel at row {}, column {}", pixel / plan.shape.cols, pixel % plan.shape.cols),
                  "its normalization is not positive, so its value cannot be compared with those of others",
                  "mask it, or give a flat without zeros; clips and errors by the spread need that");
    }
    largest = std::max(largest, value);
  }
  return largest;
}

// Right by a positive number of bits, left by a negative one; rounded, at least 1.
std::uint32_t divisor_of(std::int32_t normalization, int right) {
  if (right <= 0) return static_cast<std::uint32_t>(normalization) << -right;
  const auto rounded =
      static_cast<std::uint32_t>((std::int64_t{normalization} + (std::int64_t{1} << (right - 1))) >> right);
  return std::clamp<std::uint32_t>(rounded, 1, (1u << kDivisorBits) - 1);
}

bool has_only_whole_pixels(const Plan& plan) {
  const std::uint32_t whole = std::uint32_t{1} << plan.weight_bits;
  return std::ranges::all_of(plan.matrix.weight, [whole](std::uint32_t weight) { return weight == whole; });
}

std::uint64_t largest_sum_of_squares(const Plan& plan, int square_bits) {
  std::vector<std::uint64_t> sums(plan.bins());
  for (std::size_t entry = 0; entry < plan.matrix.bin.size(); ++entry)
    sums[plan.matrix.bin[entry]] += squared_weight(plan.matrix.weight[entry], plan.weight_bits, square_bits);
  return sums.empty() ? 0 : *std::ranges::max_element(sums);
}

int choose_square_bits(const Plan& plan) {
  if (has_only_whole_pixels(plan)) return 0;
  int bits = std::min(kMaxSquareBits, 2 * plan.weight_bits);
  while (bits > 0) {
    const int excess = static_cast<int>(std::bit_width(largest_sum_of_squares(plan, bits))) - kSquareSumBits;
    if (excess <= 0) break;
    bits = std::max(0, bits - excess);
  }
  return bits;
}

bool has_fractions(const Plan& plan) {
  if (plan.dark_bits <= 0) return false;
  const std::uint32_t fraction = (std::uint32_t{1} << std::min(plan.dark_bits, 31)) - 1;
  return std::ranges::any_of(plan.dark, [fraction](std::int32_t dark) {
    return (static_cast<std::uint32_t>(dark) & fraction) != 0;
  });
}

void add_totals(const Plan& plan, SpreadTable& table) {
  std::vector<WideSum<2>> sums(plan.bins());
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    const std::int64_t square = std::int64_t{table.divisor[pixel]} * table.divisor[pixel];
    for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      using Wide = WideSum<2>::Wide;
      const Wide product = Wide{square} * table.square(plan.matrix.weight[entry], plan.weight_bits);
      WideSum<2>& sum = sums[plan.matrix.bin[entry]];
      sum.add(static_cast<std::int64_t>(product & 0xffffffff));
      sum.add(static_cast<std::int64_t>(product >> 32), 32);
    }
  }
  table.squares.resize(plan.bins());
  table.squares_word1.resize(plan.bins());
  for (std::size_t bin = 0; bin < sums.size(); ++bin) {
    std::int64_t words[2];
    sums[bin].signed_words(2, words, 1);
    table.squares[bin] = words[0];
    table.squares_word1[bin] = words[1];
  }
}

}  // namespace

std::shared_ptr<const SpreadTable> make_spread_table(const Plan& plan) {
  auto table = std::make_shared<SpreadTable>();
  const std::int32_t largest = largest_normalization(plan);
  const int right = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(largest))) - kDivisorBits;
  table->divisor_bits = plan.normalization_bits - right;
  std::vector<std::uint32_t> divisor(plan.pixels());
  for (std::size_t pixel = 0; pixel < divisor.size(); ++pixel) {
    if (plan.matrix.first[pixel] != plan.matrix.first[pixel + 1])
      divisor[pixel] = divisor_of(plan.normalization[pixel], right);
  }
  table->divisor = std::move(divisor);
  table->square_bits = choose_square_bits(plan);
  table->dark_shift = has_fractions(plan) ? kDarkFractionBits : 0;
  add_totals(plan, *table);
  return table;
}

std::shared_ptr<const Plan> with_spread_table(std::shared_ptr<const Plan> plan) {
  if (plan->spread) return plan;
  auto copy = std::make_shared<Plan>(*plan);
  copy->spread = make_spread_table(*plan);
  return copy;
}

DarkRemover::DarkRemover(const Plan& plan, int fraction_bits)
    : dark_(&plan.dark),
      shift_(plan.spread->dark_shift),
      finer_(fraction_bits + plan.spread->dark_shift - plan.dark_bits) {}

std::int64_t DarkRemover::dark(std::size_t pixel) const {
  if (dark_->empty()) return 0;
  const std::int64_t dark = (*dark_)[pixel];
  if (finer_ >= 0) {
    const std::int64_t most = (std::int64_t{1} << (kValueBits - 1)) >> std::min(finer_, kValueBits);
    return std::clamp(dark, -most, most) * (std::int64_t{1} << std::min(finer_, kValueBits));
  }
  const int coarser = std::min(-finer_, kValueBits);
  return (dark + (std::int64_t{1} << (coarser - 1))) >> coarser;
}

}  // namespace annulus
