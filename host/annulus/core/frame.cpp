#include <annulus/core/frame.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace annulus {

std::uint32_t one_count(const Frame& frame) {
  constexpr int kMostBits = 30;  // it must be a pixel value: prepare_frame sees to it
  return std::uint32_t{1} << std::clamp(frame.fraction_bits, 0, kMostBits);
}

std::string describe(const Frame& frame) {
  const bool alone = !frame.of_several && frame.frame_in_source == 0;
  if (alone && frame.source.find("::") == std::string::npos) return frame.source;
  return fmt::format("{}, frame {}", frame.source, frame.frame_in_source);
}

}  // namespace annulus
