// One process's share of a scan that several reduce together, each into an output of its own: a part.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/outputs/held_frames.hpp>
#include <annulus/outputs/scan_parts.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/sources/frame_dealer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

// A scan that several processes are to share, as one of them sees it.
struct SharedScan {
  std::filesystem::path output;    // of the whole run
  std::vector<std::string> files;  // all inputs, in their order
  std::uint64_t expected = 0;      // frames that it seems to have (0: nobody knows)

  // Throws unless a file that an earlier run left can be put together with ours.
  std::function<void(const std::filesystem::path& file)> check;
};

// Where a process writes its part, and what it must know of other parts that are there.
struct PartPlace {
  std::filesystem::path path;
  std::shared_ptr<const PlaceSet> taken = {};  // places in the scan that they hold
  std::size_t source_length = 0;               // of the names of sources in them; 0: there are none
};

// How a run comes to know its share. The thread of the run calls name_part(), opens the output, and calls
// deal(), once each.
struct Share {
  // Given how many frames the scan seems to have (0: nobody knows), deals out those of this process.
  std::function<std::shared_ptr<FrameDealer>(std::uint64_t expected)> deal;

  // Says where this process writes its part. Empty: into the output itself.
  std::function<PartPlace(const SharedScan& scan)> name_part = {};

  // Whether another part holds a frame already, which is then left out. Any thread asks, while frames are
  // read. Empty: nobody else holds any.
  std::function<Held(const FrameId& frame)> held_elsewhere = {};
};

// "_03_of_16": parts of one scan have names of their own, which sort as they count. Empty for no part.
std::string suffix_of_part(const std::string& text);

// Places of frames follow from the order of files. Throws kOutput if files that `held` knows have other
// places among these than they had: files came between them, or went.
void check_order(const std::vector<std::string>& files, const HeldFrames& held);

// Every N-th block of a fixed number of frames. Needs nothing but the part: the processes of a job array do
// not know of each other.
std::shared_ptr<FrameDealer> deal_part(Part part);
inline constexpr std::uint64_t kFramesPerBlock = 8;

// The share of a part: `share_of(parse_part(config.part))`.
Share share_of(Part part);

}  // namespace annulus
