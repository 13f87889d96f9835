// A look at a compressed chunk before the library unpacks it. HDF5 trusts a filter to give as many bytes as a
// chunk has, and the LZ4 and bitshuffle plugins trust the lengths inside their data: damage would be taken
// for pixels, or read out of bounds.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace annulus {

struct Hdf5Filter {
  H5Z_filter_t id = 0;
  std::vector<unsigned> values;  // the filter's parameters, as stored with the dataset
};

// Why the stored chunk cannot unpack to `chunk_bytes` bytes of elements of `element_size`; empty if it may.
// Understands deflate, shuffle, fletcher32, LZ4 and bitshuffle; what other filters give is not checked.
std::string chunk_fault(const std::vector<Hdf5Filter>& pipeline, std::uint32_t filter_mask,
                        std::span<const std::byte> stored, std::uint64_t chunk_bytes,
                        std::size_t element_size);

}  // namespace annulus
