// What flows between the stages. Every frame of a launch passes every stream, in order.
#pragma once

#include "layout.hpp"

namespace kernels {

// A word of compressed bytes, and as many after it as a code that starts in it may reach. One for each word;
// a frame has at least one, and all but its last are full.
template <int kBytes>
struct Window {
  static constexpr int kSize = kBytes + kLongestCode - 1;
  uint8_t byte[kSize];  // beyond the frame: anything
  uint8_t count;        // bytes of the word that belong to the frame
  uint8_t reach;        // bytes of the window that belong to the frame
  bool last;            // of the frame
};

// The codes that start in a word. One for each word.
template <int kBytes>
struct Codes {
  int64_t delta[kBytes];  // where a code starts; limited to 34 bits, which no good code exceeds
  uint32_t starts;        // bit k: a code that is whole starts at byte k
  uint32_t cut;           // bit k: a code starts at byte k and the frame ends inside it
  uint8_t count;          // bytes of the word
  bool last;
};

// The pixels of a word's codes, each still at the byte where its code starts. One for each word.
template <int kBytes>
struct Values {
  int32_t value[kBytes];
  uint32_t starts;
  uint32_t cut;
  uint32_t out_of_range;  // bit k: the pixel at byte k leaves int32
  uint8_t count;
  bool last;
};

// kLanes pixels in order; a frame has groups_of(pixels), the last filled up with zeros.
template <int kWidth>
struct Pixels {
  int32_t value[kWidth];  // of unsigned 32-bit frames: the same bits
};

// How decoding a frame ended. One a frame.
struct Report {
  uint32_t status;
  uint32_t byte;
  uint32_t pixel;
};

// One beat of the table: for each lane a share of bins.
struct TableBeat {
  TableEntry entry[kLanes];
};

// A share, unpacked.
struct Footprint {
  uint16_t first_bin;
  uint32_t weight[3];  // of first_bin, first_bin + 1, first_bin + 2
  bool closes;         // last share of its pixel
};

// The invalid pixels of one beat. Beats without any are not sent, but for the last of a frame.
struct RejectedBeat {
  Footprint share[kLanes];
  uint32_t rejected;     // bit k: the pixel of lane k is invalid and has weights
  uint32_t first_pixel;  // of lane 0
  bool last;             // of the frame
};

// The share of one invalid pixel; the last of a frame has no weights.
struct Rejected {
  Footprint share;
  uint32_t pixel;
  bool last;
};

// Four bins of a frame. One for each row.
struct FrameRow {
  int64_t signal[kBanks];
  int64_t variance[kBanks];
};
struct MissingRow {
  int64_t count[kBanks];
  int64_t normalization[kBanks];
  int64_t dark[kBanks];
};

}  // namespace kernels
