// Shares of a pixel in the bins of a cake, over radius and azimuth.
#include <annulus/plan/splitting.hpp>

#include <algorithm>
#include <array>
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

template <double Corner::*kCoordinate>
Range extent(const Polygon& polygon) {
  Range result{polygon.corner[0].*kCoordinate, polygon.corner[0].*kCoordinate};
  for (int i = 1; i < polygon.count; ++i) {
    const double value = polygon.corner[static_cast<std::size_t>(i)].*kCoordinate;
    result.low = std::min(result.low, value);
    result.high = std::max(result.high, value);
  }
  return result;
}

// Adds the areas of the polygon in all bins it touches.
void add_areas(const Polygon& polygon, std::uint32_t radial_bins, std::uint32_t azimuth_bins,
               std::vector<Share>& areas) {
  const TouchedBins radial = touched(extent<&Corner::radial>(polygon), radial_bins);
  const TouchedBins azimuth = touched(extent<&Corner::azimuth>(polygon), azimuth_bins);
  // Coordinates are taken from the first bin, so that areas do not cancel.
  Polygon near = polygon;
  for (int i = 0; i < near.count; ++i) {
    near.corner[static_cast<std::size_t>(i)].radial -= radial.first;
    near.corner[static_cast<std::size_t>(i)].azimuth -= azimuth.first;
  }
  for (std::uint32_t j = azimuth.first; j < azimuth.end; ++j) {
    const Polygon row = keep_azimuth(near, j - azimuth.first);
    for (std::uint32_t i = radial.first; i < radial.end; ++i) {
      areas.push_back({j * radial_bins + i, area(keep_radial(row, i - radial.first))});
    }
  }
}

// Ascending, and one share per bin.
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

class CakeSplitter : public Splitter {
 public:
  CakeSplitter(const PixelPositions& positions, const BinAxis& radial, const BinAxis& azimuth,
               Splitting splitting, const std::optional<AzimuthWindow>& window)
      : Splitter(positions, splitting),
        radial_(radial),
        azimuth_(azimuth),
        window_(azimuth.closed ? std::nullopt : window),
        radial_width_(radial.width()),
        azimuth_width_(azimuth.width()) {}

  // The bins of the pixel's box.
  std::uint64_t most_shares(std::uint32_t row, std::uint32_t col) const override;

 private:
  void split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const override;
  void split_bounding_box(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const override;
  void split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const override;

  // In units of bins, along each axis.
  Range radii_of_box(std::uint32_t row, std::uint32_t col) const;
  Range azimuths_of_box(std::uint32_t row, std::uint32_t col) const;

  bool in_window(Range azimuths) const;  // in units of bins
  template <typename Visit>
  void at_every_turn(Range azimuths, Visit&& visit) const;

  std::vector<Share> azimuth_shares(Range azimuths) const;
  std::vector<Share> window_shares(Range azimuths) const;
  void share_box(const std::vector<Share>& radial, const std::vector<Share>& azimuth,
                 std::vector<Share>& shares) const;
  double turn() const { return 2 * std::numbers::pi / azimuth_width_; }  // in azimuthal bins

  BinAxis radial_;
  BinAxis azimuth_;
  std::optional<AzimuthWindow> window_;  // that the axis is, if it is less than a turn
  double radial_width_;
  double azimuth_width_;
};

Range CakeSplitter::radii_of_box(std::uint32_t row, std::uint32_t col) const {
  const double radial = positions_.radial[pixel_at(row, col)] - radial_.low;
  const double reach = positions_.radial_reach(row, col);
  return {(radial - reach) / radial_width_, (radial + reach) / radial_width_};
}

Range CakeSplitter::azimuths_of_box(std::uint32_t row, std::uint32_t col) const {
  const double azimuth = positions_.azimuth[pixel_at(row, col)] - azimuth_.low;
  const double reach = positions_.azimuth_reach(row, col);
  return {(azimuth - reach) / azimuth_width_, (azimuth + reach) / azimuth_width_};
}

bool CakeSplitter::in_window(Range azimuths) const {
  return !window_ || window_->meets({azimuth_.low + azimuths.low * azimuth_width_,
                                     azimuth_.low + azimuths.high * azimuth_width_});
}

// Calls visit(by) for the places, in bins from where the pixel is, at which it may lie on the axis.
template <typename Visit>
void CakeSplitter::at_every_turn(Range azimuths, Visit&& visit) const {
  if (window_ || (azimuth_.closed && azimuths.high > azimuth_.bins)) visit(-turn());
  visit(0.0);
  if (window_ || (azimuth_.closed && azimuths.low < 0)) visit(turn());
}

std::uint64_t CakeSplitter::most_shares(std::uint32_t row, std::uint32_t col) const {
  if (splitting_ == Splitting::kNo) return 1;
  // No corner is farther from the centre than the box, so full splitting stays within it too.
  const std::uint64_t across = touched(radii_of_box(row, col), radial_.bins).count();
  if (across == 0) return 0;
  const std::uint32_t bins = azimuth_.bins;
  Range azimuths{0, static_cast<double>(bins)};
  if (splitting_ == Splitting::kBoundingBox) {
    azimuths = azimuths_of_box(row, col);
  } else if (const auto corners = positions_.corner_azimuths(row, col); !corners.around_beam) {
    const auto& angle = corners.azimuth;
    const auto [least, largest] = std::minmax({angle[0], angle[1], angle[2], angle[3]});
    azimuths = {(least - azimuth_.low) / azimuth_width_, (largest - azimuth_.low) / azimuth_width_};
  }
  std::uint64_t along = 0;
  at_every_turn(azimuths, [&](double by) {
    along += touched({azimuths.low + by, azimuths.high + by}, bins).count();
  });
  return across * std::min<std::uint64_t>(along, bins);
}

void CakeSplitter::split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const std::size_t pixel = pixel_at(row, col);
  const double radial = (positions_.radial[pixel] - radial_.low) / radial_width_;
  double azimuth = (positions_.azimuth[pixel] - azimuth_.low) / azimuth_width_;
  if (azimuth < 0) azimuth += turn();
  if (!(radial >= 0 && radial < radial_.bins && azimuth >= 0 && azimuth < azimuth_.bins)) return;
  const auto azimuth_bin = static_cast<std::uint32_t>(azimuth);
  shares.push_back({azimuth_bin * radial_.bins + static_cast<std::uint32_t>(radial), 1.0});
}

void CakeSplitter::split_bounding_box(std::uint32_t row, std::uint32_t col,
                                      std::vector<Share>& shares) const {
  std::vector<Share> radial_shares;
  share_interval(radii_of_box(row, col), radial_.bins, radial_shares);
  const Range azimuths = azimuths_of_box(row, col);
  if (radial_shares.empty() || !in_window(azimuths)) return;
  share_box(radial_shares, azimuth_shares(azimuths), shares);
}

// A closed axis may be a little shorter than a turn, since it begins and ends with pixels. What lies in that
// gap goes to the last bin. If the gap is as wide as a bin, pixels at one end have nothing to do with the
// other: what hangs over stays at its own end, as on an axis that is not closed.
std::vector<Share> CakeSplitter::azimuth_shares(Range azimuths) const {
  if (window_) return window_shares(azimuths);
  std::vector<Share> shares;
  const auto [low, high] = azimuths;
  const std::uint32_t bins = azimuth_.bins;
  const double whole = turn();
  const double length = high - low;
  const bool goes_round = azimuth_.closed && whole - bins < 1;
  if (!goes_round || (low >= 0 && high <= whole) || !(length > 0)) {
    share_interval(azimuths, bins, shares);
    return shares;
  }
  const auto add = [&](double from, double to) {
    if (!(to > from)) return;
    const std::size_t before = shares.size();
    if (from < bins) {
      share_interval({from, to}, bins, shares);
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

// A pixel may reach into the window at both of its ends. What lies between them is then shared out over both,
// in proportion to what is inside at each, so that nothing jumps when a pixel begins to reach the other end.
std::vector<Share> CakeSplitter::window_shares(Range azimuths) const {
  struct Part {
    Range range;
    double inside;
  };
  const double bins = azimuth_.bins, gap = turn() - bins;
  std::vector<Part> parts;  // from the beginning of the axis to its end
  double inside = 0;
  for (const double by : {-turn(), 0.0, turn()}) {
    const Range range{azimuths.low + by, azimuths.high + by};
    const double overlap = std::min(range.high, bins) - std::max(range.low, 0.0);
    if (overlap < 0 || (overlap == 0 && azimuths.low < azimuths.high)) continue;
    parts.push_back({range, overlap});
    inside += overlap;
  }
  std::vector<Share> shares;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Range range = parts[i].range;
    const double hanging = gap * parts[i].inside / inside;
    if (i > 0) range.high = std::min(range.high, bins + hanging);
    if (i + 1 < parts.size()) range.low = std::max(range.low, -hanging);
    const std::size_t before = shares.size();
    share_interval(range, azimuth_.bins, shares);
    if (parts.size() == 1) break;
    const double share = (range.high - range.low) / (azimuths.high - azimuths.low);
    for (std::size_t j = before; j < shares.size(); ++j) shares[j].share *= share;
  }
  if (parts.size() > 1) merge(shares);
  return shares;
}

void CakeSplitter::share_box(const std::vector<Share>& radial, const std::vector<Share>& azimuth,
                             std::vector<Share>& shares) const {
  for (const Share& outer : azimuth) {
    for (const Share& inner : radial) {
      shares.push_back({outer.bin * radial_.bins + inner.bin, outer.share * inner.share});
    }
  }
}

void CakeSplitter::split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const {
  const PixelPositions::CornerAzimuths corners = positions_.corner_azimuths(row, col);
  const auto places = positions_.corners(row, col);
  Polygon pixel;
  for (std::size_t i = 0; i < 4; ++i) {
    pixel.add({(positions_.corner_radial[places[i]] - radial_.low) / radial_width_,
               (corners.azimuth[i] - azimuth_.low) / azimuth_width_});
  }
  const Range radial = extent<&Corner::radial>(pixel);
  const Range azimuth = extent<&Corner::azimuth>(pixel);
  const std::uint32_t azimuth_bins = azimuth_.bins;
  if (touched(radial, radial_.bins).end == 0 || (!corners.around_beam && !in_window(azimuth))) return;

  // The pixel that holds the beam is no polygon in (radius, azimuth): its radial interval stands for it, at
  // all azimuths.
  if (corners.around_beam) {
    std::vector<Share> radial_shares, all_round;
    share_interval(radial, radial_.bins, radial_shares);
    share_interval({0, static_cast<double>(azimuth_bins)}, azimuth_bins, all_round);
    return share_box(radial_shares, all_round, shares);
  }

  at_every_turn(azimuth, [&](double by) {
    Polygon turned = pixel;
    for (Corner& corner : turned.corner) corner.azimuth += by;
    if (touched({azimuth.low + by, azimuth.high + by}, azimuth_bins).end > 0) {
      add_areas(turned, radial_.bins, azimuth_bins, shares);
    }
  });
  if (shares.empty()) return;
  if (azimuth_.closed || window_) merge(shares);
  if (areas_to_shares(shares)) return;
  // No area at all, as of a pixel that is seen from its edge.
  shares.clear();
  std::vector<Share> radial_shares;
  share_interval(radial, radial_.bins, radial_shares);
  share_box(radial_shares, azimuth_shares(azimuth), shares);
}

}  // namespace

std::unique_ptr<const Splitter> make_cake_splitter(const PixelPositions& positions, const BinAxis& radial,
                                                   const BinAxis& azimuth, Splitting splitting,
                                                   const std::optional<AzimuthWindow>& window) {
  return std::make_unique<CakeSplitter>(positions, radial, azimuth, splitting, window);
}

}  // namespace annulus
