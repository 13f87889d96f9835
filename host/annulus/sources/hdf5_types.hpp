// HDF5's names of the types of pixels.
#pragma once

#include <annulus/core/image.hpp>

#include <hdf5.h>

namespace annulus {

// As they are in memory.
inline hid_t native_type(PixelType type) {
  switch (type) {
    case PixelType::kU8:
      return H5T_NATIVE_UINT8;
    case PixelType::kU16:
      return H5T_NATIVE_UINT16;
    case PixelType::kU32:
      return H5T_NATIVE_UINT32;
    case PixelType::kU64:
      return H5T_NATIVE_UINT64;
    case PixelType::kI8:
      return H5T_NATIVE_INT8;
    case PixelType::kI16:
      return H5T_NATIVE_INT16;
    case PixelType::kI32:
      return H5T_NATIVE_INT32;
    case PixelType::kI64:
      return H5T_NATIVE_INT64;
    case PixelType::kF32:
      return H5T_NATIVE_FLOAT;
    case PixelType::kF64:
      break;
  }
  return H5T_NATIVE_DOUBLE;
}

}  // namespace annulus
