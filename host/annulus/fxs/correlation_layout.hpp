// Where things lie in a file of a correlation: what its writer and its reader agree on (docs/correlation.md).
#pragma once

#include <annulus/hdf5/handle.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace annulus::correlation_layout {

inline constexpr const char* kProcess = "/entry/process";
inline constexpr const char* kOptions = "/entry/process/options";
inline constexpr const char* kFinished = "/entry/process/finished";
inline constexpr const char* kPreview = "/entry/process/preview";

// Sums and C2, [pair][angle], pairs as [q][q' >= q].
inline constexpr const char* kSignal = "/entry/correlation/signal";
inline constexpr const char* kMask = "/entry/correlation/mask";
inline constexpr const char* kC2 = "/entry/correlation/c2";

// C2(q, q, d) and C2(q, q', 0), for viewers.
inline constexpr const char* kOnRing = "/entry/c2_on_ring/data";
inline constexpr const char* kAtZero = "/entry/c2_at_zero/data";
inline constexpr const char* kRings = "/entry/c2_on_ring/q";
inline constexpr const char* kRingEdges = "/entry/c2_on_ring/q_edges";
inline constexpr const char* kAngles = "/entry/c2_on_ring/angle";

inline constexpr const char* kLegendre = "/entry/legendre";
inline constexpr const char* kCoefficients = "/entry/legendre/data";
inline constexpr const char* kOrders = "/entry/legendre/order";
inline constexpr const char* kConditions = "/entry/legendre/condition";

// A row per snapshot, and the texts that rows name by their numbers.
inline constexpr const char* kSnapshots = "/entry/snapshots";

inline constexpr const char* kChecksums = "/entry/checksums";
inline constexpr const char* kHeaderChecksum = "/entry/checksums/header";

// These have checksums of their own, or follow from what has.
inline constexpr std::array kWithoutHeader = {kSignal, kMask, kC2, kOnRing, kAtZero};

template <typename T>
hid_t type_of() {
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
}

}  // namespace annulus::correlation_layout
