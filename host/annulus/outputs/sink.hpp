// Where patterns go, frame by frame, in scan order.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

class PlaceSet;

struct ReducedFrame {
  FrameId id;
  std::vector<double> point;  // values of the run's columns; may be empty for a bad frame
  double normalization = 1;   // divided the pattern: a monitor's count, for example
  std::string fault;          // not empty: a bad frame, recorded as NaN with this reason
  Sums sums;                  // empty for a bad frame, unless its normalization is NaN: its only fault
  Pattern pattern;            // empty for a bad frame

  // What another output knows its source by (stored_frames.hpp). None: it follows from the id.
  std::optional<std::array<std::uint64_t, 2>> source_id = std::nullopt;
};

// What an output says of the pixels that a clip left out: nothing, how often each was, or also which in each
// frame. Frames then need Sums::outliers: Job::list_outliers.
enum class Outliers { kNone, kCounts, kLists };

// What a sink writes once, beside the job.
struct RunDescription {
  std::string program_version;
  std::string backend;
  std::vector<std::pair<std::string, std::string>> options;  // every option of the command, as text
  std::string poni_text;
  std::filesystem::path working_directory;  // what names of sources are relative to
  std::string config_json;                  // the whole configuration, apply_json() takes it back
  std::size_t longest_source_name = 0;      // over all inputs known at the start
  std::uint64_t expected_frames = 0;        // likewise; 0: unknown. Only shapes the file, limits nothing
  std::vector<std::uint64_t> scan_shape;    // points of a scan of several dimensions; empty: a row of frames
  std::vector<ColumnInfo> columns = {};     // of ReducedFrame::point

  // Frames have the number of their place in the scan (place_in_scan()), as those of parts of one. Otherwise
  // they are counted.
  bool numbered_by_place = false;

  // Places that other parts of the scan hold: no frame may come there.
  std::shared_ptr<const PlaceSet> taken = {};

  // Not empty: an output. All that is stored once is taken from it, except columns, options and times.
  std::filesystem::path made_from = {};
  std::string without_option = {};  // that output may have it, and this one has not, or as `options` say
  bool of_other_frames = false;     // so the grid of that output's scan is not taken from it

  Outliers outliers = Outliers::kNone;  // of NeXus files

  // Of an output made of others: what is counted there, and how many of their frames are not (outliers.hpp).
  std::vector<std::uint32_t> outliers_before = {};
  std::uint64_t outliers_uncounted = 0;

  // Why frames of this run do not go with those of a run that stored this configuration; empty if they do.
  // Asked before frames are added to those of another run. None: whatever its plan allows.
  std::function<std::string(const std::string& stored_config)> difference_from = {};

  // Not empty: the name that the file will have in the end (FileBeside).
  std::string file_name = {};
};

enum class Held { kNot, kGood, kBad };

class Sink {
 public:
  virtual ~Sink() = default;

  // Frames in scan order. What was appended and flushed stays readable if the program dies. All three throw
  // kOutput if the disk is full or fails, with the number of frames that are stored; the sink then accepts
  // nothing more, and the file is closed and readable.
  virtual void append(const std::vector<ReducedFrame>& frames) = 0;
  virtual void flush() = 0;

  // Whether the output held this frame when it was opened to be continued, and as what. Any thread asks.
  virtual Held holds(const FrameId& frame) const {
    static_cast<void>(frame);
    return Held::kNot;
  }

  // Writes what is left and closes; throws kOutput if that fails. The destructor closes without throwing.
  virtual void close() = 0;
};

enum class IfExists { kRefuse, kOverwrite, kAppend };

// NeXus NXazint1d, or NXazint2d for cakes, growing and SWMR-readable (docs/output_format.md).
std::unique_ptr<Sink> open_nexus(const std::filesystem::path& path, const Job& job, const RunDescription& run,
                                 IfExists if_exists);

// Text, one file per frame in the folder `path`, or the single file `path` when one frame is expected.
std::unique_ptr<Sink> open_xy(const std::filesystem::path& path, const Job& job, const RunDescription& run,
                              IfExists if_exists, bool single_frame);

}  // namespace annulus
