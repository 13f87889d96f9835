#include <annulus/core/atomic_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/guarded_file.hpp>
#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/matrix_file.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>
#include <annulus/plan/csr_view.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace annulus {
namespace {

template <typename Array>
std::vector<std::int64_t> widened(const Array& values) {
  return {values.begin(), values.end()};
}

namespace fs = std::filesystem;

// Nothing is lost with a file of no bytes.
bool may_be_replaced(const fs::path& path) {
  std::error_code error;
  if (fs::file_size(path, error) == 0 && !error) return true;
  if (!probe_output(path)) return false;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kAsClosed);
  return file && H5Aexists(file.get(), "plan_hash") > 0 && has_object(file.get(), "indptr");
}

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

void write_matrix(const fs::path& path, const Plan& plan, bool overwrite) {
  const Hdf5Session scope;
  check_output_folder(path);
  std::error_code ignored;
  if (fs::exists(path, ignored) && !(overwrite && may_be_replaced(path))) {
    throw Error(
        ErrorKind::kOutput, path.string(),
        overwrite ? "is not a matrix that annulus wrote, so it is not touched" : "exists already",
        overwrite ? "choose another `save_matrix`" : "use `overwrite`, or choose another `save_matrix`");
  }
  // Under another name until it is complete: somebody may be reading the one that is there.
  remove_abandoned(path);
  fs::path partial;
  const auto fault = std::make_shared<WriteFault>();
  std::string reason;
  try {
    const Hdf5Handle access = guarded_access(fault);
    Hdf5Handle file;
    for (int attempt = 0; !file && (attempt == 0 || fault->open_error == EEXIST); ++attempt) {
      partial = temporary_name(path, attempt);
      fault->open_error = 0;
      file = Hdf5Handle(H5Fcreate(partial.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose);
    }
    if (!file) {
      throw Error(ErrorKind::kOutput, path.string(),
                  fault->open_error != 0 ? std::strerror(fault->open_error) : hdf5_reason());
    }
    write_arrays(file.get(), plan);
    if (!file.reset()) reason = hdf5_reason();
  } catch (const Error& error) {
    reason = error.fault();
  }
  if (fault->failed()) reason = std::strerror(fault->error_number);
  std::error_code error;
  if (reason.empty()) fs::rename(partial, path, error);
  if (error) reason = error.message();
  if (reason.empty()) return;
  fs::remove(partial, ignored);
  throw Error(ErrorKind::kOutput, path.string(), "the matrix cannot be written: " + reason,
              "make room, or choose another `save_matrix`");
}

}  // namespace annulus
