// What a bench measured, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <tools/bench/bench.hpp>

#include <string>

namespace annulus::app {

std::string to_text(const BenchReport& report);
nlohmann::ordered_json to_json(const BenchReport& report);

}  // namespace annulus::app
