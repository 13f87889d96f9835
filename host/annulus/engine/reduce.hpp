// From frames to patterns: stream -> backend -> sink, all stages at once, results in scan order.
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/core/error.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/sources/frame_stream.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace annulus {

struct ReductionSettings {
  bool keep_going = false;                                     // a bad frame is recorded and the scan goes on
  std::uint64_t memory_for_frames = std::uint64_t{512} << 20;  // bytes that the stream has for frames
  double normalization_factor = 1;                             // divides every pattern
  std::optional<std::string> monitor = {};                     // a column of the scan that divides, too
};

struct ReductionProgress {
  std::uint64_t frames = 0;  // written
  std::uint64_t bad = 0;
  std::uint64_t expected = 0;  // as FrameStream::expected(): a guess; 0 if nobody knows
};

struct ReductionSummary {
  std::uint64_t frames = 0;  // written, good and bad
  std::uint64_t bad = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t pixels = 0;  // of good frames
  bool interrupted = false;

  double wall_seconds = 0;    // of the whole scan, without the plan
  double read_seconds = 0;    // added up over readers
  double reduce_seconds = 0;  // added up over the backend's threads
  double write_seconds = 0;

  std::optional<Error> first_fault;  // what ended the scan, or the first bad frame with keep_going
};

// `backend` has `job` loaded, so that one which refuses it costs no output.
// Everything that was reduced is in the sink when this returns or throws; the sink is left open. A stop
// request ends the scan after what is in work. A bad frame without keep_going ends it too: see first_fault.
// Throws what the stream, the sink or the backend throw.
ReductionSummary reduce(FrameStream& stream, const Job& job, Backend& backend, Sink& sink,
                        const ReductionSettings& settings = {}, std::stop_token stop = {},
                        const std::function<void(const ReductionProgress&)>& on_progress = {});

}  // namespace annulus
