// How the command line calls what the library knows by its keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace annulus::app {

// "--max-count" of "max_count".
std::string flag_of(std::string_view key);

// The command line has an option of the library, or of a tool, under this name: "--max-count", or "inputs"
// for arguments without a flag.
void know_name(const std::string& key, const std::string& name);

// None if no command has such an option.
std::optional<std::string> name_of_option(std::string_view key);

// A message or a help text of the library in the words of the command line: `max_count` becomes --max-count,
// `describe_backends()` becomes 'annulus devices'. What is not known stays as it is.
std::string in_our_words(std::string_view text);

}  // namespace annulus::app
