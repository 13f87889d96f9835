#include <annulus/backends/opencl/batch.hpp>
#include <annulus/backends/opencl/device_fault.hpp>
#include <annulus/core/clock.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace annulus::opencl {
bool decodes_on_device(Codec codec) { return codec != Codec::kBitshuffleZstd; }

Batch::Batch(std::shared_ptr<const Session> session)
    : session_(std::move(session)),
      stopwatch_(session_->settings().profile.get()),
      share_(session_->share()) {
  const Device& device = session_->device();
  on_device(device, [&] {
    queue_ = cl::CommandQueue(session_->context(), device.device,
                              session_->settings().profile ? CL_QUEUE_PROFILING_ENABLE : 0);
    kernels_ = Kernels(session_->program(), device.device, session_->is_robust());
    ensure(violations_, sizeof(cl_uint), CL_MEM_READ_WRITE);
    fill_with_zeros(violations_, sizeof(cl_uint));
  });
}

std::vector<LaneResult> Batch::reduce(std::span<const Frame* const> frames) {
  std::vector<LaneResult> results;
  while (results.size() < frames.size()) {
    const std::size_t room = std::min(at_once_, session_->frames_at_once(share_, frames.front()->codec));
    const std::size_t count = std::min(room, frames.size() - results.size());
    const bool had_buffers = held_ > violations_.bytes();
    std::string reason;
    bool less_may_do = true;
    try {
      auto some = reduce_some(frames.subspan(results.size(), count));
      std::move(some.begin(), some.end(), std::back_inserter(results));
      continue;
    } catch (const OutOfDeviceMemory& error) {
      reason = error.what();
    } catch (const cl::Error& error) {
      reason = describe(error);
      less_may_do = is_out_of_memory(error);
    }
    const std::string worse = give_up();
    if (!less_may_do || !worse.empty()) {
      throw device_fault(session_->device(),
                         worse.empty() ? reason : fmt::format("{}, then {}", reason, worse),
                         "see whether the device still works, then run again");
    }
    if (had_buffers) continue;  // of other codecs or sizes, maybe: without them as many frames may have room
    if (count == 1) {
      throw device_fault(session_->device(),
                         fmt::format("out of memory, even for one frame at a time: {}", reason),
                         "close other programs that use it, raise `device_memory` if that is given, try "
                         "`threads` 1, or choose another");
    }
    at_once_ = (count + 1) / 2;
  }
  return results;
}

// After a fault: waits for what was begun, as it uses the buffers, and lets go of them. What the device says
// to that; empty if all is well.
std::string Batch::give_up() {
  std::string fault;
  try {
    queue_.finish();
  } catch (const cl::Error& error) {
    fault = describe(error);
  }
  stopwatch_.discard();
  buffers_ = {};
  held_ = violations_.bytes();
  return fault;
}

std::vector<LaneResult> Batch::reduce_some(std::span<const Frame* const> frames) {
  const BatchLayout layout = lay_out(*session_, frames);
  const Choice& choice = session_->choice();
  const cl_uint pixels = session_->numbers().pixels;
  const cl_uint band = choice.method == Method::kRows ? pixels : std::min(choice.band_pixels, pixels);
  stride_ = static_cast<cl_uint>(round_up(band, kLanes));
  pixel_entries_ = std::uint64_t{stride_} * layout.frames;
  ensure(buffers_.pixels, pixel_entries_ * sizeof(std::int32_t), CL_MEM_READ_WRITE);
  if (!session_->is_robust()) clear(layout.frames);
  send(frames, layout);
  prepare_decoding(layout);
  if (session_->is_robust()) {
    decode(layout, 0, pixels);
    return reduce_robust(frames);
  }
  for (cl_uint first = 0; first < pixels; first += std::min(band, pixels - first)) {
    const cl_uint end = first + std::min(band, pixels - first);
    decode(layout, first, end);
    integrate(layout.frames, first, end);
  }
  add_up(layout.frames);
  return fetch(frames);
}

void Batch::ensure(DeviceBuffer& buffer, std::uint64_t bytes, cl_mem_flags flags) {
  if (buffer.bytes() >= bytes && buffer.bytes() > 0) return;
  held_ -= buffer.bytes();
  buffer = {};
  // The other threads of the device count on their shares.
  if (held_ + DeviceMemory::bytes_for(bytes) > share_) {
    throw OutOfDeviceMemory(
        fmt::format("{} bytes beside {} are more than a thread's share of {}", bytes, held_, share_));
  }
  buffer = session_->memory().allocate(bytes, flags);
  held_ += buffer.bytes();
}

void Batch::fill_with_zeros(const DeviceBuffer& buffer, std::uint64_t bytes) {
  if (bytes > 0) queue_.enqueueFillBuffer(buffer.get(), cl_uint{0}, 0, bytes);
}

// Payloads go through memory that the driver can transfer from directly; where device and host share memory
// they are there already.
void Batch::send(std::span<const Frame* const> frames, const BatchLayout& layout) {
  const auto start = std::chrono::steady_clock::now();
  const bool unified = session_->unified();
  packed_bytes_ = layout.packed_bytes;
  ensure(buffers_.packed, packed_bytes_, CL_MEM_READ_ONLY | (unified ? CL_MEM_ALLOC_HOST_PTR : 0));
  if (!unified) ensure(buffers_.staging, packed_bytes_, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR);
  const cl::Buffer& pinned = unified ? buffers_.packed.get() : buffers_.staging.get();
  auto* const mapped = static_cast<std::byte*>(
      queue_.enqueueMapBuffer(pinned, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, packed_bytes_));
  std::uint64_t sent = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto payload = frames[i]->payload.view();
    std::memcpy(mapped + layout.numbers[i * kFrameNumbers], payload.data(), payload.size());
    sent += payload.size();
  }
  stopwatch_.add_host_time("pack", seconds_since(start), sent);
  if (unified) {
    queue_.enqueueUnmapMemObject(pinned, mapped);
  } else {
    queue_.enqueueWriteBuffer(buffers_.packed.get(), CL_FALSE, 0, packed_bytes_, mapped, nullptr,
                              stopwatch_.time("send", sent));
    queue_.enqueueUnmapMemObject(pinned, mapped);
  }
  std::vector<cl_uint> one(kLanes, 1);
  for (std::size_t i = 0; i < frames.size(); ++i) one[i] = one_count(*frames[i]);
  ensure(buffers_.one_counts, one.size() * sizeof(cl_uint), CL_MEM_READ_ONLY);
  ensure(buffers_.frames, layout.numbers.size() * sizeof(cl_ulong), CL_MEM_READ_ONLY);
  queue_.enqueueWriteBuffer(buffers_.one_counts.get(), CL_TRUE, 0, one.size() * sizeof(cl_uint), one.data());
  queue_.enqueueWriteBuffer(buffers_.frames.get(), CL_TRUE, 0, layout.numbers.size() * sizeof(cl_ulong),
                            layout.numbers.data());
}

// Each read waits: one that is under way when a later one fails would write to memory that is gone.
std::vector<cl_uint> Batch::read_numbers(const DeviceBuffer& buffer, std::size_t count) {
  std::vector<cl_uint> numbers(count);
  queue_.enqueueReadBuffer(buffer.get(), CL_TRUE, 0, count * sizeof(cl_uint), numbers.data());
  return numbers;
}

void Batch::check_violations() {
  const cl_uint violations = read_numbers(violations_, 1).front();
  if (violations == 0) return;
  throw device_fault(session_->device(),
                     fmt::format("kernels left the bounds of their arrays {} times", violations),
                     "this is a fault of the kernels: please report it");
}

std::vector<LaneResult> Batch::fetch(std::span<const Frame* const> frames) {
  const PlanNumbers& plan = session_->numbers();
  const std::size_t count = frames.size();
  const std::vector<cl_uint> invalid = read_numbers(buffers_.invalid_counts, count);
  check_violations();
  const std::vector<cl_uint> faulty = read_numbers(buffers_.faulty, count);
  // The missing sums come last and are rarely needed.
  const bool any_invalid = std::any_of(invalid.begin(), invalid.end(), [](cl_uint n) { return n > 0; });
  const std::size_t quantity = count * plan.bins;
  const std::size_t wanted = quantity * (any_invalid ? session_->quantities() : 1 + plan.has_variance);
  const auto* const sums = static_cast<const std::int64_t*>(
      queue_.enqueueMapBuffer(buffers_.results.get(), CL_TRUE, CL_MAP_READ, 0, wanted * sizeof(cl_long),
                              nullptr, stopwatch_.time("fetch", wanted * sizeof(cl_long))));
  std::vector<LaneResult> results(count);
  for (std::size_t i = 0; i < count; ++i) {
    LaneResult& result = results[i];
    result.faulty = faulty[i] != 0;
    if (result.faulty) continue;
    const std::int64_t* at = sums + i * plan.bins;
    const auto take = [&](Quantity taken) {
      result.sums.set(taken, PooledArray(std::span(at, plan.bins)));
      at += quantity;
    };
    result.sums.fraction_bits = frames[i]->fraction_bits;
    result.sums.invalid_pixels = invalid[i];
    take(Quantity::kSignal);
    if (plan.has_variance) take(Quantity::kVariance);
    if (invalid[i] == 0) continue;
    take(Quantity::kMissingNormalization);
    take(Quantity::kMissingCount);
    if (plan.has_dark) take(Quantity::kMissingDark);
  }
  queue_.enqueueUnmapMemObject(buffers_.results.get(), const_cast<std::int64_t*>(sums));
  queue_.finish();
  stopwatch_.read();
  return results;
}

}  // namespace annulus::opencl
