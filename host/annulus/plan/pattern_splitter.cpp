// Shares of a pixel in the bins of a pattern, over the radius.
#include <annulus/plan/splitting.hpp>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

Range span(const std::array<double, 4>& values) {
  const auto [low, high] = std::minmax({values[0], values[1], values[2], values[3]});
  return {low, high};
}

class PatternSplitter : public Splitter {
 public:
  PatternSplitter(const PixelPositions& positions, const BinAxis& axis, Splitting splitting,
                  const std::optional<AzimuthWindow>& window)
      : Splitter(positions, splitting), axis_(axis), window_(window), width_(axis.width()) {}

  std::uint64_t most_shares(std::uint32_t row, std::uint32_t col) const override {
    if (splitting_ == Splitting::kNo) return 1;
    const bool box = splitting_ == Splitting::kBoundingBox;
    if (!(box ? box_in_window(row, col) : polygon_in_window(positions_.corner_azimuths(row, col)))) return 0;
    // No corner is farther from the centre than the box, so full splitting stays within it too.
    return touched(bins_of_box(row, col), axis_.bins).count();
  }

 private:
  void split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const override {
    const std::size_t pixel = pixel_at(row, col);
    if (window_ && !window_->meets({positions_.azimuth[pixel], positions_.azimuth[pixel]})) return;
    const double bin = (positions_.radial[pixel] - axis_.low) / width_;
    if (bin >= 0 && bin < axis_.bins) shares.push_back({static_cast<std::uint32_t>(bin), 1.0});
  }

  void split_bounding_box(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const override {
    if (!box_in_window(row, col)) return;
    share_interval(bins_of_box(row, col), axis_.bins, shares);
  }

  void split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const override;

  bool box_in_window(std::uint32_t row, std::uint32_t col) const {
    if (!window_) return true;
    const double azimuth = positions_.azimuth[pixel_at(row, col)];
    const double reach = positions_.azimuth_reach(row, col);
    return window_->meets({azimuth - reach, azimuth + reach});
  }

  bool polygon_in_window(const PixelPositions::CornerAzimuths& corners) const {
    return !window_ || corners.around_beam || window_->meets(span(corners.azimuth));
  }

  Range bins_of_box(std::uint32_t row, std::uint32_t col) const {
    const double centre = positions_.radial[pixel_at(row, col)];
    const double reach = positions_.radial_reach(row, col);
    return {(centre - reach - axis_.low) / width_, (centre + reach - axis_.low) / width_};
  }

  BinAxis axis_;
  std::optional<AzimuthWindow> window_;
  double width_;
};

void PatternSplitter::split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const PixelPositions::CornerAzimuths pixel = positions_.corner_azimuths(row, col);
  if (!polygon_in_window(pixel)) return;
  const std::array<double, 4>& azimuth = pixel.azimuth;
  const double lowest = span(azimuth).low;
  std::array<double, 4> bin{};
  const auto corners = positions_.corners(row, col);
  for (std::size_t i = 0; i < 4; ++i) bin[i] = (positions_.corner_radial[corners[i]] - axis_.low) / width_;
  const Range bins = span(bin);
  const TouchedBins range = touched(bins, axis_.bins);
  // The pixel that holds the beam is no polygon in (radius, azimuth): its radial interval stands for it.
  if (pixel.around_beam || range.count() <= 1) return share_interval(bins, axis_.bins, shares);

  // Signed area of the polygon within each bin: the integral of azimuth over radius along its edges. Azimuths
  // are taken from the pixel's lowest, so that the sum does not cancel.
  for (std::uint32_t target = range.first; target < range.end; ++target) {
    double area = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t j = (i + 1) % 4;
      const double left = std::clamp<double>(bin[i], target, target + 1.0);
      const double right = std::clamp<double>(bin[j], target, target + 1.0);
      if (left == right) continue;
      const double slope = (azimuth[j] - azimuth[i]) / (bin[j] - bin[i]);
      const double middle = azimuth[i] - lowest + slope * (0.5 * (left + right) - bin[i]);
      area += middle * (right - left);
    }
    shares.push_back({target, area});
  }
  if (areas_to_shares(shares)) return;
  shares.clear();
  share_interval(bins, axis_.bins, shares);
}

}  // namespace

std::unique_ptr<const Splitter> make_pattern_splitter(const PixelPositions& positions, const BinAxis& radial,
                                                      Splitting splitting,
                                                      const std::optional<AzimuthWindow>& window) {
  return std::make_unique<PatternSplitter>(positions, radial, splitting, window);
}

}  // namespace annulus
