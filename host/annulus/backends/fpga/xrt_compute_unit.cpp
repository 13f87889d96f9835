#include <annulus/backends/fpga/check_result.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/xrt_compute_unit.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>

namespace annulus {
namespace {

constexpr int kFirstScalar = static_cast<int>(KernelMemory::kMissing) + 1;

constexpr const char* kArgumentNames[] = {"descriptors", "frames",      "table0",  "table1", "table2",
                                          "table3",      "corrections", "results", "missing"};

template <typename T>
xrt::bo upload_vector(const ComputeUnit& unit, KernelMemory argument, const std::vector<T>& content) {
  xrt::bo buffer = unit.make_buffer(argument, content.size() * sizeof(T));
  buffer.write(content.data(), content.size() * sizeof(T), 0);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, content.size() * sizeof(T), 0);
  return buffer;
}

}  // namespace

bool has_ended(const xrt::run& run) {
  switch (run.state()) {
    case ERT_CMD_STATE_COMPLETED:
    case ERT_CMD_STATE_ERROR:
    case ERT_CMD_STATE_ABORT:
    case ERT_CMD_STATE_TIMEOUT:
      return true;
    default:
      return false;
  }
}

void ComputeUnit::finish(xrt::run& run, double timeout_seconds, const std::atomic<bool>& lost) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> timeout(timeout_seconds);
  const auto started = Clock::now();
  // wait() with a time-out does not return in emulation when a run hangs, so the state is polled: often at
  // first, for short launches, then twice a millisecond.
  auto pause = std::chrono::microseconds(20);
  run.start();
  while (!has_ended(run)) {
    if (lost) throw CardLost("another run found the card lost", run);
    // Runs of a unit queue, and nothing tells when one's turn comes: not before the one before it has ended.
    if (Clock::now() - std::max(started, last_end_.load()) > timeout)
      throw CardLost(fmt::format("a run of {} did not end within {} s", name_, timeout_seconds), run);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(500));
  }
  last_end_ = Clock::now();
  if (const ert_cmd_state state = run.state(); state != ERT_CMD_STATE_COMPLETED) {
    throw CardLost(fmt::format("a run of {} ended in state {}", name_, static_cast<int>(state)));
  }
}

void set_memory(xrt::run& run, KernelMemory argument, const xrt::bo& buffer) {
  run.set_arg(static_cast<int>(argument), buffer);
}

void set_frame_count(xrt::run& run, std::uint32_t count) { run.set_arg(kFirstScalar, count); }

ComputeUnit::ComputeUnit(const xrt::device& device, xrt::kernel kernel, std::string name)
    : device_(device), kernel_(std::move(kernel)), name_(std::move(name)) {}

xrt::bo ComputeUnit::make_buffer(KernelMemory argument, std::size_t bytes) const {
  const auto refuse = [&](const char* reason) {
    return Error(ErrorKind::kBackend, name_,
                 fmt::format("no {:.1f} MiB are free in the bank of its argument '{}' ({})",
                             static_cast<double>(bytes) / (1 << 20),
                             kArgumentNames[static_cast<int>(argument)], reason),
                 "use fewer bins, end other programs on the card, or use the cpu backend");
  };
  try {
    return xrt::bo(device_, std::max<std::size_t>(bytes, 1), kernel_.group_id(static_cast<int>(argument)));
  } catch (const std::bad_alloc& error) {  // what XRT throws differs between emulation and a card
    throw refuse(error.what());
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::not_enough_memory) throw;
    throw refuse(error.what());
  }
}

void ComputeUnit::upload(const DevicePlan& plan) {
  for (std::size_t port = 0; port < table_.size(); ++port) {
    const int argument = static_cast<int>(KernelMemory::kTable0) + static_cast<int>(port);
    table_[port] = upload_vector(*this, static_cast<KernelMemory>(argument), plan.table[port]);
  }
  corrections_ = upload_vector(*this, KernelMemory::kCorrections, plan.corrections);
  uploaded_ = true;
}

xrt::run ComputeUnit::make_run(const DevicePlan& plan, Codec codec, PixelType type) const {
  xrt::run run(kernel_);
  int next = static_cast<int>(KernelMemory::kTable0);
  for (const xrt::bo& table : table_) run.set_arg(next++, table);
  run.set_arg(next, corrections_);
  next = kFirstScalar + 1;  // after the number of frames
  for (const std::uint32_t value :
       {plan.pixels, plan.bins, plan.beats, plan.weight_bits, plan.variance_bits}) {
    run.set_arg(next++, value);
  }
  for (const std::int64_t value : {plan.lowest, plan.highest, plan.dummy_lowest, plan.dummy_highest}) {
    run.set_arg(next++, value);
  }
  if (codec == Codec::kByteOffset) return run;
  const RawPixels pixels = raw_pixels(type);
  run.set_arg(next++, pixels.shift);
  run.set_arg(next, pixels.is_signed);
  return run;
}

std::uint64_t ComputeUnit::build_word(Codec codec, double timeout_seconds,
                                      const std::atomic<bool>& lost) const {
  DevicePlan nothing;
  nothing.bins = 1;
  ComputeUnit probe(device_, kernel_, name_);
  for (auto& port : nothing.table) port.resize(1);
  nothing.corrections.resize(1);
  probe.upload(nothing);
  const Frame empty;
  const Frame* const launched[] = {&empty};
  const std::vector<kernels::FrameDescriptor> described = describe_payloads(launched);
  const auto descriptors = upload_vector(*this, KernelMemory::kDescriptors, described);
  const xrt::bo frames = make_buffer(KernelMemory::kFrames, sizeof(kernels::Beat));
  const std::size_t result_bytes = kernels::result_beats_of(1) * sizeof(kernels::SumBeat);
  xrt::bo results = make_buffer(KernelMemory::kResults, result_bytes);
  const xrt::bo missing =
      make_buffer(KernelMemory::kMissing, kernels::missing_beats_of(1) * sizeof(kernels::SumBeat));
  xrt::run run = probe.make_run(nothing, codec, PixelType::kI32);
  set_memory(run, KernelMemory::kDescriptors, descriptors);
  set_memory(run, KernelMemory::kFrames, frames);
  set_memory(run, KernelMemory::kResults, results);
  set_memory(run, KernelMemory::kMissing, missing);
  set_frame_count(run, 1);
  probe.finish(run, timeout_seconds, lost);
  results.sync(XCL_BO_SYNC_BO_FROM_DEVICE, result_bytes, 0);
  const auto* const header = results.map<const kernels::SumBeat*>();
  const auto build = static_cast<std::uint64_t>(header->sum[kernels::kHeaderBuild]);
  if (build == ~std::uint64_t{0}) throw CardLost("its memory reads as ones");
  if (build >> kernels::kBuildMarkShift != kernels::kBuildMark)
    throw CardLost(fmt::format("a run of {} ended and left no result", name_));
  if (build != kernels::kBuildWord) return build;
  const std::string fault = result_fault(header, nothing.bins, described.front().number);
  if (!fault.empty())
    throw CardLost(fmt::format("{} returned wrong numbers: a test frame: {}", name_, fault));
  return build;
}

}  // namespace annulus
