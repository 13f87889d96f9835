#include <annulus/core/error.hpp>
#include <annulus/ranks/messaging_ranks.hpp>
#include <annulus/ranks/messenger.hpp>
#include <annulus/ranks/ranks.hpp>
#include <annulus/version.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace annulus {
namespace {

Error cannot_join(const Launch& launch, std::string fault, std::string cure) {
  const std::string started =
      launch.size > 0 ? fmt::format("started as {} ranks", launch.size) : "started as a rank";
  return {ErrorKind::kBackend, "MPI", fmt::format("{} ({}), but {}", started, launch.starter, fault),
          std::move(cure)};
}

}  // namespace

std::shared_ptr<Ranks> join_ranks(const std::filesystem::path& module) {
  const Launch launch = launch_of_environment();
  if (launch.starter.empty() || launch.size == 1) return alone();
  std::error_code ignored;
  if (!std::filesystem::exists(module, ignored)) {
    throw cannot_join(launch, fmt::format("this build speaks no MPI: there is no {}", module.string()),
                      "build with MPI, -DANNULUS_MPI=ON, or start one process; `part` shares a scan without "
                      "MPI");
  }
  // MPI loads modules itself, which look for its symbols. It is never unloaded.
  void* const opened = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr) {
    throw cannot_join(launch, fmt::format("{} cannot be loaded: {}", module.string(), ::dlerror()),
                      "load the MPI that Annulus was built with, or build it again with this one");
  }
  auto* const join = reinterpret_cast<JoinFunction*>(::dlsym(opened, kJoinFunction));
  if (join == nullptr)
    throw cannot_join(launch, module.string() + " is no module of Annulus", "install Annulus again");
  std::unique_ptr<Messenger> messenger;
  try {
    messenger.reset(join(kVersion));
  } catch (const std::runtime_error& fault) {
    throw cannot_join(launch, fault.what(), "build the module with the MPI that starts it");
  }
  const unsigned found = messenger->place().size;
  if (launch.size > 0 && found != launch.size) {
    throw cannot_join(
        launch, fmt::format("MPI finds {}", found),
        "start it with the mpirun of the MPI that Annulus was built with; with srun, choose the "
        "kind of MPI that it speaks");
  }
  if (found == 1) return alone();
  return make_messaging_ranks(std::move(messenger));
}

}  // namespace annulus
