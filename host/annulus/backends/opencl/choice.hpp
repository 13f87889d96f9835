// How a device does its work: what is measured, not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace annulus::opencl {

// Frames that are reduced side by side (LANES in kernels/common.cl).
constexpr std::uint32_t kLanes = 16;

// The three ways to integrate: frames in the lanes of vectors, a work-group for each bin, sums in local
// memory.
enum class Method { kLanes, kRows, kLocal };
std::string_view name_of(Method method);
std::optional<Method> method_from_name(std::string_view name);

struct Choice {
  Method method = Method::kLanes;
  std::uint32_t items = 8;   // kLanes: work-items; kLocal: work-groups a frame
  std::uint32_t group = 64;  // kRows, kLocal: work-items of a group

  std::uint32_t band_pixels = 1 << 16;  // decoded and integrated at one go; kRows takes whole frames
  std::uint32_t segment_bytes = 2048;   // of a byte-offset payload that a work-item decodes
  std::uint32_t decode_group = 8;       // work-items of a group, each with a segment or a block
  std::uint32_t join_group = 1;         // work-items that join the segments of a frame

  bool operator==(const Choice&) const = default;
};

// One line of text, and back; none if it is not one of these.
std::string to_text(const Choice& choice);
std::optional<Choice> choice_from_text(const std::string& text);

}  // namespace annulus::opencl
