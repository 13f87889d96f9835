#include <annulus/core/frame.hpp>

#include <fmt/format.h>

namespace annulus {

std::string describe(const Frame& frame) {
  if (frame.frame_in_source == 0 && frame.source.find("::") == std::string::npos) return frame.source;
  return fmt::format("{}, frame {}", frame.source, frame.frame_in_source);
}

}  // namespace annulus
