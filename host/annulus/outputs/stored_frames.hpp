// Which frames an output holds already: what `append` leaves out.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/outputs/sink.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace annulus {

// What a source is known by, however it is named: 127 bits of XXH3 of the real path of its folder, links
// resolved, the name of its file and its dataset, all as bytes. Names in outputs cannot do this: they are
// cut, and made UTF-8. The lowest bit of the first number says that the source holds more than one frame.
using SourceId = std::array<std::uint64_t, 2>;

// The same without that bit, which says nothing about which source it is: a file may have grown.
SourceId without_number(const SourceId& source);

// A frame is known by its source and its place there.
class StoredFrames {
 public:
  // `folder`: what names of sources are relative to.
  explicit StoredFrames(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // To be stored with a frame. Any thread.
  SourceId source_id(const FrameId& frame) const;

  // A frame that is stored. The only frame of a source, good or bad, also stands for the source as a whole
  // (core/whole_source.hpp).
  void add(const SourceId& source, std::uint64_t in_source, bool bad);

  // Any thread.
  Held find(const FrameId& id) const;

 private:
  struct Key {
    SourceId source;  // without the lowest bit
    std::uint64_t in_source;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return key.source[1] + key.in_source * 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    }
  };

  SourceId hash_of(const std::string& source) const;
  std::string real_folder(const std::filesystem::path& folder) const;

  const std::filesystem::path folder_;
  std::unordered_map<Key, bool, Hash> frames_;  // whether they are bad
  // Finding out asks the disk: once for each folder, and for each source that is a dataset, which may have
  // many frames.
  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, std::string> folders_;  // as they are written, and really
  mutable std::map<std::string, SourceId> datasets_;
};

// Throws kUsage if two of these inputs are the same file or dataset, whatever they are called. `folder` is
// what their names are relative to.
void check_named_once(const std::vector<std::string>& inputs, const std::filesystem::path& folder);

}  // namespace annulus
