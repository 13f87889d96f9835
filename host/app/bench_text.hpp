// What a bench measured, for people and for programs.
#pragma once

#include <annulus/bench/bench.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace annulus::app {

std::string to_text(const BenchReport& report);
nlohmann::ordered_json to_json(const BenchReport& report);

}  // namespace annulus::app
