#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/pooled_array.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace annulus::testing {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

TEST(BufferPool, GivesTheSameMemoryAgainWhenItsLastCopyIsGone) {
  BufferPool pool;
  auto first = pool.take(3 * kMega);
  const void* const place = first.get();
  auto copy = first;
  first.reset();
  EXPECT_NE(pool.take(3 * kMega).get(), place);
  copy.reset();
  EXPECT_EQ(pool.take(3 * kMega).get(), place);
  EXPECT_EQ(pool.statistics().fresh, 2u);
  EXPECT_EQ(pool.statistics().reused, 1u);
}

TEST(BufferPool, BufferThatIsALittleTooLargeServesAndOneFarTooLargeDoesNot) {
  BufferPool pool;
  pool.take(4 * kMega);
  EXPECT_EQ(pool.statistics().idle, 4 * kMega);
  pool.take(4 * kMega * 8 / 9);
  EXPECT_EQ(pool.statistics().reused, 1u);
  const auto smaller = pool.take(4 * kMega * 8 / 9 - 10000);
  EXPECT_EQ(pool.statistics().fresh, 2u);
  EXPECT_LE(pool.statistics().in_use + pool.statistics().idle, 4 * kMega);
}

TEST(BufferPool, NoBufferTakesMoreThanWasSaid) {
  BufferPool pool;
  std::mt19937_64 random(8);
  std::vector<std::shared_ptr<std::byte[]>> held;
  for (int round = 0; round < 2000; ++round) {
    if (held.size() > 5) held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
    const std::size_t size = BufferPool::kSmallest + random() % (64 << 10), before = pool.statistics().in_use;
    held.push_back(pool.take(size));
    ASSERT_GE(pool.statistics().in_use - before, size);
    ASSERT_LE(pool.statistics().in_use - before, BufferPool::most_for(size));
  }
  EXPECT_GT(pool.statistics().reused, 100u);
}

TEST(BufferPool, SmallestThatSufficesIsTaken) {
  BufferPool pool;
  auto large = pool.take(4 * kMega + 9000), small = pool.take(4 * kMega), tiny = pool.take(3 * kMega);
  const void* const place = small.get();
  small.reset();
  tiny.reset();
  large.reset();
  EXPECT_EQ(pool.take(4 * kMega).get(), place);
  EXPECT_EQ(pool.take(4 * kMega - 9000).get(), place);
}

TEST(BufferPool, NeverHoldsMoreThanWasInUseAtOnce) {
  BufferPool pool;
  std::mt19937_64 random(7);
  std::vector<std::shared_ptr<std::byte[]>> held;
  std::size_t most = 0;
  for (int round = 0; round < 3000; ++round) {
    if (random() % 5 < 2 || held.size() > 6) {
      if (!held.empty()) held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
    } else {
      held.push_back(pool.take(BufferPool::kSmallest + random() % (512 << 10)));
    }
    const auto now = pool.statistics();
    most = std::max(most, now.in_use);
    ASSERT_EQ(now.most_in_use, most) << round;
    ASSERT_LE(now.in_use + now.idle, most) << round;
  }
  held.clear();
  EXPECT_EQ(pool.statistics().in_use, 0u);
  EXPECT_GT(pool.statistics().idle, 0u);
  EXPECT_GT(pool.statistics().reused, 100u);
  pool.free_idle();
  EXPECT_EQ(pool.statistics().idle, 0u);
  EXPECT_EQ(pool.statistics().most_in_use, 0u);
}

TEST(BufferPool, SmallOnesAreNotCounted) {
  BufferPool pool;
  const auto none = pool.take(0), small = pool.take(BufferPool::kSmallest - 1);
  EXPECT_TRUE(none && small);
  EXPECT_EQ(pool.statistics().in_use, 0u);
  EXPECT_EQ(BufferPool::capacity_for(BufferPool::kSmallest - 1), 0u);
  const auto counted = pool.take(BufferPool::kSmallest + 1);
  EXPECT_EQ(pool.statistics().in_use, BufferPool::capacity_for(BufferPool::kSmallest + 1));
}

TEST(BufferPool, BuffersMayOutliveThePool) {
  std::shared_ptr<std::byte[]> buffer;
  {
    BufferPool pool;
    buffer = pool.take(kMega);
  }
  std::memset(buffer.get(), 1, kMega);
}

TEST(BufferPool, WhatTheSystemRefusesIsNotCounted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the program instead";
#endif
  BufferPool pool;
  EXPECT_THROW(pool.take(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(pool.statistics().in_use, 0u);
  EXPECT_EQ(pool.statistics().most_in_use, 0u);
}

TEST(BufferPool, NoTwoThreadsGetTheSameMemory) {
  BufferPool pool;
  std::atomic<int> mixed = 0;
  {
    std::vector<std::jthread> users;
    for (unsigned char user = 0; user < 4; ++user) {
      users.emplace_back([&, user] {
        for (std::size_t round = 0; round < 500; ++round) {
          const std::size_t size = BufferPool::kSmallest + round % 7 * 5000;
          const auto buffer = pool.take(size);
          std::memset(buffer.get(), user, size);
          std::this_thread::yield();
          for (std::size_t i = 0; i < size; i += 512) mixed += buffer[i] != std::byte{user};
        }
      });
    }
  }
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(pool.statistics().in_use, 0u);
}

TEST(PooledArray, HasTheValuesOfItsOwnerWhoeverCopiesOrTakesThem) {
  PooledArray<double> first{1, 2, 3};
  PooledArray<double> copy = first;
  copy[1] = 7;
  EXPECT_EQ(first, (PooledArray<double>{1, 2, 3}));
  EXPECT_EQ(copy, (PooledArray<double>{1, 7, 3}));
  const PooledArray<double> taken = std::move(first);
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move)
  copy = taken;
  EXPECT_EQ(copy, taken);
  EXPECT_NE(copy.data(), taken.data());
  EXPECT_FALSE(copy == PooledArray<double>(2, 1.0));
  EXPECT_TRUE(PooledArray<double>().empty());
  EXPECT_EQ(PooledArray<double>(0).size(), 0u);
}

TEST(PooledArray, LargeOnesUseMemoryAgain) {
  frame_memory().free_idle();
  const void* place = nullptr;
  for (int round = 0; round < 3; ++round) {
    const PooledArray<std::int64_t> array(kMega, round);
    if (round > 0) {
      EXPECT_EQ(array.data(), place);
    }
    place = array.data();
    EXPECT_TRUE(std::ranges::all_of(array, [&](std::int64_t value) { return value == round; }));
  }
  frame_memory().free_idle();
  EXPECT_EQ(frame_memory().statistics().idle, 0u);
}

}  // namespace
}  // namespace annulus::testing
