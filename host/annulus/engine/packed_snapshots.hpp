// Tables of snapshots as bytes, which ranks send to each other.
#pragma once

#include <annulus/fxs/snapshot_table.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace annulus {

// `folder`: what names of sources are relative to.
std::vector<std::byte> packed(const SnapshotTable& table, const std::string& folder);

// With names that are relative to `here`, or from the root where they were relative to another folder.
SnapshotTable unpacked(std::span<const std::byte> bytes, const std::string& here);

}  // namespace annulus
