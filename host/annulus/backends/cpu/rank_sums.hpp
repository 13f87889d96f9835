// The sums of medians and quantiles, of one frame at a time. The values of all pixels are gathered first;
// then each bin finds its window among those of its own, and sums what lies in it.
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
  bool again() override { return false; }
  std::vector<Sums> take() override;

 private:
  // Of one bin.
  struct Kept {
    std::int64_t entries = 0, valid = 0;
    std::int64_t signal = 0, variance = 0, normalization = 0, dark = 0, count = 0;
    Int128 squares = 0, products = 0, divisor_squares = 0;
  };
  std::int64_t raw_of(std::size_t pixel) const;
  Kept keep(std::size_t bin);
  void add(Kept& kept, std::size_t slot) const;

  const Job job_;
  const Plan& plan_;
  const SpreadTable& table_;

  // The matrix by bins: where each begins, and the pixels and weights of its entries.
  std::vector<std::uint32_t> rows_;
  LargeVector<std::uint32_t> row_pixels_, row_weights_;

  std::optional<DarkRemover> darks_;
  int fraction_bits_ = 0;
  std::int64_t one_ = 1;
  LargeVector<std::int32_t> raw_;     // by pixel, as decoded
  LargeVector<double> values_;        // by pixel: s / n; infinite where it is invalid
  std::vector<RankedPixel> ranked_;   // of a bin
  std::vector<std::uint8_t> is_out_;  // by pixel, if outliers are listed
};

}  // namespace annulus
