// What flows between the stages of the bitshuffle-LZ4 decoder.
//
// The blocks of a frame are dealt to the engines in turn, from the first on, and collected in the same order:
// its shuffled blocks and then one stored block, with the left-over pixels, which may be none, and how
// splitting ended. After a frame every engine gets kNoBlock, which makes it send the block that it holds: no
// frame waits for the next. After the last frame every engine gets kNoMore.
#pragma once

#include "layout.hpp"

namespace kernels {

enum BlockKind : uint8_t {
  kShuffled,  // LZ4 of bit planes
  kStored,    // pixels as they are
  kNoBlock,   // the frame ends
  kNoMore,    // the launch ends
};

struct BlockInfo {
  uint32_t byte;    // of the payload where it starts; of a fault, where that is
  uint32_t status;  // kGood, or the first fault that was found in it
  uint16_t bytes;   // decoded
  uint8_t kind;
};

// Compressed bytes. At least one for each block; all but its last are full.
struct BlockWord {
  uint8_t byte[kWordBytes];
  uint8_t count;
  bool last;
  BlockInfo info;
};

// Literals, and after them a match. Every block ends with one that is the last; of a faulty block nothing
// else counts. All that a sequence says has been checked against the block.
struct Sequence {
  uint8_t literal[kCopyBytes];
  uint8_t literals;  // their number
  uint16_t match;    // bytes; may be 0
  uint16_t offset;   // how far back the match is
  bool last;
  BlockInfo info;
};

// 16 bytes of four bit planes: pixels [128 t, 128 t + 128) of planes [4 g, 4 g + 4). A block has them for all
// t, and for each t for all g. Of a stored block: the first 64 bytes, once.
struct PlaneBeat {
  uint64_t low[4];
  uint64_t high[4];
  BlockInfo info;
};

constexpr int kPlanes = 32;       // of the widest pixels
constexpr int kTilePixels = 128;  // whose bits are 16 bytes of each plane

}  // namespace kernels
