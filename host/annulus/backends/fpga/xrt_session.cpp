#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/xrt_session.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {
namespace {

// The compute units that the xclbin has of a kernel.
std::vector<std::unique_ptr<ComputeUnit>> open_units(const xrt::device& device, const xrt::xclbin& xclbin,
                                                     const std::string& kernel) {
  std::vector<std::unique_ptr<ComputeUnit>> units;
  for (const xrt::xclbin::ip& unit : xclbin.get_ips()) {
    const std::string full_name = unit.get_name();  // kernel:unit
    if (!full_name.starts_with(kernel + ":")) continue;
    const std::string name = full_name.substr(kernel.size() + 1);
    try {
      units.push_back(std::make_unique<ComputeUnit>(
          device, xrt::kernel(device, xclbin.get_uuid(), fmt::format("{}:{{{}}}", kernel, name)), name));
    } catch (const std::exception& error) {
      throw CardLost(fmt::format("its compute unit {} cannot be opened: {}", name, error.what()));
    }
  }
  return units;
}

}  // namespace

XrtSession::XrtSession(const xrt::device& device, std::string xclbin, double timeout_seconds)
    : xclbin_(std::move(xclbin)) {
  const xrt::xclbin content(xclbin_);
  for (const Codec codec : kKernelCodecs) {
    Units units = open_units(device, content, kernel_name(codec));
    if (!units.empty()) units_[codec] = std::move(units);
  }
  if (units_.empty()) {
    throw Error(ErrorKind::kBackend, xclbin_, "it has no kernel of this program",
                "give an xclbin that holds reduce_byte_offset, reduce_bslz4 or reduce_raw");
  }
  for (const Codec codec : kKernelCodecs) {
    const auto units = units_.find(codec);
    if (units == units_.end()) continue;
    const std::uint64_t build = units->second.front()->build_word(codec, timeout_seconds, lost);
    if (build == kernels::kBuildWord) continue;
    throw Error(
        ErrorKind::kBackend, xclbin_,
        fmt::format("its kernels are of build {:#x}, this program is for {:#x}", build, kernels::kBuildWord),
        "use xclbin and program of the same build");
  }
}

const XrtSession::Units& XrtSession::needed_units(Codec codec) const {
  const auto found = units_.find(codec);
  if (found != units_.end()) return found->second;
  throw Error(ErrorKind::kBackend, xclbin_, fmt::format("it has no kernel {}", kernel_name(codec)),
              "give an xclbin for such frames, or use the cpu backend");
}

// The caller holds the lock.
ComputeUnit& XrtSession::unit(Codec codec, std::size_t number, const DevicePlan& plan) {
  const Units& units = needed_units(codec);
  ComputeUnit& unit = *units[number % units.size()];
  if (!unit.uploaded()) unit.upload(plan);
  return unit;
}

void XrtSession::upload(Codec codec, const DevicePlan& plan) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < needed_units(codec).size(); ++i) unit(codec, i, plan);
}

bool XrtSession::busy() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const auto& entry) { return entry.second && entry.second->busy(); });
}

LaunchSlot& XrtSession::slot(Codec codec, PixelType type, std::size_t number, const DevicePlan& plan) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<LaunchSlot>& slot = slots_[{codec, number}];
  if (!slot) slot = std::make_unique<LaunchSlot>(unit(codec, number, plan), plan, codec, type);
  return *slot;
}

}  // namespace annulus
