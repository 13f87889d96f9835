// Reading output files back, also while they grow.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/axis.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// What a file says about all of its frames.
struct OutputHeader {
  std::string program;
  std::string program_version;
  std::string date;
  std::string backend;
  std::string plan_hash;
  std::string poni_text;
  std::string config_json;
  std::filesystem::path working_directory;  // of the run: what names of sources are relative to
  std::vector<std::pair<std::string, std::string>> options;  // in the order of the command table

  std::vector<Axis> axes;  // as of the plan: one of patterns, two of cakes
  Recipe recipe;
  bool has_errors = false;
  bool has_deviation = false;
  bool has_spottiness = false;
  std::vector<std::uint64_t> scan_shape;  // the grid of a scan that has one
  std::vector<ColumnInfo> columns;        // values per frame, by name
  std::vector<std::string> parts;         // of a master: the outputs that hold its frames, from its folder

  const Axis& radial() const { return axes.front(); }
  std::size_t bins() const { return bin_count(axes); }
};

struct FrameRecord {
  std::uint64_t index = 0;  // position in the scan
  std::string source;
  std::uint64_t frame_in_source = 0;
  double normalization = 1;  // divided the pattern
  bool bad = false;
  std::string fault;  // why, for a bad frame
};

// How titles and messages name frames: "1 frame", "20 frames"; and the source of one, with its number in it
// where the source can hold several.
std::string frame_count(std::uint64_t frames);
std::string frame_name(const FrameRecord& record);

// The patterns of consecutive frames of a file.
struct StoredPatterns {
  std::filesystem::path file;
  OutputHeader header;
  std::uint64_t first = 0;  // row of the first of them in the file
  std::vector<FrameRecord> frames;
  std::vector<double> intensities;  // one row of header.bins() values a frame; NaN for bad frames
  std::vector<double> errors;       // likewise; empty without error model
  std::vector<double> deviations;   // of a pixel, likewise; and spottiness: empty where the file has none
  std::vector<double> spottinesses;

  std::span<const double> intensity(std::size_t frame) const { return row(intensities, frame); }
  std::span<const double> error(std::size_t frame) const { return row(errors, frame); }
  std::span<const double> deviation(std::size_t frame) const { return row(deviations, frame); }
  std::span<const double> spottiness(std::size_t frame) const { return row(spottinesses, frame); }

 private:
  std::span<const double> row(const std::vector<double>& values, std::size_t frame) const {
    const std::size_t bins = header.bins();
    return std::span(values).subspan(frame * bins, bins);
  }
};

// An open output file, for those who read it piece by piece. The number of frames is that of the moment of
// opening. All of it throws kInput.
class PatternFile {
 public:
  explicit PatternFile(const std::filesystem::path& path);
  ~PatternFile();

  const std::filesystem::path& path() const { return path_; }
  const OutputHeader& header() const { return header_; }
  std::uint64_t frames() const { return frames_; }

  // From now on as if it had been opened when there were only so many: who reads it together with others, who
  // opened it earlier, sees what they see. There must be as many.
  void keep_first(std::uint64_t frames);

  // Whether its writer had closed it when it was opened: then these are all frames. Files of version 0.1 do
  // not say, and count as closed.
  bool is_closed() const { return closed_; }
  std::size_t bins() const { return header_.bins(); }

  // Rows [first, first + count) must exist; `values` holds count * bins().
  void read_intensities(std::uint64_t first, std::uint64_t count, std::span<double> values) const;
  // The same of some bins of patterns; `values` holds count * bins.size().
  void read_intensities(std::uint64_t first, std::uint64_t count, BinRange bins,
                        std::span<double> values) const;
  void read_errors(std::uint64_t first, std::uint64_t count, std::span<double> values) const;
  std::vector<FrameRecord> read_records(std::uint64_t first, std::uint64_t count) const;

  // What maps need of them, without names: which are bad, and what divided each.
  std::vector<bool> read_bad(std::uint64_t first, std::uint64_t count) const;
  std::vector<double> read_factors(std::uint64_t first, std::uint64_t count) const;

  // Their positions in the scan: those of rows that are missing, or of a part, are not the rows.
  std::vector<std::uint64_t> read_numbers(std::uint64_t first, std::uint64_t count) const;

  // Values of header().columns[column], NaN where missing; `values` holds count.
  void read_column(std::size_t column, std::uint64_t first, std::uint64_t count,
                   std::span<double> values) const;

  StoredPatterns read(std::uint64_t first, std::uint64_t count) const;

 private:
  void read_header();
  void count_frames();
  void check_range(std::uint64_t first, std::uint64_t count) const;

  class Content;  // what HDF5 knows of the file

  std::filesystem::path path_;
  std::unique_ptr<Content> file_;
  OutputHeader header_;
  std::uint64_t frames_ = 0;
  bool closed_ = true;
  double shared_factor_ = 1;  // of all frames, in files of version 0.1
};

// All frames; refuses what would not fit into a reasonable part of memory.
StoredPatterns read_patterns(const std::filesystem::path& path);

// False for what is not there or is no HDF5 file, too. Throws kInput if nobody can say, as probe_output()
// does.
bool is_annulus_output(const std::filesystem::path& path);

// The same of an output in which what makes it one was changed or lost.
bool was_annulus_output(const std::filesystem::path& path);

// Opens the file in a process of its own first (hdf5/probe.hpp): whoever opens an output calls this before.
// Throws kInput if that process dies. False if the file does not begin as outputs do: it is not to be opened.
[[nodiscard]] bool probe_output(const std::filesystem::path& path);

// What that process does: reads all of the structure of an output, and nothing of another file.
inline constexpr const char* kProbeOutput = "output";
void touch_output(const std::filesystem::path& path);

}  // namespace annulus
