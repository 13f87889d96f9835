#include <annulus/ranks/together.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "ranks/fake_network.hpp"

namespace annulus {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(std::size_t count, unsigned value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

class RanksOf : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Sizes, RanksOf, testing::Values(1u, 2u, 3u, 8u));

TEST_P(RanksOf, DealEveryFrameOnceAndInOrder) {
  constexpr std::uint64_t kFrames = 3000;
  std::vector<std::atomic<int>> dealt(kFrames);
  run_as_ranks(GetParam(), [&](Ranks& ranks) {
    const auto dealer = ranks.deal(ranks.is_first() ? kFrames : 0);
    std::uint64_t behind = 0;
    while (const auto block = dealer->next()) {
      EXPECT_GE(block->first, behind);
      behind = block->end;
      for (std::uint64_t i = block->first; i < std::min(kFrames, block->end); ++i) ++dealt[i];
      if (block->end >= kFrames) break;
    }
  });
  EXPECT_THAT(dealt, testing::Each(testing::Truly([](const auto& times) { return times == 1; })));
}

TEST(MessagingRanks, NobodyWaitsForABlockOfAFirstRankThatStoppedBeforeItDealt) {
  run_as_ranks(3, [](Ranks& ranks) {
    if (ranks.is_first()) {
      std::this_thread::sleep_for(50ms);  // the others have asked
      ranks.stop_all();
    } else {
      EXPECT_EQ(ranks.deal(0)->next(), std::nullopt);
    }
    ranks.wait_for_all();
  });
}

TEST_P(RanksOf, DealAgain) {
  std::atomic<std::uint64_t> first_frames = 0;
  run_as_ranks(GetParam(), [&](Ranks& ranks) {
    for (int scan = 0; scan < 3; ++scan) {
      const auto dealer = ranks.deal(50);
      while (const auto block = dealer->next()) {
        if (block->first == 0) ++first_frames;
        if (block->end >= 50) break;
      }
      ranks.wait_for_all();
    }
  });
  EXPECT_EQ(first_frames, 3u);
}

TEST_P(RanksOf, AddUpExactly) {
  const unsigned size = GetParam();
  run_as_ranks(size, [&](Ranks& ranks) {
    std::vector<std::int64_t> values = {static_cast<std::int64_t>(ranks.rank()) + 1, -5,
                                        std::int64_t{1} << 58};
    const std::vector<std::int64_t> before = values;
    ranks.add_up(values);
    const std::int64_t n = size;
    const std::vector<std::int64_t> sums = {n * (n + 1) / 2, -5 * n, n * (std::int64_t{1} << 58)};
    EXPECT_EQ(values, ranks.is_first() ? sums : before);
  });
}

TEST(Ranks, AddNothingUpWhereOneHasMoreOrFewer) {
  for (const std::size_t last : {std::size_t{2}, std::size_t{4}}) {
    std::atomic<int> refused = 0;
    run_as_ranks(3, [&](Ranks& ranks) {
      std::vector<std::int64_t> values(ranks.rank() == 2 ? last : 3, 1);
      try {
        ranks.add_up(values);
      } catch (const FailedTogether& error) {
        ++refused;
        EXPECT_EQ(error.where(), "rank 2");
        EXPECT_EQ(error.fault(), "has " + std::to_string(last) + " numbers to add up, and rank 0 has 3");
      }
      EXPECT_THAT(values, testing::Each(1));
      ranks.wait_for_all();  // and they can meet again
    });
    EXPECT_EQ(refused, 3);
  }
}

TEST_P(RanksOf, TellAllWhatTheFirstHas) {
  run_as_ranks(GetParam(), [&](Ranks& ranks) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
      std::vector<std::byte> bytes = ranks.is_first() ? bytes_of(count, 7) : bytes_of(3, ranks.rank());
      ranks.broadcast(bytes);
      EXPECT_EQ(bytes, bytes_of(count, 7));
    }
  });
}

TEST_P(RanksOf, GatherWhatEachHas) {
  run_as_ranks(GetParam(), [&](Ranks& ranks) {
    for (int round = 0; round < 3; ++round) {  // nobody waits between them
      const auto all = ranks.gather(bytes_of(ranks.rank() * 10, ranks.rank()));
      ASSERT_EQ(all.size(), ranks.is_first() ? ranks.size() : 0);
      for (unsigned rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], bytes_of(rank * 10, rank));
    }
  });
}

TEST(Ranks, GatherInPieces) {
  constexpr std::size_t kMuch = (std::size_t{64} << 20) + 12'345;
  run_as_ranks(2, [&](Ranks& ranks) {
    const auto all = ranks.gather(bytes_of(ranks.is_first() ? 0 : kMuch, 9));
    if (ranks.is_first()) {
      EXPECT_EQ(all[1], bytes_of(kMuch, 9));
    }
  });
}

TEST(Ranks, AreAnsweredByAFirstRankThatComesLate) {
  run_as_ranks(3, [&](Ranks& ranks) {
    if (ranks.is_first()) std::this_thread::sleep_for(30ms);
    EXPECT_EQ(ranks.deal(1000)->next().has_value(), true);
  });
}

TEST(Ranks, ASlowOneHoldsUpNobody) {
  constexpr std::uint64_t kFrames = 400;
  std::atomic<std::uint64_t> by_slow = 0;
  run_as_ranks(4, [&](Ranks& ranks) {
    const bool slow = ranks.rank() == 2;
    const auto dealer = ranks.deal(kFrames);
    while (const auto block = dealer->next()) {
      if (block->first >= kFrames) break;
      const std::uint64_t frames = std::min(block->end, kFrames) - block->first;
      if (slow) by_slow += frames;
      std::this_thread::sleep_for(frames * (slow ? 2000us : 200us));
    }
  });
  // A tenth of what each of the others takes, and at most a block more.
  EXPECT_GT(by_slow, 0u);
  EXPECT_LE(by_slow, kFrames / 31 + 2 * 8);
}

TEST(Ranks, StopTogether) {
  run_as_ranks(3, [&](Ranks& ranks) {
    const auto dealer = ranks.deal(0);
    if (ranks.rank() == 1) ranks.stop_all();
    while (dealer->next()) std::this_thread::sleep_for(1ms);  // for ever, if they did not
    // The first one may have refused before the message came.
    for (int i = 0; i < 1000 && !ranks.stopped().stop_requested(); ++i) std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(ranks.stopped().stop_requested());
  });
}

TEST(Ranks, TheFirstKnowsWhoIsMissing) {
  run_as_ranks(4, [&](Ranks& ranks) {
    std::vector<unsigned> missing;
    if (ranks.rank() == 1 || ranks.rank() == 3) std::this_thread::sleep_for(250ms);
    ranks.wait_for_all([&](const std::vector<unsigned>& now) { missing = now; });
    if (ranks.is_first()) {
      EXPECT_THAT(missing, testing::ElementsAre(1, 3));
    }
  });
}

TEST(Ranks, TheFirstKnowsHowFarAllAre) {
  run_as_ranks(3, [&](Ranks& ranks) {
    ranks.tell({10, 1});
    ranks.wait_for_all();  // messages keep their order
    if (ranks.is_first()) {
      EXPECT_EQ(ranks.told(), (RankProgress{30, 3}));
    }
  });
}

TEST(Ranks, AloneAddUpNothing) {
  const auto one = alone();
  std::vector<std::int64_t> values = {1, 2};
  one->add_up(values);
  EXPECT_THAT(values, testing::ElementsAre(1, 2));
  one->stop_all();
  EXPECT_TRUE(one->stopped().stop_requested());
}

}  // namespace
}  // namespace annulus
