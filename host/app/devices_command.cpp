#include <annulus/backends/registry.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json_text.hpp"

namespace annulus::app {

Command add_devices(CLI::App& program) {
  CLI::App* const command = program.add_subcommand("devices", "List backends and what they can run on");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  return [json] {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const BackendDescription& backend : describe_backends()) {
      list.push_back({{"name", backend.name},
                      {"available", backend.available},
                      {"detail", backend.detail},
                      {"devices", backend.devices}});
      if (!*json) {
        fmt::print("{:<8} {:<4} {}\n", backend.name, backend.available ? "yes" : "no", backend.detail);
        for (const std::string& device : backend.devices) fmt::print("{:<13} {}\n", "", device);
      }
    }
    if (*json) fmt::print("{}\n", as_text(list));
    return kSuccess;
  };
}

}  // namespace annulus::app
