#include "replay.hpp"

#include <algorithm>

namespace annulus_sim {
namespace {

// The clocks of all reads and writes of one stream so far, in order.
struct Fifo {
  std::size_t depth = 0;
  std::vector<std::uint64_t> written;
  std::vector<std::uint64_t> read;

  std::size_t high_water() const {
    std::size_t most = 0;
    std::size_t gone = 0;  // elements that were read before the clock of the write
    for (std::size_t i = 0; i < written.size(); ++i) {
      while (gone < read.size() && read[gone] < written[i]) ++gone;
      most = std::max(most, i + 1 - gone);
    }
    return most;
  }
};

class StageReplay {
 public:
  explicit StageReplay(const std::vector<Step>& steps) : steps_(&steps) {}

  bool ended() const { return next_ == steps_->size(); }
  std::uint64_t clock() const { return clock_; }

  // Goes on until it would have to wait for a stage that is not that far yet; false if it does so at once.
  bool run(std::vector<Fifo>& fifos) {
    const std::size_t first = next_;
    while (!ended() && take((*steps_)[next_], fifos)) ++next_;
    return next_ != first;
  }

 private:
  bool take(Step step, std::vector<Fifo>& fifos) {
    if (step == kIterates) {
      ++clock_;
      return true;
    }
    Fifo& fifo = fifos[(step - 1) / 2];
    if (step == reads_stream((step - 1) / 2)) {
      const std::size_t element = fifo.read.size();
      if (element >= fifo.written.size()) return false;
      clock_ = std::max(clock_, fifo.written[element] + 1);
      fifo.read.push_back(clock_);
    } else {
      const std::size_t element = fifo.written.size();
      if (element >= fifo.read.size() + fifo.depth) return false;
      if (element >= fifo.depth) clock_ = std::max(clock_, fifo.read[element - fifo.depth] + 1);
      fifo.written.push_back(clock_);
    }
    return true;
  }

  const std::vector<Step>* steps_;
  std::size_t next_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace

Replay replay(const LaunchReport& report) {
  std::vector<Fifo> fifos(report.streams.size());
  for (std::size_t i = 0; i < fifos.size(); ++i) {
    fifos[i].depth = report.streams[i].depth;
    fifos[i].written.reserve(report.streams[i].writes);
    fifos[i].read.reserve(report.streams[i].writes);
  }
  std::vector<StageReplay> stages;
  for (const StageReport& stage : report.stages) stages.emplace_back(stage.steps);

  for (bool moved = true; moved;) {
    moved = false;
    for (StageReplay& stage : stages) moved = stage.run(fifos) || moved;
  }
  Replay result;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].ended()) {
      throw SimulationError("replay: " + report.stages[i].name + " waits for ever at the declared depths");
    }
    result.clocks = std::max(result.clocks, stages[i].clock());
  }
  for (const Fifo& fifo : fifos) result.high_water.push_back(fifo.high_water());
  return result;
}

}  // namespace annulus_sim
