// How the area of one pixel is shared out over bins (docs/concepts.md shows the three ways).
#pragma once

#include <annulus/plan/extent.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace annulus {

struct Share {
  std::uint32_t bin = 0;
  double share = 0;
};

// Gives the shares of any pixel, to any number of threads.
class Splitter {
 public:
  virtual ~Splitter() = default;

  // The pixel's shares in ascending bins: all positive, sum 1; none if it is out of range.
  void split(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;

  // A bound of their number that is quickly found.
  virtual std::uint64_t most_shares(std::uint32_t row, std::uint32_t col) const = 0;

 protected:
  Splitter(const PixelPositions& positions, Splitting splitting)
      : positions_(positions), splitting_(splitting) {}

  virtual void split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const = 0;
  virtual void split_bounding_box(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const = 0;
  virtual void split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const = 0;

  std::size_t pixel_at(std::uint32_t row, std::uint32_t col) const {
    return std::size_t{row} * positions_.shape.cols + col;
  }

  const PixelPositions& positions_;
  const Splitting splitting_;
};

// Over the radius, or over radius and azimuth: bins are numbered azimuthal bin * radial bins + radial bin.
// The positions must outlive the splitter. A window of azimuths selects pixels, each of which then counts
// whole; a cake has the window as its azimuthal axis.
std::unique_ptr<const Splitter> make_splitter(const PixelPositions& positions,
                                              const std::vector<BinAxis>& axes, Splitting splitting,
                                              const std::optional<AzimuthWindow>& window = std::nullopt);

// What make_splitter chooses from. There are two, because they have little in common beyond the functions
// below: full splitting over one axis integrates along the pixel's edges, over two axes it clips polygons.
// And the order in which each subtracts decides the last bit of a share, hence the weights of plans.
std::unique_ptr<const Splitter> make_pattern_splitter(const PixelPositions& positions, const BinAxis& radial,
                                                      Splitting splitting,
                                                      const std::optional<AzimuthWindow>& window);
std::unique_ptr<const Splitter> make_cake_splitter(const PixelPositions& positions, const BinAxis& radial,
                                                   const BinAxis& azimuth, Splitting splitting,
                                                   const std::optional<AzimuthWindow>& window);

// Bins [first, end) that an interval in units of bins touches; none: end is 0.
struct TouchedBins {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  std::uint32_t count() const { return end - first; }
};
TouchedBins touched(Range interval, std::uint32_t bins);

// Shares of an interval in units of bins, added to `shares`: they sum to 1, or there are none if nothing of
// it is on the axis. What hangs over the ends of the axis goes to the end bins, so that a pixel that is seen
// at all counts whole.
void share_interval(Range interval, std::uint32_t bins, std::vector<Share>& shares);

// Areas of a polygon's parts, of either sign, become shares that sum to 1. False if they add up to nothing.
bool areas_to_shares(std::vector<Share>& shares);

}  // namespace annulus
