// The frames of a scan, one after the other, wherever they come from: files, folders that grow, memory, or
// what a program makes of its own. Only info() and next() have to be written for a new one.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/core/image.hpp>
#include <annulus/sources/frame_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace annulus {

// What is known of a scan before its frames come.
struct ScanInfo {
  std::string name;                         // what messages call it: the first file
  SourceInfo frames = {};                   // shape, type, and what else the first file says
  std::vector<ColumnInfo> columns = {};     // the values in Frame::point
  std::optional<std::uint64_t> count = {};  // frames of the scan, where that is known
  std::vector<std::uint64_t> grid = {};     // points of a scan of several dimensions, the last one fastest
};

// A place of the scan that has no frame, and why.
struct BadFrame {
  FrameId id;
  Error error;
  std::vector<double> point = {};  // as in Frame; may be empty
};

// Nothing can be handed out now: the next frame is not there yet, or waits for memory that frames handed out
// before still have. The caller passes on what it has and asks again; that call waits.
struct Pause {};

using StreamItem = std::variant<Frame, BadFrame, Pause>;

class FrameDealer;  // frame_dealer.hpp

class FrameStream {
 public:
  virtual ~FrameStream() = default;

  // Waits for the first frame's header. The same at every call. Comes before the first next(). Throws kInput
  // if there is no frame that could be read, also if `stop` ends the waiting.
  virtual const ScanInfo& info(std::stop_token stop) = 0;

  // The next frame in scan order, with FrameId::index counted from 0. None after the last, and once a stop is
  // requested. One thread calls this.
  virtual std::optional<StreamItem> next(std::stop_token stop) = 0;

  // Pixels that the scan itself excludes. Throws kInput where they cannot be read.
  virtual std::optional<Mask> pixel_mask() { return std::nullopt; }

  // How many frames there will be, as far as one can guess: for a progress bar. 0 if nobody can.
  // Any thread calls this, after info().
  virtual std::uint64_t expected() { return info({}).count.value_or(0); }

  // A hint, before the first next(): so many frames should be ready when they are asked for.
  virtual void read_ahead(std::size_t frames) { static_cast<void>(frames); }

  // A hint, before the first next(): frames for which this holds need not be handed out, nor be read. Indices
  // count those that are handed out. Any thread of the stream asks.
  virtual void leave_out(const std::function<bool(const FrameId&)>& /*is_known*/) {}

  // After info() and before the first next(): only the frames of the dealer's blocks are handed out, the
  // others count as left out in FrameId, and nobody guesses how many there will be. Throws kUsage if this
  // stream cannot tell the places of its frames.
  virtual void share(std::shared_ptr<FrameDealer> dealer);

  // How many frames were left out so far because they are known.
  virtual std::uint64_t left_out() const { return 0; }

  // What the user should know of the scan as a whole, each sentence once: asked after info() and at the end.
  virtual std::vector<std::string> take_remarks() { return {}; }

  // Time spent reading, added up over threads.
  virtual double busy_seconds() const { return 0; }
};

}  // namespace annulus
