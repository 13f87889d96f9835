// Which frames some outputs hold: what those who go on with a scan leave out.
#pragma once

#include <annulus/outputs/place_set.hpp>
#include <annulus/outputs/sink.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct HeldFrames {
  std::function<Held(const FrameId& frame)> find;  // any thread
  std::shared_ptr<PlaceSet> places;                // in the scan

  // The place of the first frame of a source, as that of any of its frames says; none if no frame of it is
  // held.
  std::function<std::optional<std::uint64_t>(const std::string& source)> first_place;
  std::size_t source_length = 0;  // of the names of sources; 0 without outputs
};

// Reads these outputs once, now. Names of frames' sources are relative to `folder`. Outputs that do not exist
// hold nothing. Throws kInput.
HeldFrames held_frames(const std::vector<std::filesystem::path>& outputs,
                       const std::filesystem::path& folder);

}  // namespace annulus
