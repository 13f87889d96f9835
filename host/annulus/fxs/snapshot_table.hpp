// The snapshots of a correlation, a row each: where they came from, and what became of them.
#pragma once

#include <annulus/outputs/stored_frames.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace annulus {

enum class SnapshotStatus : std::uint8_t {
  kCounted = 0,   // it is in the sums
  kRejected = 1,  // its mean is out of limits, or its values are no integers of 16 bits
  kBad = 2,       // it could not be read
};

struct Snapshot {
  std::uint64_t index = 0;  // its place in the scan
  SourceId source_id = {};
  std::uint64_t in_source = 0;
  double mean = 0;           // of all valid values; NaN if there is none
  std::uint32_t source = 0;  // in SnapshotTable::sources()
  std::uint32_t reason = 0;  // in SnapshotTable::reasons(), from 1; 0: none
  SnapshotStatus status = SnapshotStatus::kCounted;
};

// What an image is known by, however often and under whatever name it was correlated.
using ImageId = std::pair<SourceId, std::uint64_t>;
ImageId id_of(const Snapshot& row);

// Texts are kept once, however many rows have them.
class SnapshotTable {
 public:
  // Its texts are given beside the row. Throws kInput for more than 2^32 of them.
  void add(Snapshot row, const std::string& source, const std::string& reason);

  const std::vector<Snapshot>& rows() const { return rows_; }
  const std::vector<std::string>& sources() const { return sources_.texts; }
  const std::vector<std::string>& reasons() const { return reasons_.texts; }
  const std::string& source_of(const Snapshot& row) const { return sources().at(row.source); }
  std::string reason_of(const Snapshot& row) const {
    return row.reason == 0 ? "" : reasons().at(row.reason - 1);
  }
  std::uint64_t count(SnapshotStatus status) const { return counts_.at(static_cast<std::size_t>(status)); }

 private:
  struct Texts {
    std::vector<std::string> texts;
    std::unordered_map<std::string, std::uint32_t> places;

    std::uint32_t place_of(const std::string& text);
  };

  std::vector<Snapshot> rows_;
  Texts sources_, reasons_;
  std::array<std::uint64_t, 3> counts_ = {};
};

// The same, of a table whose names of sources are relative to `folder`, with names that are relative to
// `here`: they stay as they are if that is the same folder, and are names from the root otherwise.
SnapshotTable named_from(const std::filesystem::path& here, SnapshotTable table,
                         const std::filesystem::path& folder);

// Whether one has all snapshots of the other.
bool contains_all(const SnapshotTable& all, const SnapshotTable& some);

// The snapshots that another table does not have.
SnapshotTable without(const SnapshotTable& table, const SnapshotTable& other);

// The snapshots of several tables as one: by their places in the scan if no place occurs twice, as of parts
// of a run, else one table after the other. Throws kInput if a snapshot is there twice.
SnapshotTable join(const std::vector<const SnapshotTable*>& tables);

}  // namespace annulus
