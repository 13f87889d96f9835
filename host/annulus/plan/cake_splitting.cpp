#include <annulus/plan/cake_splitting.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace annulus {
namespace {

struct Corner {
  double radial;
  double azimuth;
};

// Four corners, and at most two more for each of the four lines that cut out a bin.
struct Polygon {
  std::array<Corner, 12> corner;
  int count = 0;

  void add(Corner point) { corner[static_cast<std::size_t>(count++)] = point; }
};

// What of the polygon is on one side of a line across one coordinate (Sutherland and Hodgman). Of a polygon
// that is not convex pieces stay joined along the line, which adds nothing to its area.
template <double Corner::*kAcross, double Corner::*kAlong>
Polygon keep(const Polygon& polygon, double line, bool above) {
  Polygon kept;
  const auto inside = [&](const Corner& corner) {
    return above ? corner.*kAcross >= line : corner.*kAcross <= line;
  };
  for (int i = 0; i < polygon.count; ++i) {
    const Corner& from = polygon.corner[static_cast<std::size_t>(i)];
    const Corner& to = polygon.corner[static_cast<std::size_t>(i + 1 == polygon.count ? 0 : i + 1)];
    if (inside(from)) kept.add(from);
    if (inside(from) == inside(to)) continue;
    Corner crossing{};
    crossing.*kAcross = line;
    const double share = (line - from.*kAcross) / (to.*kAcross - from.*kAcross);
    crossing.*kAlong = from.*kAlong + share * (to.*kAlong - from.*kAlong);
    kept.add(crossing);
  }
  return kept;
}

Polygon keep_radial(const Polygon& polygon, double low) {
  return keep<&Corner::radial, &Corner::azimuth>(keep<&Corner::radial, &Corner::azimuth>(polygon, low, true),
                                                 low + 1, false);
}

Polygon keep_azimuth(const Polygon& polygon, double low) {
  return keep<&Corner::azimuth, &Corner::radial>(keep<&Corner::azimuth, &Corner::radial>(polygon, low, true),
                                                 low + 1, false);
}

// Signed, twice the area: only ratios count.
double area(const Polygon& polygon) {
  double sum = 0;
  for (int i = 0; i < polygon.count; ++i) {
    const Corner& from = polygon.corner[static_cast<std::size_t>(i)];
    const Corner& to = polygon.corner[static_cast<std::size_t>(i + 1 == polygon.count ? 0 : i + 1)];
    sum += from.radial * to.azimuth - to.radial * from.azimuth;
  }
  return sum;
}

struct Extent {
  double low;
  double high;
};

template <double Corner::*kCoordinate>
Extent extent(const Polygon& polygon) {
  Extent result{polygon.corner[0].*kCoordinate, polygon.corner[0].*kCoordinate};
  for (int i = 1; i < polygon.count; ++i) {
    const double value = polygon.corner[static_cast<std::size_t>(i)].*kCoordinate;
    result.low = std::min(result.low, value);
    result.high = std::max(result.high, value);
  }
  return result;
}

// Bins [first, end) that an interval touches.
struct BinRange {
  std::uint32_t first;
  std::uint32_t end;
};
BinRange touched(Extent extent, std::uint32_t bins) {
  if (!(extent.high >= 0) || !(extent.low < bins)) return {0, 0};
  const double last = bins - 1.0;
  return {static_cast<std::uint32_t>(std::clamp(extent.low, 0.0, last)),
          static_cast<std::uint32_t>(std::clamp(extent.high, 0.0, last)) + 1};
}

// Adds the areas of the polygon in all bins it touches.
void add_areas(const Polygon& polygon, const CakeAxes& axes, std::vector<Share>& areas) {
  const BinRange radial = touched(extent<&Corner::radial>(polygon), axes.radial.bins);
  const BinRange azimuth = touched(extent<&Corner::azimuth>(polygon), axes.azimuth.bins);
  // Coordinates are taken from the first bin, so that areas do not cancel.
  Polygon near = polygon;
  for (int i = 0; i < near.count; ++i) {
    near.corner[static_cast<std::size_t>(i)].radial -= radial.first;
    near.corner[static_cast<std::size_t>(i)].azimuth -= azimuth.first;
  }
  for (std::uint32_t j = azimuth.first; j < azimuth.end; ++j) {
    const Polygon row = keep_azimuth(near, j - azimuth.first);
    for (std::uint32_t i = radial.first; i < radial.end; ++i) {
      areas.push_back({j * axes.radial.bins + i, area(keep_radial(row, i - radial.first))});
    }
  }
}

// Ascending, and one share a bin.
void merge(std::vector<Share>& shares) {
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.bin < b.bin; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (kept > 0 && shares[kept - 1].bin == shares[i].bin) {
      shares[kept - 1].share += shares[i].share;
    } else {
      shares[kept++] = shares[i];
    }
  }
  shares.resize(kept);
}

// Corners in order give areas of one sign; what rounding leaves on the other side is nothing. False if the
// areas add up to nothing.
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

}  // namespace

CakeSplitter::CakeSplitter(const PixelPositions& positions, const CakeAxes& axes, Splitting splitting)
    : positions_(positions),
      axes_(axes),
      splitting_(splitting),
      radial_width_(axes.radial.width()),
      azimuth_width_(axes.azimuth.width()) {}

double CakeSplitter::turn() const { return 2 * std::numbers::pi / azimuth_width_; }

void CakeSplitter::split(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
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

std::uint64_t CakeSplitter::most_shares(std::uint32_t row, std::uint32_t col) const {
  if (splitting_ == Splitting::kNo) return 1;
  const std::size_t pixel = std::size_t{row} * positions_.shape.cols + col;
  // No corner is farther from the centre than this, so full splitting stays within it too.
  const double radial = positions_.radial[pixel] - axes_.radial.low;
  const double radial_reach = positions_.radial_reach(row, col);
  const std::uint64_t across = touched_bins((radial - radial_reach) / radial_width_,
                                            (radial + radial_reach) / radial_width_, axes_.radial.bins);
  if (across == 0) return 0;
  const std::uint32_t bins = axes_.azimuth.bins;
  double low = 0, high = bins;
  if (splitting_ == Splitting::kBoundingBox) {
    const double azimuth = positions_.azimuth[pixel] - axes_.azimuth.low;
    const double azimuth_reach = positions_.azimuth_reach(row, col);
    low = (azimuth - azimuth_reach) / azimuth_width_;
    high = (azimuth + azimuth_reach) / azimuth_width_;
  } else if (const auto corners = positions_.corner_azimuths(row, col); !corners.around_beam) {
    const auto& angle = corners.azimuth;
    const auto [least, largest] = std::minmax({angle[0], angle[1], angle[2], angle[3]});
    low = (least - axes_.azimuth.low) / azimuth_width_;
    high = (largest - axes_.azimuth.low) / azimuth_width_;
  }
  std::uint64_t along = touched_bins(low, high, bins);
  if (axes_.closed && low < 0) along += touched_bins(low + turn(), high + turn(), bins);
  if (axes_.closed && high > bins) along += touched_bins(low - turn(), high - turn(), bins);
  return across * std::min<std::uint64_t>(along, bins);
}

void CakeSplitter::split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const std::size_t pixel = std::size_t{row} * positions_.shape.cols + col;
  const double radial = (positions_.radial[pixel] - axes_.radial.low) / radial_width_;
  const double azimuth = (positions_.azimuth[pixel] - axes_.azimuth.low) / azimuth_width_;
  if (!(radial >= 0 && radial < axes_.radial.bins && azimuth >= 0 && azimuth < axes_.azimuth.bins)) return;
  const auto azimuth_bin = static_cast<std::uint32_t>(azimuth);
  shares.push_back({azimuth_bin * axes_.radial.bins + static_cast<std::uint32_t>(radial), 1.0});
}

void CakeSplitter::split_bounding_box(std::uint32_t row, std::uint32_t col,
                                      std::vector<Share>& shares) const {
  const std::size_t pixel = std::size_t{row} * positions_.shape.cols + col;
  const double radial = positions_.radial[pixel] - axes_.radial.low;
  const double radial_reach = positions_.radial_reach(row, col);
  std::vector<Share> radial_shares;
  share_interval((radial - radial_reach) / radial_width_, (radial + radial_reach) / radial_width_,
                 axes_.radial.bins, radial_shares);
  if (radial_shares.empty()) return;
  const double azimuth = positions_.azimuth[pixel] - axes_.azimuth.low;
  const double azimuth_reach = positions_.azimuth_reach(row, col);
  share_box(
      radial_shares,
      azimuth_shares((azimuth - azimuth_reach) / azimuth_width_, (azimuth + azimuth_reach) / azimuth_width_),
      shares);
}

// A closed axis may be a little shorter than a turn, since it begins and ends with pixels. What lies in that
// gap goes to the last bin. If the gap is as wide as a bin, pixels at one end have nothing to do with the
// other: what hangs over stays at its own end, as on an axis that is not closed.
std::vector<Share> CakeSplitter::azimuth_shares(double low, double high) const {
  std::vector<Share> shares;
  const std::uint32_t bins = axes_.azimuth.bins;
  const double whole = turn();
  const double length = high - low;
  const bool goes_round = axes_.closed && whole - bins < 1;
  if (!goes_round || (low >= 0 && high <= whole) || !(length > 0)) {
    share_interval(low, high, bins, shares);
    return shares;
  }
  const auto add = [&](double from, double to) {
    if (!(to > from)) return;
    const std::size_t before = shares.size();
    if (from < bins) {
      share_interval(from, to, bins, shares);
    } else {
      shares.push_back({bins - 1, 1.0});
    }
    for (std::size_t i = before; i < shares.size(); ++i) shares[i].share *= (to - from) / length;
  };
  add(low + whole, whole);  // what is before the beginning; empty unless low < 0
  add(std::max(low, 0.0), std::min(high, whole));
  add(0, high - whole);  // what is behind the end
  merge(shares);
  return shares;
}

void CakeSplitter::share_box(const std::vector<Share>& radial, const std::vector<Share>& azimuth,
                             std::vector<Share>& shares) const {
  for (const Share& outer : azimuth) {
    for (const Share& inner : radial) {
      shares.push_back({outer.bin * axes_.radial.bins + inner.bin, outer.share * inner.share});
    }
  }
}

void CakeSplitter::split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const PixelPositions::CornerAzimuths corners = positions_.corner_azimuths(row, col);
  const auto places = positions_.corners(row, col);
  Polygon pixel;
  for (std::size_t i = 0; i < 4; ++i) {
    pixel.add({(positions_.corner_radial[places[i]] - axes_.radial.low) / radial_width_,
               (corners.azimuth[i] - axes_.azimuth.low) / azimuth_width_});
  }
  const Extent radial = extent<&Corner::radial>(pixel);
  const Extent azimuth = extent<&Corner::azimuth>(pixel);
  const std::uint32_t azimuth_bins = axes_.azimuth.bins;
  if (touched(radial, axes_.radial.bins).end == 0) return;

  // The pixel that holds the beam is no polygon in (radius, azimuth): its radial interval stands for it, at
  // all azimuths.
  if (corners.around_beam) {
    std::vector<Share> radial_shares, all_round;
    share_interval(radial.low, radial.high, axes_.radial.bins, radial_shares);
    share_interval(0, azimuth_bins, azimuth_bins, all_round);
    return share_box(radial_shares, all_round, shares);
  }

  const auto add_turned = [&](double by) {
    Polygon turned = pixel;
    for (Corner& corner : turned.corner) corner.azimuth += by;
    if (touched({azimuth.low + by, azimuth.high + by}, azimuth_bins).end > 0) {
      add_areas(turned, axes_, shares);
    }
  };
  add_turned(0);
  if (axes_.closed && azimuth.low < 0) add_turned(turn());
  if (axes_.closed && azimuth.high > azimuth_bins) add_turned(-turn());
  if (shares.empty()) return;
  if (axes_.closed) merge(shares);
  if (areas_to_shares(shares)) return;
  // No area at all, as of a pixel that is seen from its edge.
  shares.clear();
  std::vector<Share> radial_shares;
  share_interval(radial.low, radial.high, axes_.radial.bins, radial_shares);
  share_box(radial_shares, azimuth_shares(azimuth.low, azimuth.high), shares);
}

}  // namespace annulus
