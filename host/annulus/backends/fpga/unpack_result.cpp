#include <annulus/backends/fpga/unpack_result.hpp>
#include <annulus/codecs/block_decoder.hpp>
#include <annulus/codecs/decode_frame.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {
namespace {

using kernels::SumBeat;

// A message has numbers that the header has not, so the host looks at the payload for itself. What liblz4
// lets pass is a fault all the same.
std::string describe_block(const Frame& frame, const SumBeat& header) {
  BlockDecoder decoder(frame.codec, frame.payload.view(), size_of(frame.type), frame.shape.size());
  while (decoder.next()) {
  }
  decoder.finish();
  if (decoder.fault().status != BlockStatus::kOk) {
    return describe_fault(decoder.fault(), frame.payload.size());
  }
  BlockFault fault;
  const std::size_t block = std::max<std::size_t>(
      1,
      read_block_header(frame.codec, frame.payload.view(), size_of(frame.type), frame.shape.size(), fault));
  const std::size_t before =
      static_cast<std::size_t>(header.sum[kernels::kHeaderPixel]) * size_of(frame.type);
  const std::size_t unit = kPlaneElements * size_of(frame.type);
  const std::size_t size = std::min(block, (frame.shape.size() * size_of(frame.type) - before) / unit * unit);
  fault = {BlockStatus::kCorruptBlock, before / block,
           static_cast<std::size_t>(header.sum[kernels::kHeaderByte]), 0, size};
  return describe_fault(fault, frame.payload.size());
}

// The words are those of the CPU backend: who reads them need not know what reduced the frame.
std::string describe_status(std::int64_t status, const Frame& frame, const SumBeat& header) {
  const std::size_t bytes = frame.payload.size();
  const std::size_t pixels = frame.shape.size();
  if (frame.codec == Codec::kRaw) return describe_size_fault(bytes, pixels * size_of(frame.type));
  if (has_blocks(frame.codec)) return describe_block(frame, header);
  const auto describe = [&](DecodeStatus fault) {
    return describe_fault(fault, static_cast<std::size_t>(header.sum[kernels::kHeaderByte]), bytes,
                          static_cast<std::size_t>(header.sum[kernels::kHeaderPixel]), pixels);
  };
  switch (status) {
    case kernels::kTruncated:
    case kernels::kTooFewPixels:
      return describe(DecodeStatus::kTruncated);
    case kernels::kTooManyPixels:
    case kernels::kTrailingBytes:
      return describe(DecodeStatus::kTrailingBytes);
    case kernels::kValueOutOfRange:
      return describe(DecodeStatus::kValueOutOfRange);
    default:
      return fmt::format("the kernel gave it the unknown status {}", status);
  }
}

// Column `first` of four in each of the rows that start at `rows` and are `stride` beats apart.
PooledArray<std::int64_t> gather(const SumBeat* rows, std::size_t stride, std::size_t first,
                                 std::size_t bins) {
  PooledArray<std::int64_t> sums(bins);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    sums[bin] = rows[bin / kernels::kBanks * stride].sum[first + bin % kernels::kBanks];
  }
  return sums;
}

}  // namespace

FrameResult unpack_result(const Plan& plan, const Recipe& recipe, const Frame& frame, const SumBeat* results,
                          const SumBeat* missing) {
  const SumBeat& header = results[0];
  const std::int64_t status = header.sum[kernels::kHeaderStatus];
  if (status != kernels::kGood) {
    return {frame.id, damaged_frame(frame, describe_status(status, frame, header))};
  }
  const std::size_t bins = plan.bins();
  constexpr std::size_t kUpper = kernels::kBanks;
  Sums sums;
  sums.fraction_bits = frame.fraction_bits;
  sums.set(Quantity::kSignal, gather(results + 1, 1, 0, bins));
  if (recipe.has_variance()) sums.set(Quantity::kVariance, gather(results + 1, 1, kUpper, bins));
  sums.invalid_pixels = static_cast<std::uint64_t>(header.sum[kernels::kHeaderInvalid]);
  if (sums.invalid_pixels == 0) return {frame.id, std::move(sums)};
  sums.set(Quantity::kMissingCount, gather(missing, 2, 0, bins));
  sums.set(Quantity::kMissingNormalization, gather(missing, 2, kUpper, bins));
  if (!plan.dark.empty()) sums.set(Quantity::kMissingDark, gather(missing + 1, 2, 0, bins));
  return {frame.id, std::move(sums)};
}

}  // namespace annulus
