#include <annulus/core/error.hpp>
#include <annulus/tomography/fbp_method.hpp>

namespace annulus {

// Where a build has no OpenCL, instead of opencl_method.cpp.
std::unique_ptr<const FbpMethod> make_opencl_method(const ScanGeometry&, const FbpOptions&, std::size_t) {
  throw Error(ErrorKind::kBackend, "`way`", "'opencl' is not available: this build has no OpenCL",
              "build with -DANNULUS_OPENCL=ON, or take the direct way, which gives the same");
}

}  // namespace annulus
