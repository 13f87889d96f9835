// Numbers in the headers of frames, by the names that users know them by.
#pragma once

#include <annulus/sources/header_text.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace annulus {

struct HeaderNumber {
  double value = 0;         // NaN if there is none
  std::string unit;         // "0.1 s" -> "s", "12.3 deg." -> "deg"; empty if none is stated
  std::string text;         // as the header has it
  bool is_missing = false;  // the header says so itself: nothing, nan or (nil)
};

// "Exposure_time 0.1 s" by its key, without regard to case. Also the pairs in which EDF files keep lists:
// motor_mne = x y, motor_pos = 1.5 2.5, and counter_mne with counter_pos. None if there is no such name.
std::optional<HeaderNumber> find_header_number(const HeaderPairs& header, std::string_view key);

// The names whose values are numbers, as a sentence for messages.
std::string header_keys(const HeaderPairs& header);

}  // namespace annulus
