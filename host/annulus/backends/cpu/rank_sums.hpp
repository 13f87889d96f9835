// The sums of medians and quantiles, of one frame at a time. The first pass gathers the values of each bin,
// from which its window follows; the second sums what lies in it.
#pragma once

#include <annulus/backends/cpu/band_operator.hpp>
#include <annulus/backends/cpu/banded_plan.hpp>
#include <annulus/backends/cpu/wide_words.hpp>
#include <annulus/core/large_vector.hpp>
#include <annulus/plan/rank_clip.hpp>
#include <annulus/plan/spread_table.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace annulus {

class RankSums final : public BandOperator {
 public:
  explicit RankSums(const Job& job);

  void begin(std::span<const Frame* const> frames) override;
  void add_band(std::size_t band, std::int32_t* values) override;
  bool again() override;
  std::vector<Sums> take() override;

 private:
  // Of one bin.
  struct Kept {
    std::int64_t entries = 0, signal = 0, variance = 0, normalization = 0, dark = 0, count = 0;
    Int128 squares = 0, products = 0, divisor_squares = 0;
  };
  void gather(std::size_t pixel, double value);
  void sum(std::size_t pixel, std::int64_t s, std::int64_t raw, double value);

  const Job job_;
  const Plan& plan_;
  const SpreadTable& table_;
  std::vector<std::uint32_t> rows_;  // where the pixels of a bin begin among all entries
  std::vector<std::uint32_t> ends_;  // of those that were gathered
  LargeVector<RankedPixel> ranked_;  // by bin
  std::vector<RankWindow> windows_;  // by bin
  std::optional<DarkRemover> darks_;
  int fraction_bits_ = 0;
  std::int64_t one_ = 1;
  bool gathering_ = true;
  std::uint64_t invalid_pixels_ = 0;
  std::vector<std::uint32_t> outliers_;
  std::vector<Kept> kept_;
};

}  // namespace annulus
