// The integers of an output file, read back, and the job that they are of. Every function expects an
// Hdf5Session to be alive, and the file to have been probed.
#pragma once

#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/open_output.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct SpreadTable;

// Reads by a handle of its own, beside that of the PatternFile whose header it is given. Throws kInput.
class StoredSums {
 public:
  StoredSums(const std::filesystem::path& path, const OutputHeader& header);

  hid_t file() const { return file_.get(); }
  bool has(const std::string& path) const { return has_object(file_.get(), path); }

  // As much of its plan as normalising and writing sums need, and whether there are errors.
  const Job& job() const { return job_; }

  // Of consecutive frames; of patterns, some bins of them.
  std::vector<Sums> frames(std::uint64_t first, std::uint64_t count) const;
  std::vector<Sums> frames(std::uint64_t first, std::uint64_t count, BinRange bins) const;

  std::vector<std::int64_t> fraction_bits(std::uint64_t first, std::uint64_t count) const;

  // What their sources are known by (stored_frames.hpp).
  std::vector<std::array<std::uint64_t, 2>> source_ids(std::uint64_t first, std::uint64_t count) const;

  // How many frames may be read at once without taking much memory.
  std::uint64_t frames_at_once() const;

 private:
  [[noreturn]] void missing(const std::string& what) const;
  double attribute(const char* name) const;
  std::shared_ptr<const SpreadTable> spread_table() const;
  std::vector<std::int64_t> totals(const char* name) const;
  std::size_t words_of(Quantity quantity) const;
  PixelType pixel_type() const;
  std::vector<std::int64_t> read(const char* path, RowExtent extent, std::uint64_t first,
                                 std::uint64_t count) const;
  std::vector<Sums> read_frames(std::uint64_t first, std::uint64_t count, std::optional<BinRange> part) const;

  std::string name_;
  RowExtent bins_;
  Hdf5Handle file_;
  Job job_;
};

}  // namespace annulus
