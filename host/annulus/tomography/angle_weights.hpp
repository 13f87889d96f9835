// How much each projection counts in a back-projection.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace annulus {

enum class AngleWeighting {
  // By the spacing of directions: half the way to the next one on either side, round the half turn after
  // which directions repeat (from behind, the same lines are measured in reverse). So the weights of uneven
  // angles are right, and a scan of 360 degrees is folded: two projections of the same direction share its
  // weight.
  // A gap was not measured, as in a scan that is not finished, if it is more than 5 degrees, more than 10
  // times all steps beside it, and more than 10 times the step in which most of the rest was measured. Its
  // ends count as if the next direction were as far as the one on their other side.
  kSpacing,
  // pi / number of angles, as scikit-image has it, whatever the angles.
  kEqual
};

struct AngleWeights {
  std::vector<double> weights;  // one for each angle, radians
  double covered = 0;           // their sum: pi if all directions were measured
};

// Angles that are the same direction to within 1e-6 rad are one.
std::size_t count_directions(std::span<const double> angles);

// For a scan of a full turn: how much each position counts in a projection, before it is filtered. Where the
// axis is not in the middle, the outer lines are measured from one side only. They count twice, since their
// direction shares its weight with the one from behind; lines measured from both sides count 1 + w and 1 - w,
// where w goes smoothly from 0 to 1 towards the end of the shorter side. So every line has the same weight.
std::vector<double> weigh_positions(std::size_t positions, double axis);

// The angles must be finite and of two directions or more.
AngleWeights weigh_angles(std::span<const double> angles, AngleWeighting weighting);

}  // namespace annulus
