// Bitshuffle: a block of n elements as bit planes, first bit 0 of byte 0 of all elements, then bit 1, and so
// on; in each plane bit k of byte i is that of element 8 i + k.
//
// Eight neighbouring elements lie in one byte of each plane, so any part of a block that begins and ends at a
// multiple of 8 is put together alone: what integration needs next, straight from the decompressed block.
#pragma once

#include <annulus/core/instruction_set.hpp>

#include <cstddef>
#include <cstdint>

namespace annulus {

// `groups` groups of 8 elements to int32, zero-extended: 32 bits stay the same 32 bits. planes: the byte of
// the first group in the first plane; stride: bytes of a plane. Reads up to 31 bytes beyond a plane's last.
using GatherPixels = void (*)(const std::byte* planes, std::size_t stride, std::size_t groups,
                              std::uint32_t* pixels);

// For elements of 1, 2 or 4 bytes.
GatherPixels pixel_gatherer(std::size_t element_size, InstructionSet set);

// Whole blocks between elements of any size and bit planes; `elements` is a multiple of 8.
void gather_elements(const std::byte* planes, std::size_t element_size, std::size_t elements, std::byte* out);
void scatter_elements(const std::byte* in, std::size_t element_size, std::size_t elements, std::byte* planes);

}  // namespace annulus
