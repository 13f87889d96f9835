#include <annulus/backends/cpu/lane_kernels.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace annulus {
namespace {

__extension__ using Wide = __int128;

// All kernels that the machine can run, with a name.
std::vector<std::pair<std::string, const LaneKernels*>> all_kernels() {
  std::vector<std::pair<std::string, const LaneKernels*>> result;
  for (const InstructionSet set : available_instruction_sets()) {
    result.emplace_back(name_of(set), &lane_kernels(set));
    result.emplace_back(std::string(name_of(set)) + ", single", &single_lane_kernels(set));
  }
  return result;
}

// A band of random segments with the largest weights, squares and values now and then.
struct RandomBand {
  static constexpr std::uint32_t kBins = 40;
  BandedPlan plan;
  std::mt19937_64 random{61};

  explicit RandomBand(bool with_variance) {
    plan.bins = kBins;
    plan.weight_bits = 23;
    for (int i = 0; i < 200; ++i) {
      add(plan.ones, plan.one_squares, with_variance);
      add(plan.twos, plan.two_squares, with_variance);
      add(plan.threes, plan.three_squares, with_variance);
      const std::uint32_t weight = any(1 << 23);
      plan.wides.push_back({any(kBins - 1), any(kBandPixels - 1), weight, any(0x80000000u)});
    }
    const auto count = static_cast<std::uint32_t>(plan.ones.size());
    plan.bands = {{}, {count, count, count, count, 0}};
  }

  std::uint32_t any(std::uint32_t most) {
    const auto kind = random() % 8;
    return kind == 0   ? most
           : kind == 1 ? 0
                       : static_cast<std::uint32_t>(random() % (std::uint64_t{most} + 1));
  }

  template <int kWidth>
  void add(LargeVector<Segment<kWidth>>& segments, LargeVector<SegmentSquares<kWidth>>& squares,
           bool with_variance) {
    Segment<kWidth> segment;
    segment.first_bin = any(kBins - kWidth);
    for (int i = 0; i < kSegment; ++i) {
      segment.pixel[i] = static_cast<std::uint16_t>(any(kNoPixel));
      std::uint32_t left = 1 << 23;
      if constexpr (kWidth > 1) {
        for (int bin = 0; bin < kWidth - 1; ++bin) left -= segment.weight[bin][i] = any(left);
      }
    }
    segments.push_back(segment);
    if (!with_variance) return;
    squares.push_back(SegmentSquares<kWidth>{});
    for (auto& row : squares.back().square) {
      for (int i = 0; i < kSegment; ++i) row[i] = segment.pixel[i] == kNoPixel ? 0 : any(0x80000000u);
    }
  }
};

// The definition, in 128 bits.
struct Expected {
  std::vector<Wide> signal = std::vector<Wide>(RandomBand::kBins);
  std::vector<Wide> variance = std::vector<Wide>(RandomBand::kBins);

  template <int kWidth>
  void add(const LargeVector<Segment<kWidth>>& segments, const LargeVector<SegmentSquares<kWidth>>& squares,
           const std::vector<std::int32_t>& values, std::int32_t one) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (int i = 0; i < kSegment; ++i) {
        const Wide value = values[segments[s].pixel[i]];
        Wide left = Wide{1} << 23;
        for (int bin = kWidth - 1; bin >= 0; --bin) {
          Wide weight = left;
          if constexpr (kWidth > 1) {
            if (bin > 0) weight = segments[s].weight[bin - 1][i];
          }
          left -= weight;
          signal[segments[s].first_bin + bin] += weight * value;
          if (squares.empty()) continue;
          variance[segments[s].first_bin + bin] +=
              squares[s].square[bin][i] * (value > one ? value : Wide{one});
        }
      }
    }
  }
};

TEST(LaneKernels, IntegrateAsDefined) {
  for (const bool with_variance : {false, true}) {
    RandomBand band(with_variance);
    // Squares of up to 2^31: a plan would not let larger counts in.
    const std::uint32_t largest = with_variance ? 1 << 20 : kLargestLaneValue;
    for (const auto& [name, kernels] : all_kernels()) {
      const std::size_t lanes = kernels->lanes;
      std::vector<std::int32_t> values((kBandPixels + 1) * lanes, 0);
      std::vector<std::int32_t> one(lanes);
      for (std::size_t i = 0; i < kBandPixels * lanes; ++i) {
        const auto size = static_cast<std::int32_t>(band.any(largest));
        values[i] = band.random() % 2 == 0 ? size : -size;
      }
      for (auto& count : one) count = static_cast<std::int32_t>(1 + band.any(largest));
      std::vector<std::int64_t> signal(RandomBand::kBins * lanes, 5);
      std::vector<std::int64_t> variance(RandomBand::kBins * lanes, 7);
      kernels->integrate(view_of(band.plan, 0), values.data(), one.data(), signal.data(),
                         with_variance ? variance.data() : nullptr);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::vector<std::int32_t> column(kBandPixels + 1);
        for (std::size_t pixel = 0; pixel <= kBandPixels; ++pixel)
          column[pixel] = values[pixel * lanes + lane];
        Expected expected;
        expected.add(band.plan.ones, band.plan.one_squares, column, one[lane]);
        expected.add(band.plan.twos, band.plan.two_squares, column, one[lane]);
        expected.add(band.plan.threes, band.plan.three_squares, column, one[lane]);
        for (const WideShare& share : band.plan.wides) {
          const Wide value = column[share.pixel];
          expected.signal[share.bin] += share.weight * value;
          if (with_variance) {
            expected.variance[share.bin] += share.square * (value > one[lane] ? value : Wide{one[lane]});
          }
        }
        for (std::uint32_t bin = 0; bin < RandomBand::kBins; ++bin) {
          const std::size_t at = bin * lanes + kernels->place_of(lane);
          ASSERT_TRUE(signal[at] == expected.signal[bin] + 5) << name << ", lane " << lane << ", bin " << bin;
          ASSERT_TRUE(variance[at] == expected.variance[bin] + 7)
              << name << ", lane " << lane << ", bin " << bin;
        }
      }
    }
  }
}

TEST(LaneKernels, PlacesOfLanesAreAllDifferent) {
  for (const auto& [name, kernels] : all_kernels()) {
    std::vector<bool> taken(kernels->lanes);
    for (std::size_t lane = 0; lane < kernels->lanes; ++lane) {
      ASSERT_LT(kernels->place_of(lane), kernels->lanes) << name;
      ASSERT_FALSE(taken[kernels->place_of(lane)]) << name;
      taken[kernels->place_of(lane)] = true;
    }
  }
}

TEST(LaneKernels, InterleaveAndFindExtremes) {
  std::mt19937_64 random(62);
  for (const auto& [name, kernels] : all_kernels()) {
    const std::size_t lanes = kernels->lanes;
    for (const std::size_t count : {std::size_t{0}, std::size_t{8}, std::size_t{64}, std::size_t{104}}) {
      const std::size_t stride = count + random() % 9;
      std::vector<std::int32_t> rows(lanes * stride + 1);
      for (auto& value : rows) value = static_cast<std::int32_t>(random());
      std::vector<std::int32_t> values(count * lanes);
      kernels->interleave(rows.data(), stride, count, values.data());
      for (std::size_t pixel = 0; pixel < count; ++pixel) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          ASSERT_EQ(values[pixel * lanes + lane], rows[lane * stride + pixel]) << name;
        }
      }
      const std::size_t begin = count / 3;
      constexpr std::int32_t kLimit =
          INT32_MAX - (INT32_MAX >> 4);  // some lane is beyond it in a part of the pixels
      std::vector<std::uint32_t> expected, found(count + 1);
      for (std::size_t pixel = begin; pixel < count; ++pixel) {
        bool outside = false;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::int32_t value = values[pixel * lanes + lane];
          outside = outside || value < -kLimit || value > kLimit;
        }
        if (outside) expected.push_back(static_cast<std::uint32_t>(pixel));
      }
      found.resize(kernels->find_outside(values.data(), begin, count, -kLimit, kLimit, found.data()));
      EXPECT_EQ(found, expected) << name;
      std::vector<std::int32_t> low(lanes, 100), high(lanes, -100);
      kernels->extremes(values.data(), begin, count, low.data(), high.data());
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::int32_t least = 100, largest = -100;
        for (std::size_t pixel = begin; pixel < count; ++pixel) {
          least = std::min(least, values[pixel * lanes + lane]);
          largest = std::max(largest, values[pixel * lanes + lane]);
        }
        EXPECT_EQ(low[lane], least) << name;
        EXPECT_EQ(high[lane], largest) << name;
      }
    }
  }
}

}  // namespace
}  // namespace annulus
