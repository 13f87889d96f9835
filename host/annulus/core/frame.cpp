#include <annulus/core/frame.hpp>
#include <annulus/core/url.hpp>

#include <fmt/core.h>

namespace annulus {

std::uint32_t one_count(const Frame& frame) {
  constexpr int kMostBits = 28;  // of a layer's digits (codecs/quantise.hpp)
  const bool here = frame.fraction_bits >= 0 && frame.fraction_bits <= kMostBits;
  return here ? std::uint32_t{1} << frame.fraction_bits : 0;
}

std::optional<std::uint64_t> place_in_scan(const FrameId& id) {
  if (!id.left_out) return std::nullopt;
  return id.index + *id.left_out;
}

std::string describe(const FrameId& id) {
  const bool alone = !id.of_several && id.in_source == 0;
  if (alone && !split_url(id.source).dataset) return id.source;
  return fmt::format("{}, frame {}", id.source, id.in_source);
}

}  // namespace annulus
