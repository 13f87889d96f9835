#include <annulus/plan/splitting.hpp>

#include <algorithm>

namespace annulus {

void Splitter::split(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
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

std::unique_ptr<const Splitter> make_splitter(const PixelPositions& positions,
                                              const std::vector<BinAxis>& axes, Splitting splitting,
                                              const std::optional<AzimuthWindow>& window) {
  if (axes.size() == 1) return make_pattern_splitter(positions, axes[0], splitting, window);
  return make_cake_splitter(positions, axes.at(0), axes.at(1), splitting, window);
}

TouchedBins touched(Range interval, std::uint32_t bins) {
  if (!(interval.high >= 0) || !(interval.low < bins)) return {};
  const double last = bins - 1.0;
  return {static_cast<std::uint32_t>(std::clamp(interval.low, 0.0, last)),
          static_cast<std::uint32_t>(std::clamp(interval.high, 0.0, last)) + 1};
}

void share_interval(Range interval, std::uint32_t bins, std::vector<Share>& shares) {
  const TouchedBins range = touched(interval, bins);
  if (range.count() == 0) return;
  if (range.count() == 1) {
    shares.push_back({range.first, 1.0});
    return;
  }
  const std::uint32_t last = range.end - 1;
  const double inverse = 1.0 / (interval.high - interval.low);
  shares.push_back({range.first, (range.first + 1.0 - interval.low) * inverse});
  for (std::uint32_t bin = range.first + 1; bin < last; ++bin) shares.push_back({bin, inverse});
  const double rest = (interval.high - last) * inverse;
  if (rest > 0) shares.push_back({last, rest});
}

// Corners in order give areas of one sign; what rounding leaves on the other side is nothing.
bool areas_to_shares(std::vector<Share>& shares) {
  double total = 0;
  for (const Share& share : shares) total += share.share;
  std::erase_if(shares, [total](const Share& share) { return !(share.share / total > 0); });
  total = 0;
  for (const Share& share : shares) total += share.share;
  if (total == 0 || shares.empty()) return false;
  for (Share& share : shares) share.share /= total;
  return true;
}

}  // namespace annulus
