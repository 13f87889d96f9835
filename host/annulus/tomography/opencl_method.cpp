#include <annulus/backends/opencl/devices.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/tomography/opencl_method.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

namespace annulus {
namespace {

class OpenClMethod final : public FbpMethod {
 public:
  OpenClMethod(const ScanGeometry& scan, const FbpOptions& options, std::size_t size,
               const opencl::ProjectorSettings& settings) {
    const DirectSetup setup(scan, options, size);
    for (opencl::Device& device : opencl::select_devices(options.device))
      projectors_.push_back(
          std::make_unique<opencl::Projector>(std::move(device), scan, setup, size, settings));
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& projector : projectors_) bytes += projector->host_bytes();
    return bytes;
  }

  // Each device takes the next bins when it is ready.
  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                   const std::stop_token& stop) const override {
    std::atomic<std::size_t> next = 0;
    const auto work = [&](opencl::Projector& projector) {
      const std::size_t at_once = projector.bins();
      for (std::size_t bin = next.fetch_add(at_once); bin < sinogram.bins && !stop.stop_requested();
           bin = next.fetch_add(at_once)) {
        const std::size_t count = std::min(at_once, sinogram.bins - bin);
        projector.reconstruct(sinogram.bins_from(bin, count), tomogram.bins_from(bin, count));
      }
    };
    parallel_ranges(projectors_.size(), static_cast<unsigned>(projectors_.size()),
                    [&](std::size_t begin, std::size_t end) {
                      for (std::size_t i = begin; i < end; ++i) work(*projectors_[i]);
                    });
  }

 private:
  std::vector<std::unique_ptr<opencl::Projector>> projectors_;
};

}  // namespace

std::unique_ptr<const FbpMethod> make_opencl_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size,
                                                    const opencl::ProjectorSettings& settings) {
  return std::make_unique<OpenClMethod>(scan, options, size, settings);
}

std::unique_ptr<const FbpMethod> make_opencl_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size) {
  opencl::ProjectorSettings settings;
  settings.memory = options.device_memory << 20U;
  // For tests: kernels that look at every index they use.
  settings.check_bounds = std::getenv("ANNULUS_OPENCL_CHECK_BOUNDS") != nullptr;
  return make_opencl_method(scan, options, size, settings);
}

}  // namespace annulus
