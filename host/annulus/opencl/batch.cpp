#include <annulus/codecs/block_decoder.hpp>
#include <annulus/core/error.hpp>
#include <annulus/opencl/batch.hpp>
#include <annulus/opencl/block_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace annulus::opencl {
namespace {

// As in kernels/common.cl and kernels/byte_offset.cl.
struct Band {
  cl_uint first;
  cl_uint end;
  cl_uint stride;
};
constexpr std::uint64_t kStates = 15;
constexpr std::uint64_t kFrameNumbers = 5;
constexpr std::uint64_t kBlockNumbers = 5;

constexpr std::uint64_t kAlignment = 64;  // of payloads
constexpr std::uint64_t kPadding = 64;    // bytes that may be read after the last

// Work-items of a group where nothing depends on it; always given, as drivers may compile anew for each size.
constexpr std::uint64_t kPlainGroup = 64;

constexpr const char* kMessage = "OpenCL device {}";

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

// Where everything of a batch lies.
struct Batch::Layout {
  Codec codec = Codec::kRaw;
  PixelType type = PixelType::kI32;
  cl_uint frames = 0;
  std::vector<cl_ulong> numbers;  // kFrameNumbers a frame
  std::uint64_t packed_bytes = 0;
  std::vector<cl_ulong> blocks;  // kBlockNumbers a block
  std::uint64_t pieces = 0;      // segments of all frames
  cl_uint most_pieces = 0;       // of one frame
};

bool decodes_on_device(Codec codec) { return codec != Codec::kBitshuffleZstd; }

Batch::Kernels::Kernels(const cl::Program& program)
    : survey(program, "survey_segments"),
      join(program, "join_segments"),
      decode(program, "decode_segments"),
      unpack(program, "unpack_blocks"),
      unshuffle(program, "unshuffle_pixels"),
      widen(program, "widen_pixels"),
      lanes(program, "integrate_lanes"),
      add_sums(program, "add_partial_sums"),
      add_counts(program, "add_partial_counts"),
      rows(program, "integrate_rows"),
      local(program, "integrate_local") {}

Batch::Batch(std::shared_ptr<const Session> session)
    : session_(std::move(session)),
      queue_(session_->context(), session_->device().device,
             session_->settings().profile ? CL_QUEUE_PROFILING_ENABLE : 0),
      kernels_(session_->program()),
      violations_(session_->memory().allocate(sizeof(cl_uint), CL_MEM_READ_WRITE)),
      stopwatch_(session_->settings().profile.get()),
      at_once_(session_->frames_at_once()) {
  fill_with_zeros(violations_, sizeof(cl_uint));
}

std::vector<LaneResult> Batch::reduce(std::span<const Frame* const> frames) {
  std::vector<LaneResult> results;
  while (results.size() < frames.size()) {
    const std::size_t count = std::min(at_once_, frames.size() - results.size());
    std::string reason;
    try {
      auto some = reduce_some(frames.subspan(results.size(), count));
      std::move(some.begin(), some.end(), std::back_inserter(results));
      continue;
    } catch (const OutOfDeviceMemory& error) {
      reason = error.what();
    } catch (const cl::Error& error) {
      reason = describe(error);
      if (!is_out_of_memory(error)) {
        throw Error(ErrorKind::kBackend, fmt::format(kMessage, session_->device().name), reason,
                    "see whether the device still works, then run again");
      }
    }
    queue_.finish();
    buffers_ = {};
    if (count == 1) {
      throw Error(
          ErrorKind::kBackend, fmt::format(kMessage, session_->device().name),
          fmt::format("out of memory, even for one frame at a time: {}", reason),
          "close other programs that use it, raise --device-memory if that is given, or choose another");
    }
    at_once_ = (count + 1) / 2;
  }
  return results;
}

std::vector<LaneResult> Batch::reduce_some(std::span<const Frame* const> frames) {
  const Layout layout = lay_out(frames);
  const Choice& choice = session_->choice();
  const cl_uint pixels = session_->numbers().pixels;
  const cl_uint band = choice.method == Method::kRows ? pixels : std::min(choice.band_pixels, pixels);
  stride_ = static_cast<cl_uint>(round_up(band, kLanes));
  pixel_entries_ = std::uint64_t{stride_} * layout.frames;
  ensure(buffers_.pixels, pixel_entries_ * sizeof(std::int32_t), CL_MEM_READ_WRITE);
  clear(layout.frames);
  send(frames, layout);
  prepare_decoding(layout);
  for (cl_uint first = 0; first < pixels; first += std::min(band, pixels - first)) {
    const cl_uint end = first + std::min(band, pixels - first);
    decode(layout, first, end);
    integrate(layout.frames, first, end);
  }
  add_up(layout.frames);
  return fetch(frames);
}

Batch::Layout Batch::lay_out(std::span<const Frame* const> frames) const {
  Layout layout;
  layout.codec = frames.front()->codec;
  layout.type = frames.front()->type;
  layout.frames = static_cast<cl_uint>(frames.size());
  for (const Frame* frame : frames) {
    const std::uint64_t bytes = frame->payload.size();
    const std::uint64_t segment = session_->choice().segment_bytes;
    std::uint64_t pieces = layout.codec == Codec::kByteOffset ? (bytes + segment - 1) / segment : 0;
    std::uint64_t block_elements = 0;
    if (has_blocks(layout.codec)) {
      const auto table = find_blocks(*frame);
      if (!table) {
        throw Error(ErrorKind::kBackend, fmt::format(kMessage, session_->device().name),
                    fmt::format("{} changed while it was read", describe(*frame)),
                    "run again when it is complete");
      }
      block_elements = table->block_elements;
      pieces = table->blocks.size();
      for (const PackedBlock& block : table->blocks) {
        layout.blocks.insert(layout.blocks.end(), {layout.packed_bytes + block.offset, block.bytes,
                                                   block.place, block.size, cl_ulong{block.stored}});
      }
    }
    layout.numbers.insert(layout.numbers.end(),
                          {layout.packed_bytes, bytes, layout.pieces, pieces, block_elements});
    layout.packed_bytes += round_up(bytes, kAlignment);
    layout.pieces += pieces;
    layout.most_pieces = std::max(layout.most_pieces, static_cast<cl_uint>(pieces));
  }
  layout.packed_bytes += kPadding;
  return layout;
}

void Batch::ensure(DeviceBuffer& buffer, std::uint64_t bytes, cl_mem_flags flags) {
  if (buffer.bytes() >= bytes && buffer.bytes() > 0) return;
  buffer = {};
  buffer = session_->memory().allocate(bytes, flags);
}

void Batch::fill_with_zeros(const DeviceBuffer& buffer, std::uint64_t bytes) {
  if (bytes > 0) queue_.enqueueFillBuffer(buffer.get(), cl_uint{0}, 0, bytes);
}

template <typename... Args>
void Batch::launch(const char* stage, cl::Kernel& kernel, cl::NDRange global, cl::NDRange local,
                   const Args&... args) {
  cl_uint index = 0;
  (kernel.setArg(index++, args), ...);
  kernel.setArg(index, violations_.get());
  queue_.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, stopwatch_.time(stage));
}

// Payloads go through memory that the driver can transfer from directly; where device and host share memory
// they are there already.
void Batch::send(std::span<const Frame* const> frames, const Layout& layout) {
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

cl::NDRange Batch::over_pieces(const Layout& layout) const {
  return {round_up(layout.most_pieces, session_->choice().decode_group), layout.frames};
}

cl::NDRange Batch::pieces_group() const { return {session_->choice().decode_group, 1}; }

void Batch::prepare_decoding(const Layout& layout) {
  ensure(buffers_.faulty, layout.frames * sizeof(cl_uint), CL_MEM_READ_WRITE);
  fill_with_zeros(buffers_.faulty, layout.frames * sizeof(cl_uint));
  if (has_blocks(layout.codec)) unpack(layout);
  if (layout.codec != Codec::kByteOffset) return;
  const cl_ulong table = layout.pieces * kStates;
  const cl_ulong starts = layout.pieces + layout.frames;
  ensure(buffers_.table_sums, table * sizeof(cl_ulong), CL_MEM_READ_WRITE);
  ensure(buffers_.table_ends, table * sizeof(cl_uint), CL_MEM_READ_WRITE);
  ensure(buffers_.entries, starts * sizeof(cl_uint), CL_MEM_READ_WRITE);
  ensure(buffers_.positions, starts * sizeof(cl_uint), CL_MEM_READ_WRITE);
  ensure(buffers_.values, starts * sizeof(cl_ulong), CL_MEM_READ_WRITE);
  launch("survey segments", kernels_.survey, over_pieces(layout), pieces_group(), buffers_.packed.get(),
         cl_ulong{packed_bytes_}, buffers_.frames.get(), layout.frames, session_->choice().segment_bytes,
         buffers_.table_sums.get(), buffers_.table_ends.get(), table);
  const std::size_t group = session_->choice().join_group;
  launch("join segments", kernels_.join, cl::NDRange(group * layout.frames), cl::NDRange(group),
         buffers_.frames.get(), layout.frames, session_->numbers().pixels, buffers_.table_sums.get(),
         buffers_.table_ends.get(), table, buffers_.entries.get(), buffers_.positions.get(),
         buffers_.values.get(), starts, buffers_.faulty.get(), cl::Local(group * kStates * sizeof(cl_uint2)),
         cl::Local(group * kStates * sizeof(cl_ulong)));
}

std::uint64_t Batch::unpacked_stride(const Layout& layout) const {
  return round_up(session_->plan().pixels() * size_of(layout.type), kAlignment);
}

void Batch::unpack(const Layout& layout) {
  ensure(buffers_.blocks, layout.blocks.size() * sizeof(cl_ulong), CL_MEM_READ_ONLY);
  ensure(buffers_.unpacked, unpacked_stride(layout) * layout.frames, CL_MEM_READ_WRITE);
  queue_.enqueueWriteBuffer(buffers_.blocks.get(), CL_TRUE, 0, layout.blocks.size() * sizeof(cl_ulong),
                            layout.blocks.data());
  launch("unpack blocks", kernels_.unpack, over_pieces(layout), pieces_group(), buffers_.packed.get(),
         cl_ulong{packed_bytes_}, buffers_.frames.get(), layout.frames, buffers_.blocks.get(),
         cl_ulong{layout.blocks.size() / kBlockNumbers}, buffers_.unpacked.get(),
         cl_ulong{unpacked_stride(layout)}, buffers_.faulty.get());
}

void Batch::decode(const Layout& layout, cl_uint first, cl_uint end) {
  const Band band = {first, end, stride_};
  if (layout.codec == Codec::kByteOffset) {
    launch("decode segments", kernels_.decode, over_pieces(layout), pieces_group(), buffers_.packed.get(),
           cl_ulong{packed_bytes_}, buffers_.frames.get(), layout.frames, session_->numbers().pixels,
           session_->choice().segment_bytes, buffers_.entries.get(), buffers_.positions.get(),
           buffers_.values.get(), cl_ulong{layout.pieces + layout.frames}, band, buffers_.pixels.get(),
           cl_ulong{pixel_entries_}, buffers_.faulty.get());
    return;
  }
  const bool is_signed = layout.type == PixelType::kI8 || layout.type == PixelType::kI16;
  const auto pixel_bytes = static_cast<cl_uint>(size_of(layout.type));
  if (is_bitshuffled(layout.codec)) {
    launch("unshuffle pixels", kernels_.unshuffle,
           cl::NDRange(round_up((end - first + 7) / 8, kPlainGroup), layout.frames),
           cl::NDRange(kPlainGroup, 1), buffers_.unpacked.get(), cl_ulong{unpacked_stride(layout)},
           buffers_.frames.get(), layout.frames, session_->numbers().pixels, pixel_bytes, cl_uint{is_signed},
           band, buffers_.pixels.get(), cl_ulong{pixel_entries_});
    return;
  }
  const bool blocks = has_blocks(layout.codec);
  const cl_ulong stride = blocks ? unpacked_stride(layout) : 0;  // 0: payloads are where they were packed
  launch("widen pixels", kernels_.widen, cl::NDRange(round_up(end - first, kPlainGroup), layout.frames),
         cl::NDRange(kPlainGroup, 1), blocks ? buffers_.unpacked.get() : buffers_.packed.get(),
         cl_ulong{blocks ? stride * layout.frames : packed_bytes_}, buffers_.frames.get(), layout.frames,
         stride, pixel_bytes, cl_uint{is_signed}, band, buffers_.pixels.get(), cl_ulong{pixel_entries_});
}

void Batch::clear(cl_uint frames) {
  const PlanNumbers& plan = session_->numbers();
  const Choice& choice = session_->choice();
  const std::uint64_t results = std::uint64_t{frames} * plan.bins * session_->quantities() * sizeof(cl_long);
  ensure(buffers_.results, results, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  ensure(buffers_.invalid_counts, frames * sizeof(cl_uint), CL_MEM_READ_WRITE);
  fill_with_zeros(buffers_.invalid_counts, frames * sizeof(cl_uint));
  if (choice.method == Method::kLocal) fill_with_zeros(buffers_.results, results);
  if (choice.method != Method::kLanes) return;
  const std::uint64_t sums = std::uint64_t{choice.items} * plan.bins * kLanes * sizeof(cl_long);
  ensure(buffers_.signal, sums, CL_MEM_READ_WRITE);
  ensure(buffers_.variance, sums * plan.has_variance, CL_MEM_READ_WRITE);
  ensure(buffers_.missing, sums * (2 + plan.has_dark), CL_MEM_READ_WRITE);
  ensure(buffers_.invalid, choice.items * kLanes * sizeof(cl_uint), CL_MEM_READ_WRITE);
  fill_with_zeros(buffers_.signal, sums);
  fill_with_zeros(buffers_.variance, sums * plan.has_variance);
  fill_with_zeros(buffers_.missing, sums * (2 + plan.has_dark));
  fill_with_zeros(buffers_.invalid, choice.items * kLanes * sizeof(cl_uint));
}

void Batch::integrate(cl_uint frames, cl_uint first, cl_uint end) {
  const PlanNumbers& plan = session_->numbers();
  const PlanBuffers& matrix = session_->buffers();
  const Choice& choice = session_->choice();
  const Band band = {first, end, stride_};
  const cl_ulong results = cl_ulong{frames} * plan.bins * session_->quantities();
  switch (choice.method) {
    case Method::kLanes:
      launch("integrate", kernels_.lanes, cl::NDRange(choice.items), cl::NDRange(1), plan, matrix.first.get(),
             matrix.bins.get(), matrix.weights.get(), matrix.normalization.get(), matrix.dark.get(), band,
             buffers_.pixels.get(), cl_ulong{pixel_entries_}, frames, buffers_.one_counts.get(),
             buffers_.signal.get(), buffers_.variance.get(), buffers_.missing.get(),
             cl_ulong{choice.items} * plan.bins * kLanes, buffers_.invalid.get());
      return;
    case Method::kRows:
      launch("integrate", kernels_.rows, cl::NDRange(std::size_t{plan.bins} * choice.group, (frames + 3) / 4),
             cl::NDRange(choice.group, 1), plan, matrix.rows.get(), matrix.row_pixels.get(),
             matrix.row_weights.get(), matrix.normalization.get(), matrix.dark.get(), band,
             buffers_.pixels.get(), cl_ulong{pixel_entries_}, frames, buffers_.one_counts.get(),
             buffers_.results.get(), results, buffers_.invalid_counts.get(),
             cl::Local(choice.group * 4 * sizeof(cl_long)));
      return;
    case Method::kLocal:
      launch("integrate", kernels_.local, cl::NDRange(std::size_t{choice.items} * choice.group, frames),
             cl::NDRange(choice.group, 1), plan, matrix.first.get(), matrix.bins.get(), matrix.weights.get(),
             matrix.normalization.get(), matrix.dark.get(), band, buffers_.pixels.get(),
             cl_ulong{pixel_entries_}, frames, buffers_.one_counts.get(), buffers_.results.get(), results,
             buffers_.invalid_counts.get(),
             cl::Local(std::size_t{plan.bins} * sizeof(cl_long) * (1 + plan.has_variance)));
  }
}

void Batch::add_up(cl_uint frames) {
  const PlanNumbers& plan = session_->numbers();
  const Choice& choice = session_->choice();
  if (choice.method != Method::kLanes) return;
  launch("add up", kernels_.add_counts, cl::NDRange(frames), cl::NDRange(1), cl_uint{choice.items},
         buffers_.invalid.get(), buffers_.invalid_counts.get(), frames);
  const cl_ulong sums = cl_ulong{choice.items} * plan.bins * kLanes;
  const cl_ulong quantity = cl_ulong{frames} * plan.bins;
  cl_ulong to = 0;
  const auto add = [&](const DeviceBuffer& from, cl_ulong at, cl_ulong entries, bool only_missing) {
    launch("add up", kernels_.add_sums, cl::NDRange(round_up(plan.bins, kPlainGroup), frames),
           cl::NDRange(kPlainGroup, 1), plan.bins, cl_uint{choice.items}, from.get(), at, entries,
           cl_uint{only_missing}, buffers_.invalid_counts.get(), frames, buffers_.results.get(), to,
           quantity * session_->quantities());
    to += quantity;
  };
  add(buffers_.signal, 0, sums, false);
  if (plan.has_variance) add(buffers_.variance, 0, sums, false);
  for (cl_ulong part = 0; part < 2 + plan.has_dark; ++part) {
    add(buffers_.missing, part * sums, (2 + plan.has_dark) * sums, true);
  }
}

std::vector<LaneResult> Batch::fetch(std::span<const Frame* const> frames) {
  const PlanNumbers& plan = session_->numbers();
  const std::size_t count = frames.size();
  std::vector<cl_uint> invalid(count);
  std::vector<cl_uint> faulty(count);
  cl_uint violations = 0;
  queue_.enqueueReadBuffer(buffers_.invalid_counts.get(), CL_FALSE, 0, count * sizeof(cl_uint),
                           invalid.data());
  queue_.enqueueReadBuffer(violations_.get(), CL_FALSE, 0, sizeof(cl_uint), &violations);
  queue_.enqueueReadBuffer(buffers_.faulty.get(), CL_TRUE, 0, count * sizeof(cl_uint), faulty.data());
  if (violations != 0) {
    throw Error(ErrorKind::kBackend, fmt::format(kMessage, session_->device().name),
                fmt::format("kernels left the bounds of their arrays {} times", violations),
                "this is a fault of the kernels: please report it");
  }
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
    const auto take = [&](std::vector<std::int64_t>& values) {
      values.assign(at, at + plan.bins);
      at += quantity;
    };
    result.sums.fraction_bits = frames[i]->fraction_bits;
    result.sums.invalid_pixels = invalid[i];
    take(result.sums.signal);
    if (plan.has_variance) take(result.sums.variance);
    if (invalid[i] == 0) continue;
    take(result.sums.missing_normalization);
    take(result.sums.missing_count);
    if (plan.has_dark) take(result.sums.missing_dark);
  }
  queue_.enqueueUnmapMemObject(buffers_.results.get(), const_cast<std::int64_t*>(sums));
  queue_.finish();
  stopwatch_.read();
  return results;
}

}  // namespace annulus::opencl
