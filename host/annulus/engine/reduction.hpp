// From files to patterns: source -> backend -> sink, all stages at once, results in scan order.
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/core/error.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/sources/frame_source.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct ReductionSettings {
  OpenOptions open;
  unsigned readers = 2;                                    // threads that read files
  bool keep_going = false;                                 // a bad frame is recorded and the scan goes on
  std::size_t memory_for_frames = std::size_t{512} << 20;  // bytes that wait or are in work

  // Looks at every file when it is opened; may throw Error to refuse it.
  std::function<void(const FrameSource&, const std::string& url)> check_file = {};

  const std::atomic<bool>* stop_requested = nullptr;  // set by a signal: end after what is in work
};

struct ReductionProgress {
  std::uint64_t frames = 0;  // written
  std::uint64_t bad = 0;
  std::uint64_t expected = 0;  // a guess until all files were opened
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

// The first file that can be read, which speaks for the scan. Throws kInput with the first file's error if
// there is none; one that is followed is waited for.
struct ProbedSource {
  std::string url;
  std::unique_ptr<const FrameSource> source;
};
ProbedSource probe_source(const std::vector<std::string>& urls, const OpenOptions& open,
                          const std::atomic<bool>* stop_requested = nullptr);
FrameProperties properties_of(const ProbedSource& probed);

// What it tells of its frames.
FrameProperties probe_frames(const std::vector<std::string>& urls, const OpenOptions& open);

// `backend` has `plan` loaded, so that one which refuses it costs no output.
// Everything that was reduced is in the sink when this returns or throws; the sink is left open.
// A bad frame without keep_going ends the scan: see first_fault. Throws what the sink or the backend throw.
ReductionSummary reduce_files(const std::vector<std::string>& urls, std::shared_ptr<const Plan> plan,
                              Backend& backend, Sink& sink, const ReductionSettings& settings,
                              const std::function<void(const ReductionProgress&)>& on_progress = {});

}  // namespace annulus
