// Reading a master: which parts it has, and that what it shows is in them. Within an Hdf5Session.
#pragma once

#include <annulus/hdf5/handle.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace annulus {

// What a master says of a part.
struct PartFile {
  std::filesystem::path path;
  std::string name;          // in the master: relative to its folder
  std::uint64_t header = 0;  // checksum of what the part stores once: no other file has the same
};

// In the group layout::kParts of a new file.
void write_part_files(hid_t master, const std::vector<PartFile>& parts);

// Throws kInput if the list cannot be read.
std::vector<PartFile> read_part_files(const std::filesystem::path& path, hid_t master);

// Throws kInput unless every part is there, is the file that the master was made of, and has all rows that
// the master shows: HDF5 gives fill values for what is missing, and says nothing.
void check_parts(const std::filesystem::path& path, hid_t master);

// Whether a dataset shows rows of other files.
bool is_virtual_dataset(hid_t dataset);

// In names of virtual sources % has a meaning.
std::string escape_source_name(const std::string& name);
std::string unescape_source_name(const std::string& name);

}  // namespace annulus
