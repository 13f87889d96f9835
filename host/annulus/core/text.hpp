// Text from outside, made fit for messages and for outputs: names of files are bytes, and files hold
// anything.
#pragma once

#include <string>
#include <string_view>

namespace annulus {

// For messages: 'like this', short, on one line, bytes outside printable ASCII as \xNN.
std::string in_quotes(std::string_view text);

// The text with U+FFFD in place of every byte that is not part of valid UTF-8, and of zeros.
std::string to_utf8(std::string_view bytes);

// Cut to `length` bytes without breaking a character; three dots stand for what is gone.
std::string keep_tail(std::string_view text, std::size_t length);
std::string keep_head(std::string_view text, std::size_t length);

}  // namespace annulus
