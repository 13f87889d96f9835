#include <annulus/ranks/together.hpp>

#include <gtest/gtest.h>

#include <atomic>

#include "ranks/fake_network.hpp"

namespace annulus {
namespace {

TEST(Together, AllGoOnIfNobodyFails) {
  std::atomic<unsigned> went_on = 0;
  run_as_ranks(3, [&](Ranks& ranks) {
    together(ranks, [] {});
    ++went_on;
  });
  EXPECT_EQ(went_on, 3u);
}

TEST(Together, AllThrowTheErrorOfTheLowestRank) {
  std::atomic<unsigned> thrown = 0;
  run_as_ranks(4, [&](Ranks& ranks) {
    try {
      together(ranks, [&] {
        if (ranks.rank() >= 2)
          throw Error(ErrorKind::kOutput, "disk " + std::to_string(ranks.rank()), "is full", "make room");
      });
    } catch (const FailedTogether& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
      EXPECT_EQ(error.where(), "disk 2");
      EXPECT_EQ(error.fault(), "is full");
      EXPECT_EQ(error.cure(), "make room");
      ++thrown;
    }
    together(ranks, [] {});  // and can meet again
  });
  EXPECT_EQ(thrown, 4u);
}

TEST(Together, OneAloneThrowsWhatItHas) {
  EXPECT_THROW(together(*alone(), [] { throw Error(ErrorKind::kInput, "a", "b"); }), FailedTogether);
}

}  // namespace
}  // namespace annulus
