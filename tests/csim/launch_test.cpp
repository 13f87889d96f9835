// The stand-ins themselves: what they must let pass, and what they must catch and name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hls_stream.h>

#include <chrono>

namespace annulus_sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr Mode kModes[] = {Mode::kSequential, Mode::kConcurrent};

void produce(hls::stream<int>& out, int count) {
  for (int i = 0; i < count; ++i) {
    count_iteration();
    out.write(i);
  }
}

void copy(hls::stream<int>& in, hls::stream<int>& out, int count) {
  for (int i = 0; i < count; ++i) {
    count_iteration();
    out.write(in.read());
  }
}

int consume(hls::stream<int>& in, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    count_iteration();
    sum += in.read();
  }
  return sum;
}

// produce -> copy -> consume, with how many elements each moves.
int chain(Launch& launch, int produced, int copied, int consumed) {
  int sum = 0;
  launch.run([&] {
    hls::stream<int> first("first");
    first.set_depth(3);
    hls::stream<int> second("second");
    second.set_depth(3);
    stage("produce", [&] { produce(first, produced); });
    stage("copy", [&] { copy(first, second, copied); });
    stage("consume", [&] { sum = consume(second, consumed); });
    finish_stages();
  });
  return sum;
}

TEST(Launch, MovesEverythingAndCounts) {
  for (const Mode mode : kModes) {
    Launch launch(mode);
    EXPECT_EQ(chain(launch, 1000, 1000, 1000), 499500);
    const LaunchReport& report = launch.report();
    ASSERT_EQ(report.stages.size(), 3u);
    EXPECT_EQ(report.stages[1].name, "copy");
    for (const StageReport& stage : report.stages) EXPECT_EQ(stage.iterations, 1000u);
    ASSERT_EQ(report.streams.size(), 2u);
    EXPECT_EQ(report.streams[0].name, "first");
    EXPECT_EQ(report.streams[0].writes, 1000u);
    EXPECT_EQ(report.streams[0].reads, 1000u);
    if (mode == Mode::kConcurrent) {
      EXPECT_LE(report.streams[0].high_water, 3u);
    } else {
      EXPECT_EQ(report.streams[0].high_water, 1000u);
    }
  }
}

TEST(Launch, CanRunAgainAfterAFault) {
  for (const Mode mode : kModes) {
    Launch launch(mode);
    EXPECT_THROW(chain(launch, 10, 11, 10), SimulationError);
    EXPECT_EQ(chain(launch, 10, 10, 10), 45);
    EXPECT_EQ(launch.report().stages.size(), 3u);
  }
}

TEST(Launch, AStageThatForgetsToDrainIsNamed) {
  for (const Mode mode : kModes) {
    Launch launch(mode);
    EXPECT_THAT([&] { chain(launch, 10, 9, 9); },
                ThrowsMessage<SimulationError>(
                    AllOf(HasSubstr("1 elements"), HasSubstr("'first'"), HasSubstr("copy"))));
  }
}

TEST(Launch, AFullStreamThatNobodyReadsIsADeadlock) {
  Launch launch(Mode::kConcurrent);
  EXPECT_THAT([&] { chain(launch, 100, 10, 10); },
              ThrowsMessage<SimulationError>(
                  AllOf(HasSubstr("deadlock"), HasSubstr("produce waits to write to 'first', full with 3"))));
}

TEST(Launch, ReadingMoreThanWasWrittenIsNamed) {
  Launch sequential(Mode::kSequential);
  EXPECT_THAT([&] { chain(sequential, 5, 6, 6); },
              ThrowsMessage<SimulationError>(AllOf(HasSubstr("'first' is read when it is empty"),
                                                   HasSubstr("copy"), HasSubstr("after 5"))));
  Launch concurrent(Mode::kConcurrent);
  EXPECT_THAT(
      [&] { chain(concurrent, 5, 6, 6); },
      ThrowsMessage<SimulationError>(AllOf(HasSubstr("copy waits to read the empty stream 'first'"),
                                           HasSubstr("consume waits to read the empty stream 'second'"))));
}

// A header for each block goes a shorter way than the block: the data FIFO must hold a block.
void run_reconvergent(std::size_t depth) {
  Launch launch(Mode::kConcurrent);
  launch.run([&] {
    hls::stream<int> data("data");
    data.set_depth(depth);
    hls::stream<int> headers("headers");
    stage("split", [&] {
      for (int i = 0; i < 80; ++i) {
        data.write(i);
        if (i % 8 == 7) headers.write(i);
      }
    });
    stage("join", [&] {
      for (int block = 0; block < 10; ++block) {
        headers.read();
        for (int i = 0; i < 8; ++i) data.read();
      }
    });
    finish_stages();
  });
}

TEST(Launch, AFifoThatIsTooShallowIsCaught) {
  EXPECT_NO_THROW(run_reconvergent(8));
  EXPECT_THAT([] { run_reconvergent(7); }, ThrowsMessage<SimulationError>(AllOf(
                                               HasSubstr("deadlock"), HasSubstr("'data', full with 7"),
                                               HasSubstr("join waits to read the empty stream 'headers'"))));
}

TEST(Launch, TwoReadersOrWritersOfAStreamAreNamed) {
  for (const Mode mode : kModes) {
    Launch launch(mode);
    EXPECT_THAT(
        [&] {
          launch.run([&] {
            hls::stream<int> shared("shared");
            shared.set_depth(8);
            stage("produce", [&] { produce(shared, 4); });
            stage("half", [&] { consume(shared, 2); });
            stage("other_half", [&] { consume(shared, 2); });
            finish_stages();
          });
        },
        ThrowsMessage<SimulationError>(AllOf(HasSubstr("'shared' has two readers"))));
  }
}

TEST(Launch, AWaitWithoutEndIsNamedEvenIfAnotherStageSpins) {
  Launch launch(Mode::kConcurrent, std::chrono::milliseconds(50));
  EXPECT_THAT(
      [&] {
        launch.run([&] {
          hls::stream<int> never("never");
          stage("spin", [&] {
            while (true) count_iteration();
          });
          stage("wait", [&] { never.read(); });
          finish_stages();
        });
      },
      ThrowsMessage<SimulationError>(
          AllOf(HasSubstr("no progress"), HasSubstr("spin runs without moving data"), HasSubstr("'never'"))));
}

TEST(Launch, WhatAStageThrowsReachesTheCaller) {
  for (const Mode mode : kModes) {
    Launch launch(mode);
    EXPECT_THROW(launch.run([&] {
      hls::stream<int> numbers("numbers");
      stage("fail", [&] { throw std::out_of_range("beyond"); });
      stage("wait", [&] { numbers.read(); });
      finish_stages();
    }),
                 std::out_of_range);
  }
}

TEST(Launch, OnChipMemoryStartsWithRubbishAndIsAThreadsOwn) {
  for (int round = 0; round < 2; ++round) {
    auto& memory = on_chip<long[4][8], __LINE__>();
    EXPECT_NE(memory[3][7], 0);
    memory[3][7] = 0;
    auto& other = on_chip<long[4][8], __LINE__>();
    EXPECT_NE(&other, &memory);
  }
}

}  // namespace
}  // namespace annulus_sim
