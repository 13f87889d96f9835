// Which frames an output holds, row by row.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <hdf5.h>

#include <cstdint>
#include <functional>

namespace annulus {

struct StoredRow {
  SourceId source = {};
  std::uint64_t in_source = 0;
  std::uint64_t number = 0;  // frame_index
  bool bad = false;
};

// Of the first `frames` rows, in their order. Throws an error of this kind. Within an Hdf5Session.
void for_each_stored_row(hid_t file, std::uint64_t frames, ErrorKind kind,
                         const std::function<void(const StoredRow& row)>& visit);

}  // namespace annulus
