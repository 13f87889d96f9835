// The report on the kernels' cycles, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <tools/cycles/prediction.hpp>

#include <string>

namespace annulus::app {

std::string to_text(const CycleReport& report, const Card& card, const Prediction& prediction);
nlohmann::ordered_json to_json(const CycleReport& report, const Card& card, const Prediction& prediction);

}  // namespace annulus::app
