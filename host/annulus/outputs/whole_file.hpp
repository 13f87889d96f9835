// HDF5 files that are written in one go: complete or not at all, and in place of the one that was there.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace annulus {

struct WholeFileKind {
  const char* noun;    // "matrix"
  const char* option;  // that names the file, in backticks
  bool (*is_one)(hid_t file);
};

// Tells a file from another one that took its name, and from the same one after a change.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_seconds = 0, changed_nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};
// Nothing if it is not there.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);

// What write_whole_file() would refuse, before there is anything to write. Whether it would replace a file.
bool check_place(const std::filesystem::path& path, bool overwrite, const WholeFileKind& kind);

// Throws kOutput if another program has the file open, or it cannot be replaced for reasons of its own.
// Nothing if it is not there.
void check_replacing(const std::filesystem::path& path, const WholeFileKind& kind);

// The file has its name when it is complete and on the disk: who has the old one open keeps it, who opens the
// name again and again never meets half a file. It has the permissions of the old one. An existing file is
// replaced only if `overwrite` is set and it is empty or one of this kind; and if `known` is given, only if
// it is still that one: what another program made of it meanwhile is not lost. Throws kOutput; what `fill`
// throws for other reasons passes, and leaves nothing behind.
void write_whole_file(const std::filesystem::path& path, bool overwrite, const WholeFileKind& kind,
                      const std::function<void(hid_t file)>& fill,
                      const std::optional<FileStamp>& known = {});

}  // namespace annulus
