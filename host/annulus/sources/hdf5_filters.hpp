// Registered HDF5 filters of detector files, and what they call their ways.
#pragma once

#include <hdf5.h>

namespace annulus {

inline constexpr H5Z_filter_t kLz4Filter = 32004;
inline constexpr H5Z_filter_t kBitshuffleFilter = 32008;

// The fifth value of bitshuffle: what comes after the shuffling.
inline constexpr unsigned kNoCompression = 0;
inline constexpr unsigned kWithLz4 = 2;
inline constexpr unsigned kWithZstd = 3;

}  // namespace annulus
