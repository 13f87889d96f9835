// What reduces frames: load a plan, then submit batches and collect their results in the same order.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace annulus {

// A frame that could not be reduced has an error and no sums; the frames around it are not affected.
struct FrameResult {
  FrameId id;
  std::variant<Sums, Error> outcome;

  bool good() const { return outcome.index() == 0; }
  Sums& sums() { return std::get<Sums>(outcome); }
  const Sums& sums() const { return std::get<Sums>(outcome); }
  const Error& error() const { return std::get<Error>(outcome); }
  std::string fault() const { return good() ? std::string() : error().fault(); }
};

// What a backend says of a frame whose payload does not decode.
Error damaged_frame(const Frame& frame, std::string fault);

// How a backend that has a job wants its frames.
struct Load {
  std::size_t batch = 1;      // frames that fill one batch
  std::size_t workers = 1;    // batches that it reduces at the same time
  std::size_t in_flight = 1;  // batches that it holds at most: in work, waiting, or not yet collected

  bool operator==(const Load&) const = default;
};

// Where time goes inside a backend, added up over a scan.
struct StageTime {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;  // of transfers; else 0
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Before the first submit, and again only when everything submitted was collected.
  // Throws kBackend if it cannot take the plan, or cannot do what the recipe asks for.
  virtual Load load(Job job) = 0;

  // What load() returned last.
  virtual Load loaded() const = 0;

  // Takes the frames, as their source gave them, and returns; blocks while the backend holds as many batches
  // as it can. A frame that is not one of the plan, or whose payload is not intact() after it was reduced,
  // gets an error. One thread submits.
  virtual void submit(std::vector<Frame> batch) = 0;

  // No more batches will come: collect() returns an empty vector after the last.
  virtual void finish() = 0;

  // Waits for the oldest batch not yet collected; its results in frame order. One thread collects.
  virtual std::vector<FrameResult> collect() = 0;

  // Time spent decoding and integrating, added up over threads or compute units.
  virtual double busy_seconds() const = 0;

  // Empty unless an option of the backend asked for it.
  virtual std::vector<StageTime> profile() const { return {}; }
};

// What backends have in common: read by all, and the device by those that have several.
struct CommonOptions {
  unsigned threads = 0;     // 0: all of the machine
  std::string device = "";  // xrt: index of the card, or its PCIe address; opencl: see opencl/devices.hpp

  // Without a name, the first one.
  std::string chosen_device() const { return device.empty() ? "0" : device; }
};

// A line on what a backend is and whether it can run here.
struct BackendDescription {
  std::string name;
  bool available = false;
  std::string detail;
  std::vector<std::string> devices = {};  // a line for each, where a backend has several
};

// Of one job; for any number of threads.
class FramePreparer {
 public:
  explicit FramePreparer(Job job);

  // The frame itself, or its layers (codecs/quantise.hpp). Throws kInput, naming the frame, if it does not
  // belong to the plan.
  std::vector<Frame> prepare(Frame frame) const;

 private:
  Job job_;
  std::vector<std::uint8_t> used_;  // by pixel, where values are judged on the host: 1 if the plan uses it
  double largest_dark_ = 0;         // likewise
};

// The result of a frame from those of what prepare() made of it, in the same order.
FrameResult join_layers(std::vector<FrameResult> layers);

}  // namespace annulus
