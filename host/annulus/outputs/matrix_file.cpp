#include <annulus/outputs/hdf5.hpp>
#include <annulus/outputs/matrix_file.hpp>
#include <annulus/plan/csr_view.hpp>

#include <cmath>

namespace annulus {
namespace {

template <typename Array>
std::vector<std::int64_t> widened(const Array& values) {
  return {values.begin(), values.end()};
}

bool is_matrix(const std::filesystem::path& path) {
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  return file && H5Aexists(file.get(), "plan_hash") > 0 && has_object(file.get(), "indptr");
}

}  // namespace

void write_matrix(const std::filesystem::path& path, const Plan& plan, bool overwrite) {
  const CsrView view = csr_by_bin(plan);
  std::vector<std::int64_t> weights;
  weights.reserve(view.data.size());
  for (const double share : view.data) weights.push_back(std::llround(std::ldexp(share, plan.weight_bits)));

  const Hdf5Session scope;
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (exists && !(overwrite && is_matrix(path))) {
    throw Error(
        ErrorKind::kOutput, path.string(),
        overwrite ? "is not a matrix that annulus wrote, so it is not touched" : "exists already",
        overwrite ? "choose another --save-matrix" : "use --overwrite, or choose another --save-matrix");
  }
  const unsigned mode = exists ? H5F_ACC_TRUNC : H5F_ACC_EXCL;
  Hdf5Handle file(H5Fcreate(path.c_str(), mode, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!file) {
    throw Error(ErrorKind::kOutput, path.string(), "the matrix cannot be written: " + hdf5_reason(),
                "check --save-matrix");
  }
  write_attribute(file.get(), "plan_hash", plan.hash);
  write_attribute(file.get(), "weight_bits", std::int32_t{plan.weight_bits});
  write_attribute(file.get(), "variance_bits", std::int32_t{plan.variance_bits});
  write_attribute(file.get(), "normalization_bits", std::int32_t{plan.normalization_bits});
  write_attribute(file.get(), "dark_bits", std::int32_t{plan.dark_bits});
  write_array(file.get(), "indptr", view.indptr);
  write_array(file.get(), "indices", widened(view.indices));
  write_array(file.get(), "data", view.data);
  write_array(file.get(), "weight", weights);
  write_array(file.get(), "shape",
              std::vector<std::int64_t>{plan.bins(), static_cast<std::int64_t>(plan.pixels())});
  write_array(file.get(), "normalization", widened(plan.normalization));
  if (!plan.dark.empty()) write_array(file.get(), "dark", widened(plan.dark));
  write_array(file.get(), "axis", plan.axis);
  if (plan.is_cake()) write_array(file.get(), "azimuth_axis", plan.azimuth_axis);
  if (!file.reset()) {
    throw Error(ErrorKind::kOutput, path.string(), "the matrix could not be written completely",
                "is the disk full?");
  }
}

}  // namespace annulus
