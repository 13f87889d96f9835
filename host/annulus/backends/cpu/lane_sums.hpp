// The sums of frames that are reduced side by side, band by band.
#pragma once

#include <annulus/backends/cpu/band_operator.hpp>
#include <annulus/backends/cpu/lane_kernels.hpp>
#include <annulus/plan/sums.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

// The inner loops know no invalid pixels and no values of more than 29 bits. Most bands have neither, which
// the extremes of its pixels tell. In the others such pixels are dealt with one by one and set to 0 first.
class LaneSums final : public BandOperator {
 public:
  LaneSums(const Plan& plan, const BandedPlan& banded, const LaneKernels& kernels);

  const LaneKernels& kernels() const { return kernels_; }
  std::size_t lanes() const { return kernels_.lanes; }

  void begin(std::span<const Frame* const> frames) override;
  void add_band(std::size_t band, std::int32_t* values) override;  // sets invalid pixels to 0
  bool again() override { return false; }
  std::vector<Sums> take() override;

  // Adds the sums of another part of the same frames.
  void merge(const LaneSums& other);

 private:
  // Values that need no second look: all valid and small enough.
  struct Plain {
    std::int32_t low = 0;
    std::int32_t high = -1;
  };
  static Plain plain_values(const Plan& plan);

  void clean(std::size_t band, std::int32_t* values);
  void clean_pixel(std::size_t pixel, std::size_t lane, std::int32_t& value);
  void take_columns(const LargeVector<std::int64_t>& sums, std::vector<Sums>& taken, Quantity quantity) const;
  void add_pixel(std::size_t pixel, std::size_t lane, std::int64_t signal, std::int64_t variance);

  const Plan& plan_;
  const BandedPlan& banded_;
  const LaneKernels& kernels_;
  const Plain plain_;
  LargeVector<std::int64_t> signal_;                 // bins x lanes, in the kernels' order
  LargeVector<std::int64_t> variance_;               // likewise; empty without error model
  LargeVector<std::int32_t> one_;                    // by lane: one count, what a variance is at least
  std::vector<int> fraction_bits_;                   // by frame
  LargeVector<std::int32_t> low_, high_;             // likewise, of a band
  std::vector<std::uint32_t> outside_;               // pixels of a band that need a second look
  std::vector<std::vector<std::uint32_t>> invalid_;  // pixels of the plan, by lane
};

}  // namespace annulus
