#include <annulus/backends/opencl/cache_folder.hpp>
#include <annulus/backends/opencl/program.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <cstring>

namespace annulus::opencl {
namespace {

constexpr const char* kProgramKind = "program";

std::optional<cl::Program> from_cache(const cl::Context& context, const Device& device,
                                      const std::string& key, const std::string& options) {
  const auto cached = read_cached(kProgramKind, key);
  if (!cached || cached->empty()) return std::nullopt;
  std::vector<unsigned char> binary(cached->size());
  std::memcpy(binary.data(), cached->data(), cached->size());
  try {
    cl::Program program(context, {device.device}, cl::Program::Binaries{binary});
    program.build({device.device}, options.c_str());
    return program;
  } catch (const cl::Error&) {  // the driver does not want it any more
    return std::nullopt;
  }
}

void to_cache(const cl::Program& program, const std::string& key) {
  try {
    const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
    if (binaries.size() == 1) write_cached(kProgramKind, key, std::as_bytes(std::span(binaries.front())));
  } catch (const cl::Error&) {  // a driver that gives no binaries
  }
}

}  // namespace

cl::Program build_program(const cl::Context& context, const Device& device, const std::string& source,
                          const std::string& options) {
  const std::string key = identity_of(device.device) + "\n" + options + "\n" + source;
  if (auto program = from_cache(context, device, key, options)) return *program;
  cl::Program program(context, source);
  try {
    program.build({device.device}, options.c_str());
  } catch (const cl::Error& error) {
    std::string log;
    try {
      log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device.device);
    } catch (const cl::Error&) {  // the fault is told without
    }
    throw Error(
        ErrorKind::kBackend, fmt::format("OpenCL device {}", device.name),
        fmt::format("its driver does not compile the kernels ({}); it says:\n{}", describe(error), log),
        "update the driver, and report this if it stays");
  }
  to_cache(program, key);
  return program;
}

}  // namespace annulus::opencl
