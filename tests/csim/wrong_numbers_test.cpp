// What a card may hand over instead of a result: whatever it is, it is noticed before it becomes a pattern.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hls/checksum.hpp>

#include <functional>

#include "backends/test_frames.hpp"
#include "kernel_fixture.hpp"

namespace annulus::testing {
namespace {

using kernels::SumBeat;
using ::testing::HasSubstr;

// Two launches of the same frames, with invalid pixels in each.
class WrongNumbers : public ::testing::Test {
 protected:
  static constexpr std::size_t kFrames = 3;

  WrongNumbers() {
    std::mt19937_64 random(11);
    PlanShape shape;
    shape.bins = 22;
    plan_ = random_plan(shape, random);
    plan_.validity = {-1, -1, 5000};
    std::vector<std::int64_t> pixels(plan_.pixels());
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
      for (std::int64_t& pixel : pixels) pixel = static_cast<std::int64_t>(random() % 4000) - 1;
      pixels[frame] = pixels[frame + 40] = pixels[frame + 80] = -1;
      frames_.push_back(raw_frame(plan_.shape, plan_.pixel_type, pixels));
    }
    before_ = launch();
    launched_ = launch();
  }

  RawLaunch launch() const {
    annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
    return launch_raw(plan_, frames_, launch);
  }

  std::string fault() const { return fault_of(launched_, frames_); }
  SumBeat* results(std::size_t frame) {
    return launched_.sums.results.data() + frame * kernels::result_beats_of(plan_.bins());
  }
  SumBeat* missing(std::size_t frame) {
    return launched_.sums.missing.data() + frame * kernels::missing_beats_of(plan_.bins());
  }

  // As if the kernel had written what is there now.
  void make_checksums_right(std::size_t frame) {
    kernels::Checksum of_missing = {}, of_result = {};
    for (std::uint32_t beat = 0; beat < kernels::missing_beats_of(plan_.bins()); ++beat)
      kernels::add_beat(of_missing, missing(frame)[beat]);
    SumBeat& header = results(frame)[0];
    header.sum[kernels::kHeaderMissing] = static_cast<std::int64_t>(of_missing.value);
    header.sum[kernels::kHeaderCheck] = 0;
    for (std::uint32_t row = 0; row < kernels::rows_of(plan_.bins()); ++row)
      kernels::add_beat(of_result, results(frame)[1 + row]);
    kernels::add_beat(of_result, header);
    header.sum[kernels::kHeaderCheck] = static_cast<std::int64_t>(of_result.value);
  }

  Plan plan_;
  std::vector<Frame> frames_;
  RawLaunch before_;
  RawLaunch launched_;
};

TEST_F(WrongNumbers, ARightResultIsNone) {
  EXPECT_EQ(fault(), "");
  for (std::size_t frame = 0; frame < kFrames; ++frame)
    EXPECT_GT(results(frame)[0].sum[kernels::kHeaderInvalid], 0);
  make_checksums_right(1);
  EXPECT_EQ(fault(), "");
}

TEST_F(WrongNumbers, EverySingleFlippedBitIsNoticed) {
  for (std::vector<SumBeat>* memory : {&launched_.sums.results, &launched_.sums.missing}) {
    for (SumBeat& beat : *memory) {
      for (std::int64_t& word : beat.sum) {
        for (int bit = 0; bit < 64; ++bit) {
          const std::int64_t good = word;
          word = static_cast<std::int64_t>(static_cast<std::uint64_t>(good) ^ std::uint64_t{1} << bit);
          ASSERT_NE(fault(), "") << "bit " << bit;
          word = good;
        }
      }
    }
  }
  EXPECT_EQ(fault(), "");
}

TEST_F(WrongNumbers, WordsAndBeatsThatChangePlacesAreNoticed) {
  for (std::vector<SumBeat>* memory : {&launched_.sums.results, &launched_.sums.missing}) {
    const std::size_t words = kernels::result_beats_of(plan_.bins()) * 8;
    std::int64_t* const first = memory->front().sum;
    for (std::size_t a = 0; a < words; ++a) {
      for (std::size_t b = a + 1; b < words; ++b) {
        if (first[a] == first[b]) continue;
        std::swap(first[a], first[b]);
        ASSERT_NE(fault(), "") << "words " << a << " and " << b;
        std::swap(first[a], first[b]);
      }
    }
    for (std::size_t beat = 1; beat + 1 < words / 8; ++beat) {
      if (std::equal((*memory)[beat].sum, (*memory)[beat].sum + 8, (*memory)[beat + 1].sum)) continue;
      std::swap((*memory)[beat], (*memory)[beat + 1]);
      ASSERT_NE(fault(), "") << "beats from " << beat;
      std::swap((*memory)[beat], (*memory)[beat + 1]);
    }
  }
}

TEST_F(WrongNumbers, TheResultOfARunBeforeIsNoticed) {
  launched_.sums = before_.sums;
  EXPECT_THAT(fault(), HasSubstr("that of an earlier run or of another frame"));
  launched_ = launch();
  std::copy_n(&before_.sums.results[kernels::result_beats_of(plan_.bins())],
              kernels::result_beats_of(plan_.bins()), results(1));
  EXPECT_THAT(fault(), HasSubstr("that of an earlier run or of another frame"));
}

TEST_F(WrongNumbers, APartOfARunBeforeIsNoticed) {
  std::copy_n(missing(0), kernels::missing_beats_of(plan_.bins()), missing(2));
  EXPECT_THAT(fault(), HasSubstr("the checksum of its missing sums is wrong"));
  launched_ = launch();
  std::copy_n(results(0) + 1, 3, results(2) + 1);
  EXPECT_THAT(fault(), HasSubstr("the checksum of its result is wrong"));
}

TEST_F(WrongNumbers, FramesThatChangePlacesAreNoticed) {
  std::swap_ranges(results(0), results(1), results(2));
  std::swap_ranges(missing(0), missing(1), missing(2));
  EXPECT_THAT(fault(), HasSubstr("of another frame"));
}

TEST_F(WrongNumbers, MemoryThatNobodyWroteIsNoticed) {
  for (const std::int64_t word : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{0x0123456789ABCDEF}}) {
    for (SumBeat& beat : launched_.sums.results) std::fill_n(beat.sum, 8, word);
    for (SumBeat& beat : launched_.sums.missing) std::fill_n(beat.sum, 8, word);
    EXPECT_THAT(fault(), HasSubstr("no header of these kernels"));
  }
}

TEST_F(WrongNumbers, ResultsOfAnotherBuildAreNoticed) {
  results(0)[0].sum[kernels::kHeaderBuild] ^= 0x100;
  make_checksums_right(0);
  EXPECT_THAT(fault(), HasSubstr("the build is 0x"));
}

// Sums that no frame can have are noticed even if every checksum is right: the kernel itself was wrong.
TEST_F(WrongNumbers, SumsBeyondTheirBoundsAreNoticed) {
  const RawLaunch good = launched_;
  const auto expect = [&](const std::string& words, const std::function<void()>& change) {
    launched_ = good;
    change();
    make_checksums_right(1);
    EXPECT_THAT(fault(), HasSubstr(words));
  };
  const SumBounds& bounds = good.plan.bounds;
  const std::size_t bin = 9;  // row 2, bank 1
  const std::int64_t most = bounds.count[bin] * 5000;
  const std::int64_t pixels = static_cast<std::int64_t>(bounds.pixels);
  const auto count = [&]() -> std::int64_t& { return missing(1)[4].sum[1]; };

  expect("the signal of bin 9 is", [&] { results(1)[3].sum[1] = most + 1; });
  expect("the signal of bin 9 is", [&] { results(1)[3].sum[1] = -most - 1; });
  launched_ = good;
  results(1)[3].sum[1] = most;
  make_checksums_right(1);
  EXPECT_EQ(fault(), "");
  if (kernels::kVariance) {
    expect("the variance of bin 9 is", [&] { results(1)[3].sum[5] = -1; });
    expect("the variance of bin 9 is", [&] { results(1)[3].sum[5] = bounds.squares[bin] * 5000 + 1; });
  }
  expect("pixels are invalid, and the plan uses",
         [&] { results(1)[0].sum[kernels::kHeaderInvalid] = pixels + 1; });
  expect("pixels are invalid, and the plan uses", [&] { results(1)[0].sum[kernels::kHeaderInvalid] = -1; });
  expect("units of weight", [&] { results(1)[0].sum[kernels::kHeaderInvalid] += 1; });
  expect("units of weight", [&] { count() += 1; });
  expect("the missing count of bin 9 is", [&] {
    missing(1)[10].sum[1] += count() + 1;  // of bin 21
    count() = -1;
  });
  expect("the missing normalisation of bin 9 is",
         [&] { missing(1)[4].sum[5] = bounds.normalization[bin] + 1; });
  expect("the missing dark of bin 9 is", [&] { missing(1)[5].sum[1] = -bounds.dark[bin] - 1; });
}

TEST_F(WrongNumbers, TheFaultNamesItsFrame) {
  frames_[1].id.source = "scan_7.cbf";
  results(1)[2].sum[3] ^= 1;
  EXPECT_THAT(fault(), HasSubstr("scan_7.cbf"));
}

TEST_F(WrongNumbers, NoTwoFramesHaveTheSameNumber) {
  std::vector<std::uint32_t> numbers;
  for (const RawLaunch* launch : {&before_, &launched_}) {
    for (const auto& descriptor : launch->packed.descriptors) numbers.push_back(descriptor.number);
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace
}  // namespace annulus::testing
