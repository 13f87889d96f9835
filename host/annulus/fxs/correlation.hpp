// A correlation of many snapshots, with all that is known of it: what a file of one holds
// (docs/correlation.md), and what runs add up.
#pragma once

#include <annulus/correlation/correlation_sums.hpp>
#include <annulus/correlation/polar_image.hpp>
#include <annulus/fxs/snapshot_table.hpp>
#include <annulus/plan/axis.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// What two correlations must share for their sums to mean something together.
struct CorrelationSetup {
  PolarShape shape;
  int scale = 0;
  PolarOptions polar;               // the mean, and the limits of it
  Axis radial;                      // the rings; without a unit if nobody says what they are
  std::string plan_hash;            // of the plan that made the cakes; empty: images were polar already
  double normalization_factor = 1;  // divided the cakes
  std::string monitor;              // so did a monitor: its name in its table, file or header; empty: none
};

// Why sums of these two cannot be added: "`scale` is 4 here and 5 there". Empty if they can.
std::string difference_of(const CorrelationSetup& here, const CorrelationSetup& there);

// What Legendre coefficients are made with.
struct LegendreChoice {
  std::size_t highest = 20;    // the largest l
  double wavelength = 0;       // in the reciprocal unit of q; 0: a flat Ewald sphere
  std::vector<double> q = {};  // of each ring; empty if the wavelength is 0
  bool operator==(const LegendreChoice&) const = default;
};

// "`legendre`: 4 here, not given there". Empty if both make the same coefficients.
std::string difference_of(const std::optional<LegendreChoice>& here,
                          const std::optional<LegendreChoice>& there);

// How it came to be: written once, and taken over by those who add to it.
struct CorrelationOrigin {
  std::string backend;
  std::string poni_text;
  std::string config_json;
  std::string working_directory;                             // what names of sources are relative to
  std::vector<std::pair<std::string, std::string>> options;  // every option of the command, as text
};

// All but the sums.
struct CorrelationRecord {
  CorrelationSetup setup;
  CorrelationOrigin origin;
  SnapshotTable snapshots;
  std::optional<LegendreChoice> legendre;  // none: no coefficients are made
  bool finished = false;                   // its run came to its end; else there may be more snapshots
};

struct Correlation {
  CorrelationRecord record;
  CorrelationSums sums;
};

}  // namespace annulus
