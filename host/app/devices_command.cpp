#include <annulus/backends/registry.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json_text.hpp"
#include "print.hpp"

namespace annulus::app {

void add_devices(CommandLine& program) {
  Command command = program.add_command("devices", "List backends and what they can run on");
  const auto json = std::make_shared<bool>(false);
  command.add("json", json.get(), "Print JSON");
  command.set_action([json] {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const BackendDescription& backend : describe_backends()) {
      list.push_back({{"name", backend.name},
                      {"available", backend.available},
                      {"detail", backend.detail},
                      {"devices", backend.devices}});
      if (!*json) {
        print("{:<8} {:<4} {}\n", backend.name, backend.available ? "yes" : "no", backend.detail);
        for (const std::string& device : backend.devices) print("{:<13} {}\n", "", device);
      }
    }
    if (*json) print("{}\n", as_text(list));
    return kSuccess;
  });
}

}  // namespace annulus::app
