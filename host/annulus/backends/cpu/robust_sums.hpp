// The sums of recipes that look at the spread of pixels or clip by it, of frames that are reduced side by
// side.
//
// The first pass adds up everything, with the fast loops. Each further pass looks only for what lies outside
// of its window, and takes that off what the first pass had: pixels that a clip leaves out are few, so a pass
// is little more than decoding. Since all are integers, the result is that of adding up what is left.
#pragma once

#include <annulus/backends/cpu/lane_sums.hpp>
#include <annulus/backends/cpu/wide_words.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/spread_table.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace annulus {

class RobustSums final : public BandOperator {
 public:
  RobustSums(const Job& job, const BandedPlan& banded, const LaneKernels& kernels);

  void begin(std::span<const Frame* const> frames) override;
  void add_band(std::size_t band, std::int32_t* values) override;
  bool again() override;
  std::vector<Sums> take() override;

 private:
  // What one bin of one frame has, or what its clipped pixels take from that.
  struct BinSums {
    std::int64_t signal = 0;
    std::int64_t variance = 0;
    std::int64_t normalization = 0;
    std::int64_t dark = 0;
    std::int64_t count = 0;
    std::int64_t entries = 0;
    Int128 squares = 0;
    Int128 products = 0;
    Int128 divisor_squares = 0;
  };
  struct Special {  // a value that the fast loops do not take
    std::uint32_t pixel;
    std::uint32_t lane;
    std::int64_t value;  // s
    std::int64_t raw;
  };
  struct Lane {
    std::optional<DarkRemover> darks;
    std::optional<SigmaClip> clip;
    std::int64_t one = 1;
    bool done = false;                      // its windows change no more
    Sums all;                               // of the first pass
    std::vector<Int128> squares, products;  // likewise
    std::vector<Int128> invalid_squares;    // of invalid pixels; empty if there are none
    std::vector<BinSums> clipped;
    std::vector<std::uint32_t> outliers;
    bool any_clipped = false;
    Sums result;
  };

  std::size_t lanes() const { return kernels_.lanes; }
  bool is_out(std::uint32_t place, std::size_t lane) const { return (out_[place] >> lane & 1u) != 0; }
  void leave_out(std::uint32_t place, std::size_t lane);
  void find_specials(std::size_t band, const std::int32_t* values);
  void find_special(std::size_t band, std::uint32_t place, std::size_t lane, std::int32_t value);
  void remove_darks(std::size_t band, const std::int32_t* values);
  void sum_band(std::size_t band, std::int32_t* values);
  void clip_band(std::size_t band, const std::int32_t* values);
  template <int kBins>
  void clip_segment(std::size_t band, const Segment<kBins>& segment, const std::int32_t* values);
  void clip_entries(std::size_t band, std::uint32_t place, std::uint32_t bin, std::uint32_t weight,
                    const std::int32_t* values);
  void clip_specials();
  void clip_entry(Lane& lane, std::size_t pixel, std::uint32_t bin, std::uint32_t weight, std::int64_t value,
                  std::int64_t raw);
  void end_first_pass();
  void add_special(const Special& special);
  void make_sure_windows();
  Sums sums_of(const Lane& lane) const;

  const Job job_;
  const Plan& plan_;
  const SpreadTable& table_;
  const BandedPlan& banded_;
  const LaneKernels& kernels_;
  const bool with_squares_;     // in the passes
  const std::int32_t largest_;  // |s| that the fast loops take
  LaneSums plain_;
  std::vector<Lane> lanes_;
  std::size_t frames_ = 0;
  unsigned pass_ = 0;

  LargeVector<std::int64_t> squares_, squares_upper_, products_, products_upper_;  // as LaneSums has a signal
  LargeVector<float> low_, high_;                                                  // SureWindows
  std::vector<std::uint32_t> divisor_;                                             // of a band, and one more
  LargeVector<std::int32_t> reduced_;    // s of a band, where there is a dark
  std::vector<std::uint16_t> out_;       // by pixel of a band: lanes in which it is invalid or special
  std::vector<std::uint32_t> touched_;   // pixels of the band for which this is not 0
  std::vector<Special> specials_;        // of a band
  std::vector<std::uint32_t> found_[5];  // scratch of the kernels
};

}  // namespace annulus
