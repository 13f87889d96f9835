#include <annulus/backends/opencl/batch_layout.hpp>
#include <annulus/backends/opencl/block_table.hpp>
#include <annulus/backends/opencl/device_fault.hpp>
#include <annulus/codecs/block_decoder.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus::opencl {

BatchLayout lay_out(const Session& session, std::span<const Frame* const> frames) {
  BatchLayout layout;
  layout.codec = frames.front()->codec;
  layout.type = frames.front()->type;
  layout.frames = static_cast<cl_uint>(frames.size());
  layout.unpacked_stride = round_up(session.plan().pixels() * size_of(layout.type), kAlignment);
  for (const Frame* frame : frames) {
    const std::uint64_t bytes = frame->payload.size();
    const std::uint64_t segment = session.choice().segment_bytes;
    std::uint64_t pieces = layout.codec == Codec::kByteOffset ? (bytes + segment - 1) / segment : 0;
    std::uint64_t block_elements = 0;
    if (has_blocks(layout.codec)) {
      const auto table = find_blocks(*frame);
      if (!table) {
        throw device_fault(session.device(), fmt::format("{} changed while it was read", describe(*frame)),
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

}  // namespace annulus::opencl
