#include <annulus/backends/opencl/batch.hpp>
#include <annulus/backends/opencl/batch_layout.hpp>
#include <annulus/codecs/block_decoder.hpp>

namespace annulus::opencl {
namespace {

// As in kernels/common.cl.
struct Band {
  cl_uint first;
  cl_uint end;
  cl_uint stride;
};

// Work-items of a group where nothing depends on it; always given, as drivers may compile anew for each size.
constexpr std::size_t kPlainGroup = 64;

// A work-item for each of `items`, in `rows` rows.
cl::NDRange in_groups(std::uint64_t items, std::size_t group, cl_uint rows) {
  return {round_up(items, group), rows};
}

}  // namespace

Batch::Kernels::Kernels(const cl::Program& program, const cl::Device& device, bool is_robust)
    : survey(program, "survey_segments", device),
      join(program, "join_segments", device),
      decode(program, "decode_segments", device),
      unpack(program, "unpack_blocks", device),
      unshuffle(program, "unshuffle_pixels", device),
      widen(program, "widen_pixels", device),
      lanes(program, "integrate_lanes", device),
      add_sums(program, "add_partial_sums", device),
      add_counts(program, "add_partial_counts", device),
      rows(program, "integrate_rows", device),
      local(program, "integrate_local", device) {
  if (!is_robust) return;
  order_pixels = {program, "order_pixels", device};
  find_ranks = {program, "find_ranks", device};
  sum_robust = {program, "sum_robust", device};
  mark_outliers = {program, "mark_outliers", device};
}

void Batch::prepare_decoding(const BatchLayout& layout) {
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
  const std::size_t survey_group = kernels_.survey.group(session_->choice().decode_group);
  launch("survey segments", kernels_.survey, in_groups(layout.most_pieces, survey_group, layout.frames),
         cl::NDRange(survey_group, 1), buffers_.packed.get(), cl_ulong{packed_bytes_}, buffers_.frames.get(),
         layout.frames, session_->choice().segment_bytes, buffers_.table_sums.get(),
         buffers_.table_ends.get(), table);
  const std::size_t group = kernels_.join.group(session_->choice().join_group);
  launch("join segments", kernels_.join, cl::NDRange(group * layout.frames), cl::NDRange(group),
         buffers_.frames.get(), layout.frames, session_->numbers().pixels, buffers_.table_sums.get(),
         buffers_.table_ends.get(), table, buffers_.entries.get(), buffers_.positions.get(),
         buffers_.values.get(), starts, buffers_.faulty.get(), cl::Local(group * kStates * sizeof(cl_uint2)),
         cl::Local(group * kStates * sizeof(cl_ulong)));
}

void Batch::unpack(const BatchLayout& layout) {
  ensure(buffers_.blocks, layout.blocks.size() * sizeof(cl_ulong), CL_MEM_READ_ONLY);
  ensure(buffers_.unpacked, layout.unpacked_stride * layout.frames, CL_MEM_READ_WRITE);
  queue_.enqueueWriteBuffer(buffers_.blocks.get(), CL_TRUE, 0, layout.blocks.size() * sizeof(cl_ulong),
                            layout.blocks.data());
  const std::size_t group = kernels_.unpack.group(session_->choice().decode_group);
  launch("unpack blocks", kernels_.unpack, in_groups(layout.most_pieces, group, layout.frames),
         cl::NDRange(group, 1), buffers_.packed.get(), cl_ulong{packed_bytes_}, buffers_.frames.get(),
         layout.frames, buffers_.blocks.get(), cl_ulong{layout.blocks.size() / kBlockNumbers},
         buffers_.unpacked.get(), cl_ulong{layout.unpacked_stride}, buffers_.faulty.get());
}

void Batch::decode(const BatchLayout& layout, cl_uint first, cl_uint end) {
  const Band band = {first, end, stride_};
  if (layout.codec == Codec::kByteOffset) {
    const std::size_t group = kernels_.decode.group(session_->choice().decode_group);
    launch("decode segments", kernels_.decode, in_groups(layout.most_pieces, group, layout.frames),
           cl::NDRange(group, 1), buffers_.packed.get(), cl_ulong{packed_bytes_}, buffers_.frames.get(),
           layout.frames, session_->numbers().pixels, session_->choice().segment_bytes,
           buffers_.entries.get(), buffers_.positions.get(), buffers_.values.get(),
           cl_ulong{layout.pieces + layout.frames}, band, buffers_.pixels.get(), cl_ulong{pixel_entries_},
           buffers_.faulty.get());
    return;
  }
  const bool is_signed = layout.type == PixelType::kI8 || layout.type == PixelType::kI16;
  const auto pixel_bytes = static_cast<cl_uint>(size_of(layout.type));
  if (is_bitshuffled(layout.codec)) {
    const std::size_t group = kernels_.unshuffle.group(kPlainGroup);
    launch("unshuffle pixels", kernels_.unshuffle, in_groups((end - first + 7) / 8, group, layout.frames),
           cl::NDRange(group, 1), buffers_.unpacked.get(), cl_ulong{layout.unpacked_stride},
           buffers_.frames.get(), layout.frames, session_->numbers().pixels, pixel_bytes, cl_uint{is_signed},
           band, buffers_.pixels.get(), cl_ulong{pixel_entries_});
    return;
  }
  const bool blocks = has_blocks(layout.codec);
  const cl_ulong stride = blocks ? layout.unpacked_stride : 0;  // 0: payloads are where they were packed
  const std::size_t group = kernels_.widen.group(kPlainGroup);
  launch("widen pixels", kernels_.widen, in_groups(end - first, group, layout.frames), cl::NDRange(group, 1),
         blocks ? buffers_.unpacked.get() : buffers_.packed.get(),
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
    case Method::kRows: {
      const std::size_t group = kernels_.rows.group(choice.group);
      launch("integrate", kernels_.rows, cl::NDRange(plan.bins * group, (frames + 3) / 4),
             cl::NDRange(group, 1), plan, matrix.rows.get(), matrix.row_pixels.get(),
             matrix.row_weights.get(), matrix.normalization.get(), matrix.dark.get(), band,
             buffers_.pixels.get(), cl_ulong{pixel_entries_}, frames, buffers_.one_counts.get(),
             buffers_.results.get(), results, buffers_.invalid_counts.get(),
             cl::Local(group * 4 * sizeof(cl_long)));
      return;
    }
    case Method::kLocal: {
      const std::size_t group = kernels_.local.group(choice.group);
      launch("integrate", kernels_.local, cl::NDRange(choice.items * group, frames), cl::NDRange(group, 1),
             plan, matrix.first.get(), matrix.bins.get(), matrix.weights.get(), matrix.normalization.get(),
             matrix.dark.get(), band, buffers_.pixels.get(), cl_ulong{pixel_entries_}, frames,
             buffers_.one_counts.get(), buffers_.results.get(), results, buffers_.invalid_counts.get(),
             cl::Local(std::size_t{plan.bins} * sizeof(cl_long) * (1 + plan.has_variance)));
    }
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
  const std::size_t group = kernels_.add_sums.group(kPlainGroup);
  const auto add = [&](const DeviceBuffer& from, cl_ulong at, cl_ulong entries, bool only_missing) {
    launch("add up", kernels_.add_sums, in_groups(plan.bins, group, frames), cl::NDRange(group, 1), plan.bins,
           cl_uint{choice.items}, from.get(), at, entries, cl_uint{only_missing},
           buffers_.invalid_counts.get(), frames, buffers_.results.get(), to,
           quantity * session_->quantities());
    to += quantity;
  };
  add(buffers_.signal, 0, sums, false);
  if (plan.has_variance) add(buffers_.variance, 0, sums, false);
  for (cl_ulong part = 0; part < 2 + plan.has_dark; ++part) {
    add(buffers_.missing, part * sums, (2 + plan.has_dark) * sums, true);
  }
}

}  // namespace annulus::opencl
