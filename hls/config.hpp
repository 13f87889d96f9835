// What a build of the kernels is: every constant that host, model and hardware must agree on.
// ANNULUS_KERNEL_BINS and ANNULUS_KERNEL_VARIANCE come from CMake's cache variables of the same names.
#pragma once

#include <cstdint>

#ifndef ANNULUS_KERNEL_BINS
#define ANNULUS_KERNEL_BINS 4096
#endif
#ifndef ANNULUS_KERNEL_VARIANCE
#define ANNULUS_KERNEL_VARIANCE 1
#endif

namespace kernels {

constexpr int kInterfaceVersion = 2;  // of the arguments and memory layouts of layout.hpp and kernels.hpp

constexpr int kLanes = 16;                                // pixels a clock
constexpr int kWordBytes = 16;                            // compressed bytes a clock
constexpr int kMaxBins = ANNULUS_KERNEL_BINS;             // bins that the on-chip memories hold
constexpr bool kVariance = ANNULUS_KERNEL_VARIANCE != 0;  // whether they hold sums of squared weights too

// A pixel's three neighbouring bins lie in three of four banks, so all are updated in one clock.
constexpr int kBanks = 4;
constexpr int kRows = kMaxBins / kBanks;

// A sum is written at most so many updates of its bank after it was read; forwarding covers them.
constexpr int kInFlight = 6;

constexpr int kBeatBytes = 64;  // of the frames and results ports
constexpr int kTablePorts = 4;  // each 32 bytes wide: four entries, what one HBM channel delivers at 300 MHz
constexpr int kEntriesAPort = kLanes / kTablePorts;

// The longest code of byte offset has 15 bytes, so a word must be followed by 14 more to be understood.
constexpr int kLongestCode = 15;

// Bitshuffle-LZ4: blocks of a frame are independent, and this many are decoded at once. 16 pixels of 4 bytes
// a clock need five engines in all frames that were measured (docs/kernels.md); one is for denser ones.
constexpr int kLz4Engines = 6;
constexpr int kBlockBytes =
    8192;                       // of the largest block, decoded: what a block is unless a file says otherwise
constexpr int kCopyBytes = 16;  // decoded bytes a clock and engine

// An engine keeps its last bytes in registers: those that its memory may not have yet, and short patterns.
constexpr int kCopyWindow = 64;
constexpr int kCopyRows = kBlockBytes / kCopyBytes / 2;  // of the two banks of a block's memory

constexpr int kMaxWeightBits = 23;    // a weight is at most 2^23
constexpr int kMaxVarianceBits = 31;  // a squared weight is at most 2^31

constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

static_assert(is_power_of_two(kMaxBins) && kMaxBins >= kBanks,
              "rows are addressed by the upper bits of a bin");
static_assert(kMaxBins <= 65536, "a table entry has 16 bits for its first bin");
static_assert(is_power_of_two(kLanes) && kLanes % kTablePorts == 0,
              "every port feeds the same number of lanes");
static_assert(is_power_of_two(kWordBytes) && kWordBytes <= kLanes,
              "a word never holds more pixels than lanes");
static_assert(kBeatBytes % kWordBytes == 0, "a beat is a whole number of words");
static_assert(kWordBytes == 16 && kCopyBytes == 16, "a token, 13 literals and an offset are one word");

// Which build a kernel is; it stands in the header of every result, and the host demands its own. The mark
// says that it is such a word at all.
constexpr uint64_t kBuildMark = 0xA22;
constexpr int kBuildMarkShift = 48;
constexpr uint64_t kBuildWord = (kBuildMark << kBuildMarkShift) | (uint64_t{kInterfaceVersion} << 32) |
                                (uint64_t{kLanes} << 24) | (uint64_t{kWordBytes} << 16) |
                                (uint64_t{log2_of(kMaxBins)} << 8) | (kVariance ? 1 : 0);

}  // namespace kernels
