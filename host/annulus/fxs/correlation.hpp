// A correlation of many snapshots, with all that is known of it: what a file of one holds
// (docs/correlation.md), and what runs add up.
#pragma once

#include <annulus/correlation/correlation_sums.hpp>
#include <annulus/correlation/legendre.hpp>
#include <annulus/correlation/polar_image.hpp>
#include <annulus/fxs/snapshot_table.hpp>
#include <annulus/plan/axis.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// What two correlations must share for their sums to mean something together.
struct CorrelationSetup {
  PolarShape shape;
  int scale = 0;
  PolarOptions polar;     // the mean, and the limits of it
  Axis radial;            // the rings; without a unit if nobody says what they are
  std::string plan_hash;  // of the plan that made the cakes; empty: images were polar already
};

// Why sums of these two cannot be added, as the end of a sentence; empty if they can.
std::string difference_of(const CorrelationSetup& one, const CorrelationSetup& other);

// What Legendre coefficients are made with. None: none are made.
struct LegendreChoice {
  std::size_t highest = 20;
  double wavelength = 0;  // m; 0: a flat Ewald sphere
  bool operator==(const LegendreChoice&) const = default;
};

// How it came to be: written once, and taken over by those who add to it.
struct CorrelationOrigin {
  std::string program_version;
  std::string backend;
  std::string poni_text;
  std::string config_json;
  std::vector<std::pair<std::string, std::string>> options;  // every option of the command, as text
  std::string working_directory;                             // what names of sources are relative to
};

struct Correlation {
  CorrelationSetup setup;
  CorrelationOrigin origin;
  SnapshotTable snapshots;
  std::optional<LegendreChoice> legendre;
  bool finished = false;  // its run came to its end; else there may be more images

  // One of them. Sums add up exactly; a preview is for looking at only.
  std::optional<CorrelationSums> sums;
  std::optional<PreviewSums> preview;
};

}  // namespace annulus
