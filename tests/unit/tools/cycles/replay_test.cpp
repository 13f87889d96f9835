#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hls_stream.h>
#include <replay.hpp>

namespace annulus_sim {
namespace {

using ::testing::ElementsAre;

// Stages as sim/instrument makes them of a kernel, small enough to follow on paper.
void write_all(hls::stream<int>& out, int count) {
  for (int i = 0; i < count; ++i) {
    count_iteration();
    out.write(i);
  }
}

void read_all(hls::stream<int>& in, int count, int iterations_each) {
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < iterations_each; ++k) {
      count_iteration();
      if (k == 0) in.read();
    }
  }
}

Replay replay_pair(std::size_t depth, int count, int iterations_each) {
  Launch launch(Mode::kSequential);
  launch.record_steps();
  launch.run([&] {
    hls::stream<int> numbers("numbers");
    numbers.set_depth(depth);
    stage("writer", [&] { write_all(numbers, count); });
    stage("reader", [&] { read_all(numbers, count, iterations_each); });
    finish_stages();
  });
  return replay(launch.report());
}

TEST(Replay, ReaderFollowsAClockBehind) {
  // Written at 1 2 3 4, read at 2 3 4 5. What is read at a clock still counts as held in it.
  const Replay result = replay_pair(16, 4, 1);
  EXPECT_EQ(result.clocks, 5u);
  EXPECT_THAT(result.high_water, ElementsAre(2u));
}

TEST(Replay, SlowReaderHoldsTheWriterBack) {
  // Read at 2 4 6, the last iteration at 7. One place: written at 1 3 5; two places: at 1 2 3.
  EXPECT_EQ(replay_pair(1, 3, 2).clocks, 7u);
  EXPECT_THAT(replay_pair(1, 3, 2).high_water, ElementsAre(1u));
  EXPECT_EQ(replay_pair(2, 3, 2).clocks, 7u);
  EXPECT_THAT(replay_pair(2, 3, 2).high_water, ElementsAre(2u));
}

TEST(Replay, DepthOneMakesTwoFastStagesTakeTurns) {
  // Written at 1 3 5 7, read at 2 4 6 8.
  EXPECT_EQ(replay_pair(1, 4, 1).clocks, 8u);
  EXPECT_EQ(replay_pair(2, 4, 1).clocks, 5u);
}

// A writer of bursts and a reader that takes one of each burst's elements for two clocks: deep enough, the
// FIFO evens them out.
Replay replay_bursts(std::size_t depth) {
  Launch launch(Mode::kSequential);
  launch.record_steps();
  launch.run([&] {
    hls::stream<int> numbers("numbers");
    numbers.set_depth(depth);
    stage("writer", [&] {
      for (int burst = 0; burst < 10; ++burst) {
        for (int i = 0; i < 8; ++i) {
          count_iteration();
          if (i < 4) numbers.write(i);
        }
      }
    });
    stage("reader", [&] { read_all(numbers, 40, 2); });
    finish_stages();
  });
  return replay(launch.report());
}

TEST(Replay, DeepFifoHidesBursts) {
  // 80 iterations each, one clock apart: 81 if nobody waits for long.
  EXPECT_EQ(replay_bursts(8).clocks, 81u);
  EXPECT_GT(replay_bursts(1).clocks, 81u);
}

TEST(Replay, StagesThatWaitForEachOtherAreFound) {
  Launch launch(Mode::kSequential);
  launch.record_steps();
  launch.run([&] {
    hls::stream<int> first("first");
    hls::stream<int> second("second");
    stage("writer", [&] {
      write_all(first, 3);
      write_all(second, 3);
    });
    stage("reader", [&] {
      read_all(second, 3, 1);
      read_all(first, 3, 1);
    });
    finish_stages();
  });
  EXPECT_THROW(replay(launch.report()), SimulationError);
}

}  // namespace
}  // namespace annulus_sim
