// An output as the frames that it was made of, checked against its checksums.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/outputs/stored_checksums.hpp>
#include <annulus/outputs/stored_sums.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// Throws kInput for what is no output, was written by an earlier version without what is needed here, or is
// damaged.
class StoredOutput {
 public:
  explicit StoredOutput(const std::filesystem::path& path);
  ~StoredOutput();
  StoredOutput(const StoredOutput&) = delete;
  StoredOutput& operator=(const StoredOutput&) = delete;

  const PatternFile& file() const { return file_; }
  const Job& job() const { return sums_->job(); }
  std::uint64_t frames_at_once() const { return sums_->frames_at_once(); }

  // What names of sources are relative to.
  const std::filesystem::path& working_directory() const { return working_directory_; }

  // With their patterns and values of columns; FrameId::index is the number that each has in the file.
  std::vector<ReducedFrame> read(std::uint64_t first, std::uint64_t count) const;

  // Of the first so many frames.
  std::vector<std::int64_t> read_fraction_bits(std::uint64_t frames) const;

 private:
  [[noreturn]] void refuse_damaged(const std::string& fault) const;

  std::uint64_t closing_;
  PatternFile file_;
  std::optional<StoredSums> sums_;
  std::optional<StoredChecksums> checksums_;
  std::filesystem::path working_directory_;
};

}  // namespace annulus
