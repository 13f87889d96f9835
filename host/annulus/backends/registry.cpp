#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#ifdef ANNULUS_WITH_OPENCL
#include <annulus/backends/opencl/opencl_backend.hpp>
#endif

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace annulus {
namespace {

[[maybe_unused]] BackendEntry absent(const char* name, const char* why) {
  return {name, [=]() -> BackendDescription { return {name, false, why}; }, nullptr, true};
}

// One line per backend of the library.
std::vector<BackendEntry> built_in() {
  using Options = BackendOptions;
  return {
      {"cpu", describe_cpu_backend, [](const Options& o) { return make_cpu_backend(o, o.cpu); }},
      {"model", describe_model_backend, [](const Options& o) { return make_model_backend(o); }},
#ifdef ANNULUS_WITH_XRT
      {"xrt", describe_xrt_backend, [](const Options& o) { return make_xrt_backend(o, o.xrt); }, true},
#else
      absent("xrt", "Alveo cards: this build has no XRT"),
#endif
#ifdef ANNULUS_WITH_OPENCL
      {"opencl", describe_opencl_backend, [](const Options& o) { return make_opencl_backend(o, o.opencl); },
       true},
#else
      absent("opencl", "GPUs and CPUs: this build has no OpenCL"),
#endif
  };
}

std::mutex registering;

std::vector<BackendEntry>& entries() {
  static std::vector<BackendEntry> all = built_in();
  return all;
}

std::vector<BackendEntry> known_backends() {
  const std::lock_guard lock(registering);
  return entries();
}

std::optional<BackendEntry> find_entry(const std::string& name) {
  for (const BackendEntry& entry : known_backends()) {
    if (entry.name == name) return entry;
  }
  return std::nullopt;
}

// The first option that is not what it is by itself; none if all are.
template <typename Options>
const char* first_set(const Options& options) {
  const Options unset;
  const char* found = nullptr;
  for_each_option(options, [&](const OptionInfo& info, const auto& value) {
    for_each_option(unset, [&](const OptionInfo& other, const auto& usual) {
      if constexpr (std::is_same_v<decltype(value), decltype(usual)>) {
        if (found == nullptr && std::string_view(info.key) == other.key && value != usual) found = info.key;
      }
    });
  });
  return found;
}

[[noreturn]] void refuse_option(const char* key, const std::string& name, const std::string& cure) {
  throw Error(ErrorKind::kUsage, fmt::format("`{}`", key),
              fmt::format("it means nothing to the {} backend", name), cure);
}

template <typename Options>
void refuse_for_others(const Options& options, const char* owner, const std::string& name) {
  if (name == owner) return;
  if (const char* const key = first_set(options))
    refuse_option(key, name, fmt::format("leave it out, or choose `backend` {}", owner));
}

}  // namespace

void check_options(const std::string& name, const BackendOptions& options) {
  refuse_for_others(options.cpu, "cpu", name);
  refuse_for_others(options.opencl, "opencl", name);
  refuse_for_others(options.xrt, "xrt", name);
  const auto entry = find_entry(name);
  if (options.device != CommonOptions().device && entry && !entry->has_devices)
    refuse_option("device", name, "give `backend` xrt or `backend` opencl too");
  check(options.cpu);
  check(options.opencl);
  check(options.xrt);
}

std::vector<BackendDescription> describe_backends() {
  std::vector<BackendDescription> descriptions;
  for (const BackendEntry& entry : known_backends()) descriptions.push_back(entry.describe());
  return descriptions;
}

std::vector<std::string> devices_of(const std::string& name) {
  const auto entry = find_entry(name);
  if (!entry || !entry->has_devices) return {};
  return entry->describe().devices;
}

std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options) {
  const auto entry = find_entry(name);
  if (entry && !entry->make) {
    throw Error(ErrorKind::kBackend, "`backend`",
                fmt::format("'{}' is not available: {}", name, entry->describe().detail));
  }
  if (entry) {
    check_options(name, options);
    return entry->make(options);
  }
  std::string known;
  for (const BackendEntry& other : known_backends()) known += (known.empty() ? "" : ", ") + other.name;
  throw Error(ErrorKind::kBackend, "`backend`", fmt::format("there is no '{}'", name),
              fmt::format("known are {}; `describe_backends()` tells what they can run on", known));
}

void register_backend(BackendEntry entry) {
  const std::lock_guard lock(registering);
  for (const BackendEntry& other : entries()) {
    if (other.name != entry.name) continue;
    throw Error(ErrorKind::kUsage, entry.name, "a backend of this name is there already",
                "register it once, or choose another name");
  }
  entries().push_back(std::move(entry));
}

}  // namespace annulus
