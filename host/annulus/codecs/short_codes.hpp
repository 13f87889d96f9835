// The common part of byte offset: runs of codes of 1 and 3 bytes, once for each instruction set.
#pragma once

#include <annulus/core/instruction_set.hpp>

#include <cstddef>
#include <cstdint>

namespace annulus {

// Where a run ended: before a code of 7 or 15 bytes, or near the end of the bytes or of the pixels. What
// follows is for the caller.
struct ShortCodes {
  const std::byte* at;
  std::int32_t* out;
  std::int32_t value;
};

// At most so many pixels a call, starting from a value within +-kShortCodesValue: then no code of 16 bits can
// take the value out of int32, and the loop need not look.
constexpr std::ptrdiff_t kShortCodesPixels = 1 << 14;
constexpr std::int32_t kShortCodesValue = 1 << 30;
static_assert(kShortCodesValue + kShortCodesPixels * 32768 < INT32_MAX);

// Writes pixels from `out` on; those between the end of the run and `out_end` are unspecified.
using DecodeShortCodes = ShortCodes (*)(const std::byte* at, const std::byte* end, std::int32_t* out,
                                        std::int32_t* out_end, std::int32_t value);
DecodeShortCodes short_codes_decoder(InstructionSet set);

}  // namespace annulus
