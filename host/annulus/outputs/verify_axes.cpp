#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/verify_axes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

// Of the largest number on the axis. Centres and edges are rounded each on its own, by a few units in the
// last place (2^-52); a mistake is many orders larger.
constexpr double kAxisTolerance = 1e-12;

std::string check_axis(hid_t file, const Axis& axis) {
  const std::string_view kind = name_of(axis.kind);
  const std::vector<double>& centres = axis.centres;
  const auto edges =
      read_doubles(file, layout::path_in_data(layout::edges_field(axis.kind)), centres.size() + 1);
  if (!edges) return fmt::format("the {} axis has no readable edges of its bins", kind);
  if (edges->size() != centres.size() + 1) {
    return fmt::format("the {} axis has {} bins, but {} edges", kind, centres.size(), edges->size());
  }
  const double largest = std::max(std::abs(edges->front()), std::abs(edges->back()));
  for (std::size_t bin = 0; bin < centres.size(); ++bin) {
    const double low = (*edges)[bin], high = (*edges)[bin + 1];
    if (!(low < high)) return fmt::format("the {} axis has edges that do not ascend at bin {}", kind, bin);
    const double middle = low + (high - low) / 2;
    if (!(std::abs(centres[bin] - middle) <= kAxisTolerance * largest)) {
      return fmt::format("the {} axis has bin {} at {}, the middle of its edges is {}", kind, bin,
                         centres[bin], middle);
    }
  }
  return {};
}

// As the writer computes it, so bit for bit.
std::string check_norm(hid_t file, const Plan& plan) {
  const RowExtent bins = layout::extent_of(plan.axes);
  const bool lines = bins.lines > 0;
  std::vector<double> norm(plan.bins());
  if (read_rows(file, layout::kNorm, {lines ? bins.width : 0, 0}, 0, lines ? bins.lines : bins.width,
                H5T_NATIVE_DOUBLE, norm.data()) != ReadRows::kGood) {
    return "norm cannot be read";
  }
  const double unit = std::ldexp(1.0, -(plan.weight_bits + plan.normalization_bits));
  for (std::size_t bin = 0; bin < norm.size(); ++bin) {
    const double expected = static_cast<double>(plan.totals.normalization[bin]) * unit;
    if (norm[bin] != expected) {
      return fmt::format("norm of bin {} is {}, the plan's total gives {}", bin, norm[bin], expected);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> verify_axes(hid_t file, const Plan& plan) {
  std::vector<std::string> faults;
  for (const Axis& axis : plan.axes) faults.push_back(check_axis(file, axis));
  faults.push_back(check_norm(file, plan));
  const bool errors = has_object(file, layout::kErrors),
             variance = has_object(file, layout::sums_of(Quantity::kVariance));
  if (errors != variance) {
    faults.push_back(errors ? "has I_errors, but no variance from which they follow"
                            : "has a variance, but no I_errors");
  }
  std::erase(faults, std::string());
  return faults;
}

}  // namespace annulus
