#include <annulus/backends/opencl/devices.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

namespace annulus::opencl {
namespace {

constexpr const char* kOption = "`device`";

struct Found {
  std::size_t platform;
  std::size_t index;  // in its platform
  std::string name;
  cl::Device device;

  std::string place() const { return fmt::format("{}:{}", platform, index); }
};

std::string name_of(const cl::Device& device) {
  try {
    return device.getInfo<CL_DEVICE_NAME>();
  } catch (const cl::Error&) {  // why the device cannot be used, unfit() tells
    return "unnamed";
  }
}

std::vector<Found> find_devices() {
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error&) {  // the loader found no driver
    return {};
  }
  std::vector<Found> found;
  for (std::size_t platform = 0; platform < platforms.size(); ++platform) {
    std::vector<cl::Device> devices;
    try {
      platforms[platform].getDevices(CL_DEVICE_TYPE_ALL, &devices);
    } catch (const cl::Error&) {  // a platform without devices
      continue;
    }
    for (std::size_t index = 0; index < devices.size(); ++index) {
      found.push_back({platform, index, name_of(devices[index]), devices[index]});
    }
  }
  return found;
}

std::optional<std::size_t> as_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_meant(const Found& device, std::size_t number, const std::string& which) {
  if (which == "all") return true;
  if (const auto index = as_number(which)) return number == *index;
  const std::size_t colon = which.find(':');
  if (colon != std::string::npos) {
    const auto platform = as_number(std::string_view(which).substr(0, colon));
    const auto index = as_number(std::string_view(which).substr(colon + 1));
    if (platform && index) return device.platform == *platform && device.index == *index;
  }
  return lower(device.name).find(lower(which)) != std::string::npos;
}

// Why the kernels cannot run on a device; empty if they can.
std::string unfit(const cl::Device& device) try {
  if (!device.getInfo<CL_DEVICE_AVAILABLE>()) return "not available";
  if (!device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>()) return "its driver has no compiler";
  if (!device.getInfo<CL_DEVICE_ENDIAN_LITTLE>()) return "big endian";
  const std::string version = device.getInfo<CL_DEVICE_VERSION>();  // "OpenCL 1.2 ..."
  if (version.starts_with("OpenCL 1.0") || version.starts_with("OpenCL 1.1")) return version + " is too old";
  return {};
} catch (const cl::Error& error) {
  return "its driver does not answer: " + describe(error);
}

std::string megabytes(std::uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

std::string limits_of(const cl::Device& device) {
  return fmt::format(
      "{} compute units, {}, at most {} a buffer, {} KiB local, work-groups up to {}",
      device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>(), megabytes(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()),
      megabytes(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>()),
      device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>() >> 10, device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
}

DeviceDescription describe_device(const Found& found) {
  const std::string name = fmt::format("{} {}", found.place(), found.name);
  try {
    const cl::Platform platform(found.device.getInfo<CL_DEVICE_PLATFORM>());
    const std::string text =
        fmt::format("{} ({}): {}", name, platform.getInfo<CL_PLATFORM_NAME>(), limits_of(found.device));
    const std::string reason = unfit(found.device);
    if (reason.empty()) return {text, true};
    return {fmt::format("{}; cannot be used: {}", text, reason), false};
  } catch (const cl::Error& error) {
    return {fmt::format("{}: cannot be used: its driver does not answer: {}", name, describe(error)), false};
  }
}

std::vector<Device> split(const Found& found, std::size_t parts) {
  if (parts == 1) return {{found.device, fmt::format("{} ({})", found.place(), found.name)}};
  std::size_t units = 0;
  std::vector<cl::Device> made;
  try {
    units = found.device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
    if (parts > 0 && units / parts > 0) {
      const cl_device_partition_property properties[] = {
          CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(units / parts), 0};
      cl::Device whole = found.device;
      whole.createSubDevices(properties, &made);
    }
  } catch (const cl::Error& error) {
    throw Error(ErrorKind::kBackend, fmt::format("OpenCL device {}", found.place()),
                fmt::format("it cannot be split into {}: {}", parts, describe(error)), "leave the '/' out");
  }
  if (made.size() < parts || parts == 0) {
    throw Error(ErrorKind::kBackend, fmt::format("OpenCL device {}", found.place()),
                fmt::format("it cannot be split into {}: it has {} compute units", parts, units),
                "split it into fewer");
  }
  std::vector<Device> devices;
  for (std::size_t i = 0; i < parts; ++i) {
    devices.push_back({made[i], fmt::format("{}/{} part {} ({})", found.place(), parts, i, found.name)});
  }
  return devices;
}

// The part before "/number", and the number.
std::pair<std::string, std::size_t> take_split(const std::string& part) {
  const std::size_t slash = part.rfind('/');
  if (slash == std::string::npos) return {part, 1};
  const auto number = as_number(std::string_view(part).substr(slash + 1));
  return number ? std::pair{part.substr(0, slash), *number} : std::pair{part, std::size_t{1}};
}

// The model and the instructions of this machine's processor, as the kernel lists them. What a driver
// compiles for a CPU runs only where its instructions are, and the name of the device need not tell: with a
// home folder on a network, machines of one model may differ in what their hypervisors let through.
std::string describe_processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(file, line) && !line.empty();) {  // up to the second processor
    for (const char* key : {"model name", "flags", "Features", "CPU part"}) {
      if (line.starts_with(key)) text += line + "\n";
    }
  }
  return text;
}

}  // namespace

std::vector<Device> select_devices(const std::string& which) {
  const std::vector<Found> found = find_devices();
  if (found.empty()) {
    throw Error(
        ErrorKind::kBackend, "OpenCL", "no platform has a device",
        "install the driver of your GPU, or pocl-opencl-icd for CPUs; 'clinfo -l' lists what is seen");
  }
  std::vector<Device> selected;
  std::size_t from = 0;
  while (from <= which.size()) {
    const std::size_t comma = std::min(which.find(',', from), which.size());
    const std::string part = which.substr(from, comma - from);
    from = comma + 1;
    const auto [name, parts] = take_split(part);
    if (name.empty()) {  // it would be a part of every name
      throw Error(ErrorKind::kUsage, kOption, fmt::format("'{}' names no device", which),
                  "for example 0, 0:1, 0:0,0:1, all, or a part of a name");
    }
    const std::size_t before = selected.size();
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!is_meant(found[i], i, name)) continue;
      const std::string reason = unfit(found[i].device);
      if (!reason.empty() && name == "all") continue;
      if (!reason.empty()) {
        throw Error(ErrorKind::kBackend, fmt::format("OpenCL device {}", found[i].place()), reason,
                    "choose another: see `describe_backends()`");
      }
      for (Device& device : split(found[i], parts)) selected.push_back(std::move(device));
      if (name != "all") break;
    }
    if (selected.size() > before) continue;
    std::string there;
    for (const Found& device : found)
      there += fmt::format("{}{} {}", there.empty() ? "" : ", ", device.place(), device.name);
    throw Error(ErrorKind::kBackend, kOption, fmt::format("there is no OpenCL device '{}'", name),
                fmt::format("there are: {}", there));
  }
  return selected;
}

std::vector<DeviceDescription> describe_devices() {
  std::vector<DeviceDescription> described;
  for (const Found& found : find_devices()) described.push_back(describe_device(found));
  return described;
}

std::string identity_of(const cl::Device& device) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  const bool is_cpu = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", platform.getInfo<CL_PLATFORM_VERSION>(),
                     device.getInfo<CL_DEVICE_VENDOR>(), device.getInfo<CL_DEVICE_NAME>(),
                     device.getInfo<CL_DEVICE_VERSION>(), device.getInfo<CL_DRIVER_VERSION>(),
                     device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>(), is_cpu ? describe_processor() : "");
}

}  // namespace annulus::opencl
