// The sums of medians and quantiles, of one frame at a time. The first pass gathers the values of each bin,
// from which its window follows; the second sums what lies in it.
#pragma once

#include <annulus/backends/cpu/band_operator.hpp>
#include <annulus/backends/cpu/banded_plan.hpp>
#include <annulus/backends/cpu/wide_words.hpp>
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
  void gather(std::size_t pixel, double value);
  void sum(std::size_t pixel, std::int64_t s, std::int64_t raw, double value);
  void leave_out(std::size_t pixel, std::uint32_t bin, std::int64_t weight, std::int64_t square);

  const Job job_;
  const Plan& plan_;
  const SpreadTable& table_;
  std::vector<std::uint32_t> rows_;  // where the pixels of a bin begin among all entries
  std::vector<std::uint32_t> ends_;  // of those that were gathered
  std::vector<RankedPixel> ranked_;  // by bin
  std::vector<RankWindow> windows_;  // by bin
  std::optional<DarkRemover> darks_;
  std::int64_t one_ = 1;
  bool gathering_ = true;
  std::vector<std::uint32_t> invalid_;
  std::vector<std::uint32_t> outliers_;
  std::vector<Int128> squares_, products_, missing_squares_;
  Sums sums_;
};

}  // namespace annulus
