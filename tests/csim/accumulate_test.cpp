// Forwarding, with memories as late as the hardware's: simulation in sequence cannot see that it is missing.
#include <gtest/gtest.h>
#include <hls/accumulate.hpp>
#include <hls/integrate.hpp>
#include <hls/sum_missing.hpp>

#include <cstring>
#include <deque>
#include <functional>
#include <ostream>
#include <random>
#include <vector>

namespace kernels {
namespace {

// Makes a memory late: what an update wrote is taken back, and lands when `late` further updates were made.
template <int kQuantities>
class LateRows {
 public:
  using Rows = std::int64_t[kQuantities][kRows];

  LateRows(Rows& rows, int late) : rows_(rows), late_(late) {}

  template <typename Update>
  void delay(std::uint32_t row, const Update& update) {
    const Sums<kQuantities> before = at(row);
    update();
    under_way_.push_back({row, at(row)});
    put(row, before);
    if (under_way_.size() > static_cast<std::size_t>(late_)) land();
  }

  void settle() {
    while (!under_way_.empty()) land();
  }

 private:
  Sums<kQuantities> at(std::uint32_t row) const {
    Sums<kQuantities> sums;
    for (int q = 0; q < kQuantities; ++q) sums.of[q] = rows_[q][row];
    return sums;
  }

  void put(std::uint32_t row, const Sums<kQuantities>& sums) {
    for (int q = 0; q < kQuantities; ++q) rows_[q][row] = sums.of[q];
  }

  void land() {
    put(under_way_.front().first, under_way_.front().second);
    under_way_.pop_front();
  }

  Rows& rows_;
  std::deque<std::pair<std::uint32_t, Sums<kQuantities>>> under_way_;
  int late_;
};

constexpr int kUpdates = 2000;

template <int kQuantities>
Sums<kQuantities> random_sums(std::mt19937_64& random) {
  Sums<kQuantities> sums;
  for (std::int64_t& sum : sums.of) sum = static_cast<std::int64_t>(random()) >> 20;
  return sums;
}

// Each of these: whether random updates of so many rows come out right with a memory that is `late`.

bool forwards(int rows, int late, std::mt19937_64& random) {
  std::int64_t memory[2][kRows] = {};
  std::int64_t expected[2][kRows] = {};
  LateRows<2> late_rows(memory, late);
  InFlight<2> recent;
  forget(recent);
  for (int i = 0; i < kUpdates; ++i) {
    const auto row = static_cast<std::uint32_t>(random() % rows);
    const Sums<2> change = random_sums<2>(random);
    late_rows.delay(row, [&] {
      const Sums<2> sum = add_forwarded(recent, row, {{memory[0][row], memory[1][row]}}, change);
      for (int q = 0; q < 2; ++q) memory[q][row] = sum.of[q];
    });
    for (int q = 0; q < 2; ++q) expected[q][row] += change.of[q];
  }
  late_rows.settle();
  return std::memcmp(memory, expected, sizeof(memory)) == 0;
}

// A bank as integrate_frames uses it: now and then nothing is added, and meanwhile the other set is drained.
bool turn_bank_forwards(int rows, int late, std::mt19937_64& random) {
  bool right = true;
  for (std::uint32_t set = 0; set < kSets; ++set) {
    std::int64_t memory[kSets][kQuantities][kRows] = {};
    std::int64_t expected[kQuantities][kRows] = {};
    for (int row = 0; row < rows; ++row) memory[1 - set][0][row] = 1000 + row;
    LateRows<kQuantities> late_rows(memory[set], late);
    InFlight<kQuantities> recent;
    forget(recent);
    for (int i = 0; i < kUpdates; ++i) {
      const auto row = static_cast<std::uint32_t>(random() % rows);
      const BankShare part = {row, random() % 8 == 0 ? 0u : 1u};
      const Sums<kQuantities> change = random_sums<kQuantities>(random);
      const bool drains = i < rows;
      const auto turn = [&] {
        const auto drained = turn_bank(set, part, change, drains, i % rows, recent, memory);
        right &= drained.of[0] == (drains ? 1000 + i : 0);
      };
      if (part.weight == 0) {
        turn();
        continue;
      }
      late_rows.delay(row, turn);
      for (int q = 0; q < kQuantities; ++q) expected[q][row] += change.of[q];
    }
    late_rows.settle();
    right &= std::memcmp(memory[set], expected, sizeof(expected)) == 0;
    const std::int64_t empty[kQuantities][kRows] = {};
    right &= std::memcmp(memory[1 - set], empty, sizeof(empty)) == 0;
  }
  return right;
}

bool add_missing_forwards(int rows, int late, std::mt19937_64& random) {
  std::int64_t memory[kBanks][kMissing][kRows] = {};
  std::int64_t expected[kBanks][kMissing][kRows] = {};
  std::vector<LateRows<kMissing>> late_rows;
  for (auto& bank : memory) late_rows.emplace_back(bank, late);
  InFlight<kMissing> recent[kBanks];
  for (auto& bank : recent) forget(bank);
  for (int i = 0; i < kUpdates; ++i) {
    const auto first_bin = static_cast<std::uint32_t>(random() % (kBanks * (rows - 1) + 1));
    Footprint share = {static_cast<std::uint16_t>(first_bin), {}, true};
    const Correction correction = {static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random())};
    // What is delayed in each bank is the one call that writes to all of them.
    std::function<void()> update = [&] { add_missing(share, correction, recent, memory); };
    for (std::uint32_t bin = first_bin; bin < first_bin + 3; ++bin) {
      const auto weight = static_cast<std::uint32_t>(random() % 1000);
      share.weight[bin - first_bin] = weight;
      if (weight == 0) continue;
      auto& sums = expected[bin % kBanks];
      sums[0][bin / kBanks] += weight;
      sums[1][bin / kBanks] += std::int64_t{weight} * correction.normalization;
      sums[2][bin / kBanks] += std::int64_t{weight} * correction.dark;
      update = [&late_rows, bin, update] { late_rows[bin % kBanks].delay(bin / kBanks, update); };
    }
    update();
  }
  for (auto& bank : late_rows) bank.settle();
  return std::memcmp(memory, expected, sizeof(memory)) == 0;
}

struct Place {
  const char* name;
  bool (*is_right)(int rows, int late, std::mt19937_64& random);
};
void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

class Forwarding : public ::testing::TestWithParam<Place> {};

TEST_P(Forwarding, CoversEveryLatenessItClaims) {
  std::mt19937_64 random(1);
  for (int late = 0; late <= kInFlight; ++late) {
    for (const int rows : {1, 2, 3, 5, 8, 100}) {
      EXPECT_TRUE(GetParam().is_right(rows, late, random)) << "late by " << late << ", " << rows << " rows";
    }
  }
}

TEST_P(Forwarding, TheTestSeesAMemoryThatIsLater) {
  std::mt19937_64 random(2);
  EXPECT_FALSE(GetParam().is_right(10, kInFlight + 1, random));
}

INSTANTIATE_TEST_SUITE_P(Places, Forwarding,
                         ::testing::Values(Place{"add_forwarded", forwards},
                                           Place{"turn_bank", turn_bank_forwards},
                                           Place{"add_missing", add_missing_forwards}),
                         [](const auto& info) { return info.param.name; });

TEST(ForwardingAtFirst, TakesWhatTheMemoryHas) {
  InFlight<2> recent = {};  // its sums are zeros, and its rows those of row 0
  const Sums<2> sum = add_forwarded(recent, 0, {{5, 50}}, {{1, 2}});
  EXPECT_EQ(sum.of[0], 6);
  EXPECT_EQ(sum.of[1], 52);
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
