// A whole frame as numbers: for masks, darks, flats, info and tests. Backends decode in bands instead.
#pragma once

#include <annulus/codecs/byte_offset.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/core/image.hpp>

#include <string>

namespace annulus {

// Every integer type up to 32 bits, and integers held by wider or floating types, are exact in double.
// Throws kInput, naming the frame and the byte.
Image<double> decode_frame(const Frame& frame);

// "truncated at byte 12 of 345: pixel 6 of 7 is missing", for messages about a frame of `pixels` pixels.
std::string describe_fault(DecodeStatus status, std::size_t byte, std::size_t bytes, std::size_t pixel,
                           std::size_t pixels);

// The same for a payload of plain pixels whose size is wrong.
std::string describe_size_fault(std::size_t bytes, std::size_t expected);

}  // namespace annulus
