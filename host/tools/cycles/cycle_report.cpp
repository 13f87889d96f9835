#include <annulus/backends/common/backend.hpp>
#include <annulus/backends/fpga/check_result.hpp>
#include <annulus/backends/fpga/kernel_launch.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/unpack_result.hpp>
#include <annulus/codecs/block_decoder.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <replay.hpp>
#include <tools/cycles/cycle_report.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace annulus {
namespace {

using annulus_sim::LaunchReport;

constexpr const char* kName = "model-report";

// What a random read of a few bytes costs a memory: it moves no less at once.
constexpr double kLeastRead = 64;

const annulus_sim::StreamTraffic& stream_of(const LaunchReport& report, const std::string& name) {
  const auto found = std::find_if(report.streams.begin(), report.streams.end(),
                                  [&](const auto& stream) { return stream.name == name; });
  if (found == report.streams.end()) {
    throw Error(ErrorKind::kBackend, kName, fmt::format("the kernel has no stream '{}'", name),
                "this is a fault of the program: please report it");
  }
  return *found;
}

std::vector<PortTraffic> ports_of(const LaunchReport& launch, const LaunchSums& sums) {
  using enum PcieDirection;
  const auto writes = [&](const char* name) { return static_cast<double>(stream_of(launch, name).writes); };
  const auto bytes = [](const auto& beats) { return static_cast<double>(beats.size() * sizeof(beats[0])); };
  std::vector<PortTraffic> ports;
  ports.push_back({"descriptors", sizeof(kernels::FrameDescriptor), kToCard});
  ports.push_back({"frames", writes("payload") * sizeof(kernels::Beat), kToCard});
  for (int port = 0; port < kernels::kTablePorts; ++port) {
    ports.push_back({fmt::format("table{}", port), writes("table") * sizeof(kernels::TableSlice), kNone});
  }
  // The last share of a frame only says so, and reads nothing.
  ports.push_back({"corrections", (writes("shares") - 1) * kLeastRead, kNone});
  ports.push_back({"results", bytes(sums.results), kFromCard});
  ports.push_back({"missing", bytes(sums.missing), kFromCard});
  return ports;
}

}  // namespace

const StageCycles& CycleReport::limiting_stage() const {
  return *std::max_element(stages.begin(), stages.end(), [](const StageCycles& a, const StageCycles& b) {
    return a.iterations_a_frame < b.iterations_a_frame;
  });
}

namespace {

// One launch: what its stages did, and when they would have done it in hardware.
struct TimedLaunch {
  LaunchReport report;
  annulus_sim::Replay replay;
  LaunchSums sums;
};

Error fault_of_kernels(const std::string& what) {
  return Error(ErrorKind::kBackend, kName, what, "this is a fault of the kernels: please report it");
}

TimedLaunch launch_recorded(const DevicePlan& plan, const Frame& frame, std::size_t times) {
  const std::vector<const Frame*> frames(times, &frame);
  const PackedFrames payloads = pack_frames(frames);
  TimedLaunch timed;
  annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
  launch.record_steps();
  try {
    launch.run([&] { timed.sums = call_kernel(plan, frame.codec, frame.type, payloads); });
    timed.report = launch.report();
    timed.replay = annulus_sim::replay(timed.report);
  } catch (const annulus_sim::SimulationError& error) {
    throw fault_of_kernels(error.what());
  }
  const std::string fault = launch_fault(plan, frames, payloads.descriptors, timed.sums);
  if (!fault.empty()) throw fault_of_kernels(fault);
  return timed;
}

// What the second time of a frame costs, and what the launch does besides.
struct Split {
  double frame = 0;
  double launch = 0;
};

Split split(std::uint64_t once, std::uint64_t twice) {
  const double frame = static_cast<double>(twice) - static_cast<double>(once);
  return {frame, static_cast<double>(once) - frame};
}

}  // namespace

struct CycleCounter::State {
  Job job;
  std::optional<FramePreparer> preparer;
  DevicePlan packed;
  Codec codec = Codec::kRaw;
  PixelType type = PixelType::kI32;
  CycleReport totals;  // sums over the frames, where the report has averages

  void check(const Frame& frame) const;
  void check(const Frame& frame, const LaunchSums& sums) const;
  void begin(const Frame& frame, const TimedLaunch& launch);
  void add(const Frame& frame);
};

CycleCounter::CycleCounter(Job job) : state_(new State) {
  demand_sums_only(job.recipe, kName);
  state_->packed = pack_plan(*job.plan, job.recipe, kName);
  state_->totals.pixels = job.plan->pixels();
  state_->totals.bins = job.plan->bins();
  state_->preparer.emplace(job);
  state_->job = std::move(job);
}

CycleCounter::~CycleCounter() = default;

void CycleCounter::State::check(const Frame& frame) const {
  const std::string fault = packing_fault(frame);
  if (!fault.empty()) throw Error(ErrorKind::kInput, describe(frame), fault);
  if (has_blocks(frame.codec) && !has_kernel_blocks(frame)) {
    throw Error(ErrorKind::kInput, describe(frame), "no kernel decodes its blocks: the host does",
                "report on bitshuffle-LZ4 with blocks of up to 8 KiB, or on plain frames");
  }
  if (totals.frames > 0 && frame.codec != codec) {
    throw Error(ErrorKind::kInput, describe(frame),
                fmt::format("it needs the kernel {}, the frames before need {}", kernel_name(frame.codec),
                            kernel_name(codec)),
                "report on compressed and on plain frames one after the other");
  }
}

void CycleCounter::State::check(const Frame& frame, const LaunchSums& sums) const {
  const FrameResult result =
      unpack_result(*job.plan, job.recipe, frame, sums.results.data(), sums.missing.data());
  if (!result.good()) throw Error(ErrorKind::kInput, describe(frame), result.fault(), "the frame is damaged");
}

// The names of everything, with nothing added up yet.
void CycleCounter::State::begin(const Frame& frame, const TimedLaunch& launch) {
  codec = frame.codec;
  type = frame.type;
  totals.kernel = kernel_name(codec);
  for (const auto& stage : launch.report.stages) totals.stages.push_back({stage.name, 0, 0});
  for (const auto& stream : launch.report.streams) totals.fifos.push_back({stream.name, stream.depth, 0, 0});
  totals.ports = ports_of(launch.report, launch.sums);
  for (PortTraffic& port : totals.ports) port.bytes_a_frame = 0;
}

// The kernels know no layers: each is a frame to them.
void CycleCounter::add(const Frame& frame) {
  for (const Frame& layer : state_->preparer->prepare(frame)) state_->add(layer);
}

void CycleCounter::State::add(const Frame& frame) {
  check(frame);
  const TimedLaunch once = launch_recorded(packed, frame, 1);
  check(frame, once.sums);
  const TimedLaunch twice = launch_recorded(packed, frame, 2);
  if (totals.frames == 0) begin(frame, once);
  ++totals.frames;
  totals.payload_bytes_a_frame += static_cast<double>(frame.payload.size());
  Split clocks = split(once.replay.clocks, twice.replay.clocks);
  for (std::size_t i = 0; i < totals.stages.size(); ++i) {
    const Split iterations = split(once.report.stages[i].iterations, twice.report.stages[i].iterations);
    totals.stages[i].iterations_a_frame += iterations.frame;
    totals.stages[i].iterations_a_launch += iterations.launch;
    // Early frames use up the slack that the start of a launch leaves some stages; later ones find none.
    clocks.frame = std::max(clocks.frame, iterations.frame);
  }
  totals.clocks_a_frame += clocks.frame;
  totals.clocks_a_launch += clocks.launch;
  for (std::size_t i = 0; i < totals.fifos.size(); ++i) {
    totals.fifos[i].elements_a_frame += static_cast<double>(once.report.streams[i].writes);
    totals.fifos[i].high_water = std::max(totals.fifos[i].high_water, twice.replay.high_water[i]);
  }
  const std::vector<PortTraffic> ports = ports_of(once.report, once.sums);
  for (std::size_t i = 0; i < ports.size(); ++i) totals.ports[i].bytes_a_frame += ports[i].bytes_a_frame;
}

namespace {

// Iterations of all stages whose name begins so.
double iterations_of(const CycleReport& report, const std::string& name) {
  double sum = 0;
  for (const StageCycles& stage : report.stages) {
    if (stage.name.starts_with(name)) sum += stage.iterations_a_frame;
  }
  return sum;
}

EngineUse engines_of(const CycleReport& report, PixelType type) {
  const double slower =
      std::max(iterations_of(report, "find_sequences["), iterations_of(report, "decode_blocks["));
  EngineUse use;
  use.engines = kernels::kLz4Engines;
  use.bytes_a_frame = static_cast<double>(report.pixels * size_of(type));
  use.bytes_an_iteration = use.bytes_a_frame / slower;
  use.lane_bytes = static_cast<double>(kernels::kLanes * size_of(type));
  return use;
}

}  // namespace

unsigned EngineUse::needed() const {
  return static_cast<unsigned>(std::ceil(lane_bytes / bytes_an_iteration));
}

CycleReport CycleCounter::report() const {
  CycleReport report = state_->totals;
  const auto frames = static_cast<double>(report.frames);
  report.payload_bytes_a_frame /= frames;
  report.clocks_a_frame /= frames;
  report.clocks_a_launch /= frames;
  for (StageCycles& stage : report.stages) {
    stage.iterations_a_frame /= frames;
    stage.iterations_a_launch /= frames;
  }
  for (FifoUse& fifo : report.fifos) fifo.elements_a_frame /= frames;
  for (PortTraffic& port : report.ports) port.bytes_a_frame /= frames;
  if (state_->codec == Codec::kBitshuffleLz4) report.engines = engines_of(report, state_->type);
  return report;
}

}  // namespace annulus
