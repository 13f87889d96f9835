#include <annulus/plan/splitting.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace annulus {

void share_interval(double low, double high, std::uint32_t bins, std::vector<Share>& shares) {
  const double last = bins - 1.0;
  if (!(high >= 0) || !(low < bins)) return;
  const auto first_bin = static_cast<std::uint32_t>(std::clamp(low, 0.0, last));
  const auto last_bin = static_cast<std::uint32_t>(std::clamp(high, 0.0, last));
  if (first_bin == last_bin) {
    shares.push_back({first_bin, 1.0});
    return;
  }
  const double inverse = 1.0 / (high - low);
  shares.push_back({first_bin, (first_bin + 1.0 - low) * inverse});
  for (std::uint32_t bin = first_bin + 1; bin < last_bin; ++bin) shares.push_back({bin, inverse});
  const double rest = (high - last_bin) * inverse;
  if (rest > 0) shares.push_back({last_bin, rest});
}

std::uint64_t touched_bins(double low, double high, std::uint32_t bins) {
  const double last = bins - 1.0;
  if (!(high >= 0) || !(low < bins)) return 0;
  return static_cast<std::uint64_t>(std::clamp(high, 0.0, last)) -
         static_cast<std::uint64_t>(std::clamp(low, 0.0, last)) + 1;
}

PixelSplitter::PixelSplitter(const PixelPositions& positions, const BinAxis& axis, Splitting splitting,
                             std::optional<AzimuthWindow> window)
    : positions_(positions), axis_(axis), splitting_(splitting), window_(window), width_(axis.width()) {}

void PixelSplitter::split(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  shares.clear();
  switch (splitting_) {
    case Splitting::kNo:
      return split_centre(row, col, shares);
    case Splitting::kBoundingBox:
      return split_bounding_box(row, col, shares);
    case Splitting::kFull:
      return split_full(row, col, shares);
  }
}

std::uint64_t PixelSplitter::most_shares(std::uint32_t row, std::uint32_t col) const {
  if (splitting_ == Splitting::kNo) return 1;
  const std::size_t pixel = std::size_t{row} * positions_.shape.cols + col;
  double azimuth_low = 0, azimuth_high = 0;
  if (window_ && splitting_ == Splitting::kBoundingBox) {
    const double reach = positions_.azimuth_reach(row, col);
    azimuth_low = positions_.azimuth[pixel] - reach;
    azimuth_high = positions_.azimuth[pixel] + reach;
  } else if (window_) {
    const auto azimuth = positions_.corner_azimuths(row, col).azimuth;
    std::tie(azimuth_low, azimuth_high) = std::minmax({azimuth[0], azimuth[1], azimuth[2], azimuth[3]});
  }
  if (window_ && (azimuth_high < window_->low || azimuth_low > window_->high)) return 0;
  // No corner is farther from the centre than this, so full splitting stays within it too.
  const double centre = positions_.radial[pixel], reach = positions_.radial_reach(row, col);
  return touched_bins((centre - reach - axis_.low) / width_, (centre + reach - axis_.low) / width_,
                      axis_.bins);
}

void PixelSplitter::split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const std::size_t pixel = std::size_t{row} * positions_.shape.cols + col;
  if (window_) {
    const double azimuth = positions_.azimuth[pixel];
    if (azimuth < window_->low || azimuth > window_->high) return;
  }
  const double bin = (positions_.radial[pixel] - axis_.low) / width_;
  if (bin >= 0 && bin < axis_.bins) shares.push_back({static_cast<std::uint32_t>(bin), 1.0});
}

void PixelSplitter::split_bounding_box(std::uint32_t row, std::uint32_t col,
                                       std::vector<Share>& shares) const {
  const std::size_t pixel = std::size_t{row} * positions_.shape.cols + col;
  if (window_) {
    const double azimuth = positions_.azimuth[pixel];
    const double reach = positions_.azimuth_reach(row, col);
    if (azimuth + reach < window_->low || azimuth - reach > window_->high) return;
  }
  const double centre = positions_.radial[pixel];
  const double reach = positions_.radial_reach(row, col);
  share_interval((centre - reach - axis_.low) / width_, (centre + reach - axis_.low) / width_, axis_.bins,
                 shares);
}

void PixelSplitter::split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const auto [azimuth, on_cut, around_beam] = positions_.corner_azimuths(row, col);
  std::array<double, 4> bin{};
  const auto corners = positions_.corners(row, col);
  for (int i = 0; i < 4; ++i) bin[i] = (positions_.corner_radial[corners[i]] - axis_.low) / width_;
  const auto span = [](const std::array<double, 4>& a) { return std::minmax({a[0], a[1], a[2], a[3]}); };
  const auto [azimuth_low, azimuth_high] = span(azimuth);
  if (window_ && (azimuth_high < window_->low || azimuth_low > window_->high)) return;

  const auto [low, high] = span(bin);
  if (!(high >= 0) || !(low < axis_.bins)) return;
  const double floor_low = std::floor(low), floor_high = std::floor(high);
  // The pixel that holds the beam is no polygon in (radius, azimuth): its radial interval stands for it.
  if (around_beam || floor_low == floor_high) return share_interval(low, high, axis_.bins, shares);

  const auto first_bin = static_cast<std::uint32_t>(std::max(0.0, floor_low));
  const auto end_bin = static_cast<std::uint32_t>(std::min<double>(axis_.bins, floor_high + 1));
  // Signed area of the polygon within each bin: the integral of azimuth over radius along its edges. Azimuths
  // are taken from the pixel's lowest, so that the sum does not cancel.
  double total = 0;
  for (std::uint32_t target = first_bin; target < end_bin; ++target) {
    double area = 0;
    for (int i = 0; i < 4; ++i) {
      const int j = (i + 1) % 4;
      const double left = std::clamp<double>(bin[i], target, target + 1.0);
      const double right = std::clamp<double>(bin[j], target, target + 1.0);
      if (left == right) continue;
      const double slope = (azimuth[j] - azimuth[i]) / (bin[j] - bin[i]);
      const double middle = azimuth[i] - azimuth_low + slope * (0.5 * (left + right) - bin[i]);
      area += middle * (right - left);
    }
    shares.push_back({target, area});
    total += area;
  }
  // Corners in order give areas of one sign; what rounding leaves on the other side is nothing.
  std::erase_if(shares, [&](const Share& share) { return !(share.share / total > 0); });
  total = 0;
  for (const Share& share : shares) total += share.share;
  for (Share& share : shares) share.share /= total;
  if (total == 0 || shares.empty()) {
    shares.clear();
    share_interval(low, high, axis_.bins, shares);
  }
}

}  // namespace annulus
