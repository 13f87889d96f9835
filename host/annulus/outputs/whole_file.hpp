// HDF5 files that are written in one go: complete or not at all, and in place of the one that was there.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>

#include <filesystem>
#include <functional>

namespace annulus {

struct WholeFileKind {
  const char* noun;    // "matrix"
  const char* option;  // that names the file, in backticks
  bool (*is_one)(hid_t file);
};

// What write_whole_file() would refuse, before there is anything to write. Whether it would replace a file.
bool check_place(const std::filesystem::path& path, bool overwrite, const WholeFileKind& kind);

// The file has its name when it is complete and on the disk: who has the old one open keeps it, who opens the
// name again and again never meets half a file. It has the permissions of the old one. An existing file is
// replaced only if `overwrite` is set and it is empty or one of this kind. Throws kOutput;
// what `fill` throws for other reasons passes, and leaves nothing behind.
void write_whole_file(const std::filesystem::path& path, bool overwrite, const WholeFileKind& kind,
                      const std::function<void(hid_t file)>& fill);

}  // namespace annulus
