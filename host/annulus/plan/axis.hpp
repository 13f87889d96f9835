// One direction in which the bins of a plan lie. A pattern has one axis, the radius; a cake has two, radius
// and azimuth.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

enum class AxisKind { kRadial, kAzimuth };

// "radial", "azimuthal".
std::string_view name_of(AxisKind kind);

struct Axis {
  AxisKind kind = AxisKind::kRadial;
  std::string name = {};             // in output files: "2theta", "q" or "r"; "chi"
  std::string units = {};            // in output files: "deg", "1/angstrom", ...; "degrees"
  std::vector<double> centres = {};  // of the bins, in `units`
  std::vector<double> edges = {};    // of the bins: one more

  std::size_t bins() const { return centres.size(); }
  // Where the axis begins and ends. An output file of another program may have no edges.
  double low() const { return edges.empty() ? centres.front() : edges.front(); }
  double high() const { return edges.empty() ? centres.back() : edges.back(); }

  bool operator==(const Axis&) const = default;
};

// Bins side by side.
struct BinRange {
  std::size_t first = 0;
  std::size_t end = 0;  // the one after the last
  std::size_t size() const { return end - first; }
  bool operator==(const BinRange&) const = default;
};

// Of all axes together; the first axis varies fastest. 0 without any axis.
inline std::size_t bin_count(const std::vector<Axis>& axes) {
  std::size_t count = axes.empty() ? 0 : 1;
  for (const Axis& axis : axes) count *= axis.bins();
  return count;
}

// For plots: "2θ (°)".
std::string label_of(const Axis& axis);

}  // namespace annulus
