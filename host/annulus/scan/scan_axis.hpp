// The positions that a motor went to, found from where the frames of a scan were.
//
// A motor does not stop twice at quite the same place. Values that are closer together than a tolerance, one
// next to the other, are one position; where frames were taken on the move there are no such groups, and a
// step says how wide a position is.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace annulus {

struct AxisRule {
  // Neighbouring values that differ by at most this are one position. None: chosen from the values, see
  // find_tolerance().
  std::optional<double> tolerance = std::nullopt;

  // Instead: positions are intervals of this width. Where values crowd about places that are as far apart, as
  // of a motor that stopped there roughly, these are the middles of the intervals. Otherwise the first
  // interval begins at the least value.
  std::optional<double> step = std::nullopt;

  // Values that differ by this are the same, as 360 for angles. None: no two values are.
  std::optional<double> period = std::nullopt;

  // Whether positions were found without a word of the user.
  bool is_automatic() const { return !tolerance && !step; }
};

struct ScanAxis {
  ColumnInfo column;
  std::vector<double> positions;  // ascending: the mean of the values at each
  double tolerance = 0;           // that was used; the width of an interval where a step was given

  // Of each frame, which position it is at; kNowhere where its value is missing.
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  std::vector<std::uint32_t> position_of;

  std::size_t size() const { return positions.size(); }
  double least_step() const;  // between neighbouring positions; infinite if there is one only
};

// Steps are far apart and noise is close together: between the two, in the sorted list of distances between
// neighbouring values, is a jump to at least ten times as much. The tolerance lies in the middle of the
// largest such jump (geometrically). Noise is not taken for steps: only distances of at least a quarter of
// their mean can be steps. Without such a jump every value that differs is a position of its own.
// `sorted` ascends and has no NaN.
double find_tolerance(std::span<const double> sorted);

// One value per frame, NaN or infinite where it is missing. Throws kUsage for a rule that makes no sense,
// kInput if there are no values, if they are all the same, or if there are more positions than a map can
// have. Positions do not depend on the order of the frames.
ScanAxis find_axis(const ColumnInfo& column, std::span<const double> values, const AxisRule& rule = {});

}  // namespace annulus
