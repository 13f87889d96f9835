// Text from a file, fit for a message: short, on one line, and plain ASCII whatever the bytes were.
#pragma once

#include <string>
#include <string_view>

namespace annulus {

std::string in_quotes(std::string_view text);  // 'like this', bytes outside printable ASCII as \xNN

}  // namespace annulus
