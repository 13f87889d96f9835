// How the area of one pixel is shared out over the bins of a cake, radius x azimuth.
#pragma once

#include <annulus/plan/splitting.hpp>

#include <array>

namespace annulus {

struct CakeAxes {
  BinAxis radial;
  BinAxis azimuth;  // radian, in the turn that begins at the cut of the pixels' positions
  // Pixels lie on the cut: what leaves the axis at one end comes in at the other, if it is there.
  bool closed = false;
};

class CakeSplitter {
 public:
  CakeSplitter(const PixelPositions& positions, const CakeAxes& axes, Splitting splitting);

  // The pixel's shares in ascending bins (azimuthal bin * radial bins + radial bin): all positive, sum 1;
  // none if it is out of range.
  void split(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;

  // A bound of their number that is quickly found: the bins of the pixel's box.
  std::uint64_t most_shares(std::uint32_t row, std::uint32_t col) const;

 private:
  void split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;
  void split_bounding_box(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;
  void split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;

  // Of an interval in units of azimuthal bins.
  std::vector<Share> azimuth_shares(double low, double high) const;
  void share_box(const std::vector<Share>& radial, const std::vector<Share>& azimuth,
                 std::vector<Share>& shares) const;
  double turn() const;  // in azimuthal bins

  const PixelPositions& positions_;
  CakeAxes axes_;
  Splitting splitting_;
  double radial_width_;
  double azimuth_width_;
};

}  // namespace annulus
