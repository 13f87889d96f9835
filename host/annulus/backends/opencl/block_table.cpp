#include <annulus/backends/opencl/block_table.hpp>
#include <annulus/codecs/block_decoder.hpp>

#include <algorithm>

namespace annulus::opencl {

std::optional<BlockTable> find_blocks(const Frame& frame) {
  const auto payload = frame.payload.view();
  const std::uint64_t element = size_of(frame.type);
  BlockFault fault;
  const std::uint64_t block = read_block_header(frame.codec, payload, element, frame.shape.size(), fault);
  if (fault.status != BlockStatus::kOk) return std::nullopt;
  BlockTable table;
  table.block_elements = std::max<std::uint64_t>(block / element, 1);
  std::uint64_t at = kBlockHeader;
  const std::uint64_t bytes = frame.shape.size() * element;
  for (std::uint64_t place = 0; place < bytes;) {
    std::uint64_t size = std::min(bytes - place, block);
    if (is_bitshuffled(frame.codec)) size -= size % (kPlaneElements * element);
    std::uint64_t length = size;
    bool stored = false;
    if (size == 0) {  // elements that fill no plane
      size = length = bytes - place;
      stored = true;
    } else {
      if (payload.size() - at < kBlockLength) return std::nullopt;
      length = 0;
      for (const std::byte byte : payload.subspan(at, kBlockLength))
        length = length << 8 | std::to_integer<std::uint64_t>(byte);
      at += kBlockLength;
      stored = frame.codec == Codec::kLz4 && length == size;
    }
    if (length > payload.size() - at) return std::nullopt;
    table.blocks.push_back({at, length, place, size, stored});
    at += length;
    place += size;
  }
  if (at != payload.size()) return std::nullopt;
  return table;
}

}  // namespace annulus::opencl
