// One process's share of a scan that several reduce together, each into an output of its own: a part.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/outputs/scan_parts.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/sources/frame_dealer.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace annulus {

// How a run comes to know its share. The thread of the run calls name_part(), opens the output, and calls
// deal(), once each.
struct Share {
  // Given how many frames the scan seems to have (0: nobody knows), deals out those of this process.
  std::function<std::shared_ptr<FrameDealer>(std::uint64_t expected)> deal;

  // Given the output of the whole run, says where this process writes its part. Empty: into the output
  // itself.
  std::function<std::filesystem::path(const std::filesystem::path& output)> name_part = {};

  // Whether another part holds a frame already, which is then left out. Any thread asks, while frames are
  // read. Empty: nobody else holds any.
  std::function<Held(const FrameId& frame)> held_elsewhere = {};
};

// "_03_of_16": parts of one scan have names of their own, which sort as they count. Empty for no part.
std::string suffix_of_part(const std::string& text);

// Every N-th block of a fixed number of frames. Needs nothing but the part: the processes of a job array do
// not know of each other.
std::shared_ptr<FrameDealer> deal_part(Part part);
inline constexpr std::uint64_t kFramesPerBlock = 8;

// The share of a part: `share_of(parse_part(config.part))`.
Share share_of(Part part);

}  // namespace annulus
