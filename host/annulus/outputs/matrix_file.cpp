#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/matrix_file.hpp>
#include <annulus/outputs/whole_file.hpp>
#include <annulus/plan/csr_view.hpp>

#include <cmath>

namespace annulus {
namespace {

template <typename Array>
std::vector<std::int64_t> widened(const Array& values) {
  return {values.begin(), values.end()};
}

bool is_matrix(hid_t file) { return H5Aexists(file, "plan_hash") > 0 && has_object(file, "indptr"); }

void write_arrays(hid_t file, const Plan& plan) {
  const CsrView view = csr_by_bin(plan);
  std::vector<std::int64_t> weights;
  weights.reserve(view.data.size());
  for (const double share : view.data) weights.push_back(std::llround(std::ldexp(share, plan.weight_bits)));

  write_attribute(file, "plan_hash", plan.hash);
  write_attribute(file, "weight_bits", std::int32_t{plan.weight_bits});
  write_attribute(file, "variance_bits", std::int32_t{plan.variance_bits});
  write_attribute(file, "normalization_bits", std::int32_t{plan.normalization_bits});
  write_attribute(file, "dark_bits", std::int32_t{plan.dark_bits});
  write_array(file, "indptr", view.indptr);
  write_array(file, "indices", widened(view.indices));
  write_array(file, "data", view.data);
  write_array(file, "weight", weights);
  write_array(file, "shape",
              std::vector<std::int64_t>{plan.bins(), static_cast<std::int64_t>(plan.pixels())});
  write_array(file, "normalization", widened(plan.normalization));
  if (!plan.dark.empty()) write_array(file, "dark", widened(plan.dark));
  for (const Axis& axis : plan.axes) {
    write_array(file, axis.kind == AxisKind::kRadial ? "axis" : "azimuth_axis", axis.centres);
  }
}

}  // namespace

void write_matrix(const std::filesystem::path& path, const Plan& plan, bool overwrite) {
  write_whole_file(path, overwrite, {"matrix", "`save_matrix`", is_matrix},
                   [&](hid_t file) { write_arrays(file, plan); });
}

}  // namespace annulus
