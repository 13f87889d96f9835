// The checksums of an output file, compared with what it holds (checksums.hpp). Every function expects an
// Hdf5Session to be alive.
#pragma once

#include <annulus/hdf5/handle.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

// What is stored now as the checksum of the end, which the writer of a file changes.
std::uint64_t stored_closing(const std::filesystem::path& path);

// Its writer may be at work: what is written at the end is compared only if it is the same as `closing`,
// which was read before the frames were counted.
class StoredChecksums {
 public:
  StoredChecksums(hid_t file, std::uint64_t closing);

  // One sentence per frame, empty where its checksum is right. Throws kInput where a row cannot be read.
  std::vector<std::string> check_frames(std::uint64_t first, std::uint64_t count) const;

  // A sentence each; empty if the checksum is right.
  std::string check_header() const;
  std::string check_closing(std::uint64_t frames) const;

  bool is_open() const;

 private:
  hid_t file_;
  std::vector<std::string> rows_;
  std::uint64_t header_;
  std::uint64_t closing_;
};

}  // namespace annulus
