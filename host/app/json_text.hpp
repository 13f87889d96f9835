// JSON as text for people and files; names that are not UTF-8 are shown, not fatal. All of it is ASCII
// without control characters: what a terminal would obey is escaped.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace annulus::app {

template <typename Json>
std::string as_text(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace);
}

}  // namespace annulus::app
