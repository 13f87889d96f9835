// What lies in a card's memory: the host packs it, the kernels read and write it. Little endian throughout.
// All structs are powers of two in size, so that each is one transfer of a wide port.
#pragma once

#include "config.hpp"

namespace kernels {

// One a frame, in launch order.
struct FrameDescriptor {
  uint32_t first_beat;  // where its payload starts in `frames`, in beats
  uint32_t bytes;       // of the payload
  uint32_t one_count;   // variance is max(raw, one_count): 1, 2^fraction_bits of the frame, or 0
  uint32_t number;      // of this frame in this launch: its result has the same
};

// Payloads, each from a fresh beat on; what follows a payload in its last beat is ignored.
struct Beat {
  uint8_t byte[kBeatBytes];
};

// A pixel's share of up to three neighbouring bins, from bit 0: 16 bits first bin, 23 bits weight of the
// second bin, 23 bits weight of the third; bit 62 (kCloses): the first bin gets what is left of the pixel's
// 2^weight_bits; bit 63, of lane 0 only (kLastBeat): the next beat belongs to the next kLanes pixels. A pixel
// over more bins has entries in several beats, of which the last closes it. A pixel that nobody uses has the
// entry 0.
using TableEntry = uint64_t;
constexpr int kBinBits = 16;
constexpr int kShareBits = 23;
constexpr TableEntry kCloses = TableEntry{1} << 62;
constexpr TableEntry kLastBeat = TableEntry{1} << 63;
static_assert(kBinBits + 2 * kShareBits + 2 == 64, "an entry is full");

// Port p has the entries of lanes [4 p, 4 p + 4) of every beat of the table.
struct TableSlice {
  TableEntry entry[kEntriesAPort];
};

// Of each pixel, for those that are invalid in a frame.
struct Correction {
  int32_t normalization;
  int32_t dark;
};

// Eight sums: one transfer of `results` and of `missing`.
//   results, a frame: a header, then for each row of four bins {signal[4], variance[4]} (variance 0 in builds
//   without) missing, a frame: for each row of four bins {count[4], normalization[4]} and {dark[4], 0, 0, 0,
//   0}: what the
//                     frame's invalid pixels take from the plan's totals
struct SumBeat {
  int64_t sum[2 * kBanks];
};

enum Status : uint32_t {
  kGood = 0,
  kTruncated = 1,        // the bytes end inside a code; inside a chunk's header, block or left-over pixels
  kTooFewPixels = 2,     // the bytes end after a code, before the last pixel
  kTooManyPixels = 3,    // a further code follows the last pixel
  kTrailingBytes = 4,    // bytes that are no code follow the last pixel
  kValueOutOfRange = 5,  // a pixel leaves int32
  // Of chunks of bitshuffle-LZ4:
  kWrongChunkSize = 6,    // the header says another number of bytes than the frame has
  kBlockUnsupported = 7,  // blocks that are no multiple of 8 pixels, or larger than kBlockBytes
  kBlockPastEnd = 8,      // the length of a block reaches beyond the chunk
  kBlockCutShort = 9,     // a block's bytes end inside a sequence, or before the block is full
  kLiteralsPastEnd = 10,  // literals reach beyond the block
  kMatchPastEnd = 11,     // a match reaches into the last bytes of a block, which are literals
  kWrongOffset = 12,      // a match points before its block, or to itself
  kBlockSurplus = 13,     // bytes follow when the block is full
};

// Places in a header. The sums of a frame whose status is not kGood mean nothing.
enum HeaderField : uint32_t {
  kHeaderBuild = 0,    // kBuildWord
  kHeaderStatus = 1,   // Status
  kHeaderByte = 2,     // where the fault is: the start of the faulty code or block, or the end of the payload
  kHeaderPixel = 3,    // the good pixels before it
  kHeaderInvalid = 4,  // pixels with weights that were not accepted
  kHeaderNumber = 5,   // that of the frame's descriptor
  kHeaderMissing = 6,  // checksum of the frame's beats of `missing` (checksum.hpp)
  kHeaderCheck = 7,    // checksum of the rows and then this header, in which this field is still 0
};

constexpr uint32_t rows_of(uint32_t bins) { return (bins + kBanks - 1) / kBanks; }
constexpr uint32_t groups_of(uint32_t pixels) { return (pixels + kLanes - 1) / kLanes; }
constexpr uint32_t beats_of(uint32_t bytes) { return bytes / kBeatBytes + (bytes % kBeatBytes != 0 ? 1 : 0); }
constexpr uint32_t result_beats_of(uint32_t bins) { return 1 + rows_of(bins); }
constexpr uint32_t missing_beats_of(uint32_t bins) { return 2 * rows_of(bins); }

static_assert(sizeof(FrameDescriptor) == 16 && sizeof(Beat) == 64 && sizeof(TableSlice) == 32,
              "as the ports");
static_assert(sizeof(Correction) == 8 && sizeof(SumBeat) == 64, "as the ports");

}  // namespace kernels
