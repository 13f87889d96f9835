// What frames cost in the kernels: iterations of every stage, traffic of every FIFO and memory port. The
// kernels run in software; an iteration is a clock if the hardware reaches an initiation interval of 1.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// Averages over the frames. Of a frame: what it costs in the midst of a launch of many. Of a launch: what
// that costs besides, however many frames it has. To tell one from the other, every frame is launched once
// alone and once twice over: the difference is the frame's.
struct StageCycles {
  std::string name;
  double iterations_a_frame = 0;
  double iterations_a_launch = 0;
};

struct FifoUse {
  std::string name;
  std::size_t depth = 0;
  double elements_a_frame = 0;
  std::size_t high_water = 0;  // most elements held at once, by the replay (sim/replay.hpp)
};

enum class PcieDirection { kNone, kToCard, kFromCard };

struct PortTraffic {
  std::string name;
  double bytes_a_frame = 0;
  PcieDirection pcie = PcieDirection::kNone;  // whether the host moves these bytes for every frame too
};

// Of kernels that decode independent blocks: what one engine gives, and how many the lanes need.
struct EngineUse {
  unsigned engines = 0;
  double bytes_a_frame = 0;       // decoded
  double bytes_an_iteration = 0;  // of one engine: by the slower of its two stages
  double lane_bytes = 0;          // a clock, if all lanes get a pixel

  // To keep the lanes busy.
  unsigned needed() const;
};

struct CycleReport {
  std::string kernel;
  std::uint64_t frames = 0;
  std::size_t pixels = 0;
  std::uint32_t bins = 0;
  double payload_bytes_a_frame = 0;
  double clocks_a_frame = 0;  // of the whole kernel, with the waits of stages for each other: by the replay
  double clocks_a_launch = 0;
  std::vector<StageCycles> stages;
  std::vector<FifoUse> fifos;
  std::vector<PortTraffic> ports;
  std::optional<EngineUse> engines;

  // The first of those with the most iterations a frame: the kernel cannot take fewer clocks.
  const StageCycles& limiting_stage() const;
};

class CycleCounter {
 public:
  // Throws kBackend if the kernels cannot take the job.
  explicit CycleCounter(Job job);
  ~CycleCounter();

  // Throws kInput for a frame that is damaged or needs another kernel than those before.
  void add(const Frame& frame);

  // Of the frames so far, at least one.
  CycleReport report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace annulus
