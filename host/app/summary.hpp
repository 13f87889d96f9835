// What a run did and how fast, for people and for programs.
#pragma once

#include <annulus/engine/run.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace annulus::app {

std::string to_text(const RunReport& report);
nlohmann::ordered_json to_json(const RunReport& report);

}  // namespace annulus::app
