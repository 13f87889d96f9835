#include <annulus/device/pack_frames.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace annulus {

std::string packing_fault(const Frame& frame) {
  if (frame.payload.size() <= std::numeric_limits<std::uint32_t>::max()) return {};
  return fmt::format("its {} bytes are more than a kernel can address", frame.payload.size());
}

PackedFrames pack_frames(std::span<const Frame* const> frames) {
  PackedFrames packed;
  std::size_t beats = 0;
  for (const Frame* frame : frames) {
    const auto bytes = static_cast<std::uint32_t>(frame->payload.size());
    packed.descriptors.push_back({static_cast<std::uint32_t>(beats), bytes, one_count(*frame), 0});
    beats += kernels::beats_of(bytes);
  }
  packed.payloads.resize(beats);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Bytes& payload = frames[i]->payload;
    if (payload.size() == 0) continue;
    std::memcpy(packed.payloads.data() + packed.descriptors[i].first_beat, payload.data(), payload.size());
  }
  return packed;
}

RawPixels raw_pixels(PixelType type) {
  return visit_pixel_type(type, [](auto zero) {
    using Pixel = decltype(zero);
    return RawPixels{static_cast<std::uint32_t>(std::countr_zero(sizeof(Pixel))),
                     std::is_signed_v<Pixel> ? 1u : 0u};
  });
}

}  // namespace annulus
