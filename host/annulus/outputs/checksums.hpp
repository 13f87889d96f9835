// Checksums of everything that an output holds, so that `verify` notices whatever was changed in it
// (docs/output_format.md). Every function expects an Hdf5Session to be alive.
//
// What belongs to a frame has a checksum per frame. What is stored once, when the file is made, has one in
// common. What changes until the end (how many frames there are, the time of the last) has one that is
// written when the file is closed; until then a mark in its place says that the file is open.
#pragma once

#include <annulus/hdf5/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// What the row of one dataset adds to the checksum of its frame. `seed` is that of the dataset's path, so
// that rows of two datasets cannot change places unnoticed.
std::uint64_t checksum_seed(std::string_view path);
std::uint64_t row_checksum(std::uint64_t seed, std::span<const std::byte> row);

// Of a frame, from the sum of what its rows add: rows may come in any order. `number`: its frame_index,
// whatever its row, so that a frame has the same checksum in the output of a part and in that of the whole
// scan.
std::uint64_t frame_checksum(std::uint64_t sum_of_rows, std::uint64_t number);

// Datasets with a row per frame, except that of the checksums themselves.
std::vector<std::string> row_datasets(hid_t file);

// Groups, attributes, and datasets that do not grow: their names, types and values. Of those of `elsewhere`,
// without their values, which have checksums of their own.
std::uint64_t header_checksum(hid_t file, std::span<const char* const> elsewhere = {});

std::uint64_t closing_checksum(hid_t file, std::uint64_t header, std::uint64_t frames);
std::uint64_t open_mark(std::uint64_t header);

}  // namespace annulus
