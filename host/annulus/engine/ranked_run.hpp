// What runs that the ranks of a job share have in common, whatever they make of the frames: each does its
// part, all begin and end together, and the first speaks for all.
#pragma once

#include <annulus/engine/run.hpp>
#include <annulus/engine/share.hpp>
#include <annulus/ranks/ranks.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

// What a rank did, or several together.
struct PartSummary {
  ReductionSummary summary = {};
  std::vector<std::string> warnings = {};
  bool failed = false;   // a bad frame ended it
  bool aborted = false;  // an error did, and nothing else is known
};

class RankedRun {
 public:
  // `stop` ends all ranks.
  RankedRun(Ranks& ranks, const RunHooks& hooks, std::stop_token stop);

  // The hooks of our part: only those of the first rank speak, of all.
  RunHooks hooks();

  // Our share. All ranks call `begin` at the same time, after they have agreed on the scan.
  Share share(std::function<PartPlace(const SharedScan& scan)> begin,
              std::function<Held(const FrameId& frame)> held_elsewhere);

  // Calls `work`, which reduces our share. Where it throws before all have begun, nobody begins: throws
  // FailedTogether. An error that it throws later is kept in failure().
  void do_part(const std::function<void()>& work);
  const std::optional<Error>& failure() const { return failure_; }

  // Stops all ranks if ours failed, and waits until all have done their parts. `parts` is where they are, for
  // messages.
  void meet(bool failed, const std::filesystem::path& parts);

  // What all did, in the first rank; ours in the others.
  PartSummary gather(const PartSummary& ours);

 private:
  void agree_on(const SharedScan& scan);

  Ranks& ranks_;
  RunHooks hooks_;
  std::stop_callback<std::function<void()>> pass_on_;
  bool begun_ = false;
  std::optional<Error> failure_;
  std::uint64_t expected_ = 0;
};

// What a link as output points to: parts lie beside the file that a master really is.
std::filesystem::path real_output(const std::filesystem::path& output);

// Ranks of a node take different devices, one after the other, unless the user chose one.
std::string device_of(const IntegrateConfig& config, const Ranks& ranks);

}  // namespace annulus
