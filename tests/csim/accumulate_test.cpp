// Forwarding, with memories as late as the hardware's: simulation in sequence cannot see that it is missing.
#include <gtest/gtest.h>
#include <hls/accumulate.hpp>
#include <hls/integrate.hpp>

#include <deque>
#include <random>
#include <vector>

namespace kernels {
namespace {

// What is written becomes visible after `late` further writes.
class LateMemory {
 public:
  LateMemory(int rows, int late) : rows_(rows), late_(late) {}

  Sums<2> read(std::uint32_t row) const { return rows_[row]; }

  void write(std::uint32_t row, const Sums<2>& sum) {
    under_way_.push_back({row, sum});
    if (under_way_.size() <= static_cast<std::size_t>(late_)) return;
    land();
  }

  std::vector<Sums<2>> settle() {
    while (!under_way_.empty()) land();
    return rows_;
  }

 private:
  void land() {
    rows_[under_way_.front().first] = under_way_.front().second;
    under_way_.pop_front();
  }

  std::vector<Sums<2>> rows_;
  std::deque<std::pair<std::uint32_t, Sums<2>>> under_way_;
  int late_;
};

// Whether sums over `updates` random updates of `rows` rows come out right.
bool sums_are_right(int rows, int late, int updates, std::mt19937_64& random) {
  LateMemory memory(rows, late);
  InFlight<2> recent;
  std::vector<Sums<2>> expected(rows);
  for (int i = 0; i < updates; ++i) {
    const auto row = static_cast<std::uint32_t>(random() % rows);
    const Sums<2> change = {
        {static_cast<std::int64_t>(random() >> 20), -static_cast<std::int64_t>(random() >> 24)}};
    memory.write(row, add_forwarded(recent, row, memory.read(row), change));
    for (int q = 0; q < 2; ++q) expected[row].of[q] += change.of[q];
  }
  const auto sums = memory.settle();
  for (int row = 0; row < rows; ++row) {
    for (int q = 0; q < 2; ++q) {
      if (sums[row].of[q] != expected[row].of[q]) return false;
    }
  }
  return true;
}

TEST(Forwarding, CoversEveryLatenessItClaims) {
  std::mt19937_64 random(1);
  for (int late = 0; late <= kInFlight; ++late) {
    for (const int rows : {1, 2, 3, 5, 8, 100}) {
      EXPECT_TRUE(sums_are_right(rows, late, 2000, random)) << "late by " << late << ", " << rows << " rows";
    }
  }
}

TEST(Forwarding, TheTestSeesAMemoryThatIsLater) {
  std::mt19937_64 random(2);
  EXPECT_FALSE(sums_are_right(10, kInFlight + 1, 2000, random));
}

// Squares against a definition in wide integers.
TEST(Shares, SquaresAreRoundedAndNeverZero) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t weight_bits = 12 + random() % 12;
    const std::uint32_t variance_bits = random() % (std::min<std::uint32_t>(31, 2 * weight_bits) + 1);
    const std::uint32_t weight = 1 + random() % (std::uint64_t{1} << weight_bits);
    __extension__ using Wide = __int128;
    const std::uint32_t shift = 2 * weight_bits - variance_bits;
    Wide square = Wide{weight} * weight * 2;  // in halves, to round
    square = (square + (Wide{1} << shift)) / (Wide{2} << shift);
    if (square == 0) square = 1;
    ASSERT_EQ(square_weight(weight, shift), static_cast<std::uint32_t>(square));
  }
}

TEST(Shares, EveryBankGetsItsBinAndNoOther) {
  for (std::uint32_t first = 0; first < kMaxBins; ++first) {
    const Footprint share = {static_cast<std::uint16_t>(first), {5, 6, 7}, true};
    for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
      const BankShare part = share_of_bank(share, bank);
      std::uint32_t expected = 0;
      for (std::uint32_t offset = 0; offset < 3; ++offset) {
        if ((first + offset) % 4 == bank) expected = 5 + offset;
      }
      ASSERT_EQ(part.weight, expected);
      if (part.weight == 0) continue;
      ASSERT_EQ(part.row, (first + part.weight - 5) / 4 % kRows);
    }
  }
}

}  // namespace
}  // namespace kernels
