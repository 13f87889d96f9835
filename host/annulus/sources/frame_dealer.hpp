// Which frames of a scan are ours, where several processes share it.
#pragma once

#include <cstdint>
#include <optional>

namespace annulus {

// Consecutive frames, by their place among all frames of the scan (place_in_scan()).
struct FrameRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;  // behind the last
  bool operator==(const FrameRange&) const = default;
};

class FrameDealer {
 public:
  virtual ~FrameDealer() = default;

  // The next block that is ours; it lies behind all blocks before it. None: nothing more is ours, however
  // long the scan is. A block may lie behind the end of the scan, and then means nothing. May wait for
  // others. One thread at a time calls this.
  virtual std::optional<FrameRange> next() = 0;

  // Whether blocks are the same whenever they are asked for. Otherwise who asks early takes frames from
  // others, who might come to them sooner.
  virtual bool is_fixed() const { return false; }
};

}  // namespace annulus
