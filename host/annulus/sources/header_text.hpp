// Pieces of text headers: trimming, numbers, comparison without case.
#pragma once

#include <annulus/core/bytes.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace annulus {

using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

std::string_view as_text(std::span<const std::byte> bytes);

// Without spaces, line ends and NUL at both ends.
std::string_view trim(std::string_view text);

bool equal_ignoring_case(std::string_view a, std::string_view b);

// The position of `needle` in `text` without regard to case, or npos.
std::size_t find_ignoring_case(std::string_view text, std::string_view needle);

// Removes and returns the first line of `text`, without its LF or CR LF.
std::string_view take_line(std::string_view& text);

// The whole text must be the number; surrounding spaces are allowed.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);

// The number at the start of the text ("0.68940 A", "1050854 counts").
std::optional<double> leading_real(std::string_view text);

// The last value with this key, without regard to case; none if it is absent.
std::optional<std::string_view> find_value(const HeaderPairs& pairs, std::string_view key);

// Text from a file for messages: control and non-ASCII bytes as '?', at most `limit` characters.
std::string printable(std::string_view text, std::size_t limit = 60);

}  // namespace annulus
