#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tools/cycles/prediction.hpp>

namespace annulus {
namespace {

using ::testing::HasSubstr;

// Round numbers, so that every rate can be worked out in the head.
CycleReport round_report() {
  CycleReport report;
  report.kernel = "reduce_raw";
  report.frames = 1;
  report.pixels = 1000000;
  report.clocks_a_frame = 100000;
  report.stages = {{"read", 99000, 0}, {"add", 99500, 500}, {"write", 99500, 0}};
  report.ports = {{"frames", 2000000, PcieDirection::kToCard},
                  {"table0", 4000000, PcieDirection::kNone},
                  {"results", 500000, PcieDirection::kFromCard}};
  return report;
}

// Two compute units; banks of 10 GB/s, PCIe of 5 GB/s.
Card round_card() {
  Card card;
  card.name = "round";
  card.memory_kind = "HBM";
  card.banks = 8;
  card.bank_gb_per_second = 10;
  card.pcie_gb_per_second = 5;
  card.clock_mhz = 200;
  card.kernels["reduce_raw"] = {2,
                                {{"reduce_raw_1", "frames", 0, 0},
                                 {"reduce_raw_1", "table0", 1, 1},
                                 {"reduce_raw_1", "results", 2, 2},
                                 {"reduce_raw_2", "frames", 4, 4},
                                 {"reduce_raw_2", "table0", 5, 5},
                                 {"reduce_raw_2", "results", 6, 6}}};
  return card;
}

double rate_of(const Prediction& prediction, const std::string& name) {
  for (const RateLimit& limit : prediction.limits) {
    if (limit.name == name) return limit.frames_per_second;
  }
  ADD_FAILURE() << "no limit " << name;
  return 0;
}

TEST(Prediction, EveryLimitIsWhatOneWorksOutByHand) {
  const Prediction prediction = predict(round_report(), round_card(), 200);
  // 2 units x 200 MHz / 100000 clocks.
  EXPECT_DOUBLE_EQ(rate_of(prediction, "kernel"), 4000);
  // A unit has every second frame: 2 MB of table a frame in its bank, as many of frames written and read.
  EXPECT_DOUBLE_EQ(rate_of(prediction, "memory"), 5000);
  // 2 MB to the card; the half megabyte back goes the other way.
  EXPECT_DOUBLE_EQ(rate_of(prediction, "pcie"), 2500);
  EXPECT_EQ(prediction.limit().name, "pcie");
  EXPECT_EQ(prediction.clock_mhz, 200);
}

TEST(Prediction, LowestLimitIsThePrediction) {
  EXPECT_EQ(predict(round_report(), round_card(), 100).limit().name, "kernel");
  EXPECT_DOUBLE_EQ(predict(round_report(), round_card(), 100).limit().frames_per_second, 2000);
  Card slow_memory = round_card();
  slow_memory.bank_gb_per_second = 4;
  EXPECT_EQ(predict(round_report(), slow_memory, 200).limit().name, "memory");
  EXPECT_DOUBLE_EQ(predict(round_report(), slow_memory, 200).limit().frames_per_second, 2000);
}

TEST(Prediction, PortsThatShareABankAddUp) {
  Card card = round_card();
  card.kernels["reduce_raw"].ports[1].first = card.kernels["reduce_raw"].ports[1].last = 0;
  const Prediction prediction = predict(round_report(), card, 200);
  // Bank 0: half of (2 x 2 MB of frames + 4 MB of table).
  EXPECT_DOUBLE_EQ(rate_of(prediction, "memory"), 2500);
  EXPECT_THAT(prediction.limits[1].reason, HasSubstr("HBM[0]"));
  EXPECT_THAT(prediction.limits[1].reason, HasSubstr("frames, table0"));
}

TEST(Prediction, BuffersOverSeveralBanksShareTheLoad) {
  CycleReport report = round_report();
  report.ports[0].bytes_a_frame = 8000000;
  Card card = round_card();
  EXPECT_DOUBLE_EQ(rate_of(predict(report, card, 200), "memory"), 1250);
  card.kernels["reduce_raw"].ports[0] = {"reduce_raw_1", "frames", 2, 3};
  card.kernels["reduce_raw"].ports[3] = {"reduce_raw_2", "frames", 6, 7};
  // Banks 2 and 6: half of (16 MB over two banks + 2 x 0.5 MB of results).
  EXPECT_DOUBLE_EQ(rate_of(predict(report, card, 200), "memory"), 10e9 / 4.5e6);
}

TEST(Prediction, ResultsMayLimitPcie) {
  CycleReport report = round_report();
  report.ports[2].bytes_a_frame = 4000000;
  const Prediction prediction = predict(report, round_card(), 200);
  EXPECT_DOUBLE_EQ(rate_of(prediction, "pcie"), 1250);
  EXPECT_THAT(prediction.limits[2].reason, HasSubstr("from the card"));
}

TEST(Prediction, LimitingStageIsTheFirstWithTheMostIterations) {
  EXPECT_EQ(round_report().limiting_stage().name, "add");
}

TEST(Prediction, PortsMustBeThoseOfTheKernel) {
  const auto expect_refused = [](const Card& card, const std::string& word) {
    try {
      predict(round_report(), card, 200);
      ADD_FAILURE() << "accepted; expected: " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr(word));
    }
  };
  Card without_port = round_card();
  without_port.kernels["reduce_raw"].ports.pop_back();
  expect_refused(without_port, "reduce_raw_2");
  Card with_stranger = round_card();
  with_stranger.kernels["reduce_raw"].ports[0].port = "pictures";
  expect_refused(with_stranger, "pictures");
  Card without_kernel = round_card();
  without_kernel.kernels.clear();
  expect_refused(without_kernel, "no kernel reduce_raw");
}

}  // namespace
}  // namespace annulus
