#include <annulus/codecs/block_fault.hpp>

#include <fmt/core.h>

namespace annulus {

std::string describe_fault(const BlockFault& fault, std::size_t bytes) {
  const auto of_block = [&](const std::string& what) {
    return fmt::format("block {} at byte {} of {}: {}", fault.block, fault.byte, bytes, what);
  };
  switch (fault.status) {
    case BlockStatus::kOk:
      return "no fault";
    case BlockStatus::kShortHeader:
      return fmt::format("{} bytes, fewer than the {} of a header", fault.found, fault.expected);
    case BlockStatus::kOtherSize:
      return fmt::format("its header at byte {} says {} bytes of pixels, {} expected", fault.byte,
                         fault.found, fault.expected);
    case BlockStatus::kBadBlockSize:
      return fmt::format("its header at byte {} says blocks of {} bytes, which is not a multiple of {}",
                         fault.byte, fault.found, fault.expected);
    case BlockStatus::kBlockTooLarge:
      return fmt::format("its header at byte {} says blocks of {} bytes, more than {}", fault.byte,
                         fault.found, fault.expected);
    case BlockStatus::kTruncated:
      return of_block(fmt::format("truncated, {} of {} bytes are there", fault.found, fault.expected));
    case BlockStatus::kBlockPastEnd:
      return of_block(fmt::format("its length is {} bytes, {} are left", fault.found, fault.expected));
    case BlockStatus::kCorruptBlock:
      return of_block(fmt::format("corrupt, it does not decode to {} bytes", fault.expected));
    case BlockStatus::kOtherLength:
      return of_block(fmt::format("decodes to {} bytes, {} expected", fault.found, fault.expected));
    case BlockStatus::kTrailingBytes:
      break;
  }
  return fmt::format("{} bytes are left at byte {} of {} after the last of {} blocks", fault.found,
                     fault.byte, bytes, fault.block);
}

}  // namespace annulus
