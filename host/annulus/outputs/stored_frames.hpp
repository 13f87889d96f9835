// Which frames an output holds already: what `append` leaves out.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

namespace annulus {

// A frame is known by the file and dataset that hold it and its place there. Files are compared by their
// folder, links resolved, and their name: however the folder was written.
class StoredFrames {
 public:
  // `folder`: what the source is relative to. A bad frame also stands for its source as a whole
  // (core/whole_source.hpp).
  void add(const std::string& source, std::uint64_t in_source, bool is_good,
           const std::filesystem::path& folder);

  // Any thread.
  bool contains(const FrameId& id) const;

 private:
  struct Key {
    std::uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };

  Key key_of(const std::string& source, std::uint64_t in_source, const std::filesystem::path& folder) const;

  std::unordered_set<Key, Hash> keys_;  // 128 bits of XXH3: two frames do not have the same
  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, std::string> folders_;  // as they were written, and really
};

}  // namespace annulus
