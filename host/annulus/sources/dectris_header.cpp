#include <annulus/sources/dectris_header.hpp>
#include <annulus/sources/header_text.hpp>

#include <cmath>
#include <string>

namespace annulus {
namespace {

// "Pixel_size 172e-6 m x 172e-6 m", "Detector: PILATUS 2M", "N_excluded_pixels = 477".
void split_line(std::string_view line, std::string_view& key, std::string_view& value) {
  const auto end = line.find_first_of(" \t:=");
  key = line.substr(0, end);
  value = end == std::string_view::npos ? std::string_view{} : line.substr(end);
  const auto start = value.find_first_not_of(" \t:=");
  value = start == std::string_view::npos ? std::string_view{} : trim(value.substr(start));
}

}  // namespace

void read_dectris_lines(std::string_view text, SourceInfo& info) {
  while (!text.empty()) {
    std::string_view line = trim(take_line(text));
    if (!line.starts_with('#')) continue;
    line = trim(line.substr(1));
    std::string_view key, value;
    split_line(line, key, value);
    if (key.empty()) continue;
    info.header.emplace_back(key, value);
    const auto number = leading_real(value);
    if (!number || !(*number > 0)) continue;
    // Beyond 2^53 a double is no exact count, and no detector's cutoff either.
    if (equal_ignoring_case(key, "Count_cutoff") && *number < 0x1p53) {
      info.max_count = static_cast<std::int64_t>(std::floor(*number));
    }
    if (equal_ignoring_case(key, "Wavelength")) info.wavelength = *number * kAngstrom;
  }
}

}  // namespace annulus
