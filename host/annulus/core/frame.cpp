#include <annulus/core/frame.hpp>
#include <annulus/core/url.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {

std::uint32_t one_count(const Frame& frame) {
  constexpr int kMostBits = 30;  // it must be a pixel value: prepare_frame sees to it
  return std::uint32_t{1} << std::clamp(frame.fraction_bits, 0, kMostBits);
}

std::string describe(const FrameId& id) {
  const bool alone = !id.of_several && id.in_source == 0;
  if (alone && !split_url(id.source).dataset) return id.source;
  return fmt::format("{}, frame {}", id.source, id.in_source);
}

}  // namespace annulus
