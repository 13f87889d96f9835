// Where things lie in an output file: what the writer, the reader and the checks of `append` agree on
// (docs/output_format.md).
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/row_dataset.hpp>
#include <annulus/outputs/sink.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace annulus::layout {

// What a frame is: by the number of its axes, less one.
struct FrameKind {
  const char* definition;
  const char* interpretation;
  const char* plural;
};
inline constexpr std::array<FrameKind, 2> kFrameKinds{
    {{"NXazint1d", "spectrum", "patterns"}, {"NXazint2d", "image", "cakes"}}};
inline const FrameKind& kind_of(const std::vector<Axis>& axes) { return kFrameKinds.at(axes.size() - 1); }

// How many axes the frames of such a file have; 0 for a definition that is not ours.
std::size_t axes_of(std::string_view definition);

// In the order in which a plan has them.
inline constexpr AxisKind kAxisKinds[] = {AxisKind::kRadial, AxisKind::kAzimuth};
inline constexpr const char* kProgram = "annulus";

inline constexpr const char* kEntry = "/entry";
inline constexpr const char* kDefinitionField = "/entry/definition";
inline constexpr const char* kReduction = "/entry/reduction";
inline constexpr const char* kInput = "/entry/reduction/input";
inline constexpr const char* kPlanHash = "/entry/reduction/input/plan_hash";
inline constexpr const char* kWorkingDirectory = "/entry/reduction/input/working_directory";
inline constexpr const char* kAccumulators = "/entry/reduction/accumulators";
inline constexpr const char* kData = "/entry/data";
inline constexpr const char* kNorm = "/entry/data/norm";
inline constexpr const char* kFrames = "/entry/frames";
inline constexpr const char* kEndTime = "/entry/end_time";
inline constexpr std::size_t kTimeLength = 32;
inline constexpr const char* kMonitorApplied = "/entry/monitor_applied";

// Checksums (checksums.hpp): of each frame, of what is stored once, and of what is known when the file is
// closed. Files of version 0.1 have none.
inline constexpr const char* kChecksums = "/entry/checksums";
inline constexpr const char* kFrameChecksums = "/entry/checksums/frames";
inline constexpr const char* kHeaderChecksum = "/entry/checksums/header";
inline constexpr const char* kClosingChecksum = "/entry/checksums/closing";

// Of a master: the files that hold its rows (part_files.hpp).
inline constexpr const char* kParts = "/entry/parts";

// Which pixels clips left out (outliers.hpp). Lists of them grow, but not by a row per frame.
inline constexpr const char* kOutliers = "/entry/outliers";
inline constexpr const char* kOutlierCounts = "/entry/outliers/counts";
inline constexpr const char* kOutlierFrames = "/entry/outliers/frames";
inline constexpr const char* kOutlierPixels = "/entry/outliers/pixels";
inline constexpr const char* kOutlierFirst = "/entry/outliers/first";
inline constexpr std::array kOutlierDatasets = {kOutlierCounts, kOutlierFrames, kOutlierPixels,
                                                kOutlierFirst};

// Whether a file is an output, and whether it is a master.
bool is_output(hid_t file);
bool is_master(hid_t file);

// Files of version 0.1 have one factor for all frames, as an attribute of the accumulators, and no dataset of
// it.
inline constexpr const char* kSharedFactor = "normalization_factor";

// One row per frame. `status` is written last: its length is the number of frames that are stored.
inline constexpr const char* kIntensity = "/entry/data/I";
inline constexpr const char* kErrors = "/entry/data/I_errors";
inline constexpr const char* kDeviation = "/entry/data/I_deviation";
inline constexpr const char* kSpottiness = "/entry/data/spottiness";
inline constexpr const char* kFractionBits = "/entry/reduction/accumulators/fraction_bits";
inline constexpr const char* kInvalidPixels = "/entry/reduction/accumulators/invalid_pixels";
inline constexpr const char* kFrameIndex = "/entry/frames/frame_index";
inline constexpr const char* kSource = "/entry/frames/source";
inline constexpr const char* kSourceId = "/entry/frames/source_id";
inline constexpr const char* kFrameInSource = "/entry/frames/frame_in_source";
inline constexpr const char* kNormalizationFactor = "/entry/frames/normalization_factor";
inline constexpr const char* kFault = "/entry/frames/fault";
inline constexpr const char* kStatus = "/entry/frames/status";

// Values that frames have beside their pixels, one dataset per column; no group where there are none.
inline constexpr const char* kColumns = "/entry/frames/columns";
std::string column_path(const std::string& name);

// Those that a file has, by name: their names, units and origins.
std::vector<ColumnInfo> read_columns(hid_t file);

// Not a row per frame: the grid of a scan that has one, the last dimension fastest.
inline constexpr const char* kScanShape = "/entry/frames/scan_shape";

// What a pattern is made of, a dataset each, in the order in which they are checked: the one table of them.
struct Curve {
  const char* path;
  const char* name;  // for messages
  PooledArray<double> Pattern::*values;
  bool (*is_made)(const Recipe& recipe);
};
inline constexpr std::array<Curve, 4> kCurves = {{
    {kIntensity, "the intensity", &Pattern::intensity, [](const Recipe&) { return true; }},
    {kErrors, "the error", &Pattern::error, [](const Recipe& recipe) { return recipe.has_errors(); }},
    {kDeviation, "the standard deviation", &Pattern::deviation,
     [](const Recipe& recipe) { return recipe.has_deviation(); }},
    {kSpottiness, "the spottiness", &Pattern::spottiness,
     [](const Recipe& recipe) { return recipe.spottiness; }},
}};

// Where the sums of each quantity are, in the order of the enumeration: the one table of their names.
inline constexpr std::array<const char*, kQuantityCount> kSums = {
    "/entry/reduction/accumulators/signal",
    "/entry/reduction/accumulators/variance",
    "/entry/reduction/accumulators/value_squares",
    "/entry/reduction/accumulators/products",
    "/entry/reduction/accumulators/missing_normalization",
    "/entry/reduction/accumulators/missing_dark",
    "/entry/reduction/accumulators/missing_count",
    "/entry/reduction/accumulators/missing_squares",
    "/entry/reduction/accumulators/clipped",
    "/entry/reduction/accumulators/emptied",
};
constexpr const char* sums_of(Quantity quantity) { return kSums[static_cast<std::size_t>(quantity)]; }

// Sums of several words have a dataset per word: "signal", "signal_word1", and so on.
std::string sums_of(Quantity quantity, std::size_t word);

// Words that are mostly 0, and written only where they are not.
constexpr bool is_sparse(Quantity quantity, std::size_t word) { return is_missing(quantity) || word > 0; }

// Totals of the plan that only recipes with a spread table have (spread_table.hpp); missing_squares is of
// them.
inline constexpr const char* kTotalSquares = "squares";
inline constexpr const char* kTotalSquaresWord1 = "squares_word1";

// What `input` holds beside the options; an option of such a name gets "_option" behind it.
inline constexpr std::string_view kReservedInputs[] = {
    "poni", "configuration",       "plan_hash",    "backend",
    "unit", "polarization_factor", "azimuth_bins", "working_directory"};

enum class Status : std::uint8_t { kGood = 0, kBad = 1, kNotStored = 255 };

inline constexpr std::size_t kFaultLength = 256;

// A text has a dimension of length 1 behind that of the frames: importers compare columns of one dimension
// with their first value, which fails for texts. Files of version 0.1 have no such dimension.
inline constexpr RowExtent kTextRow{1, 0};

// An identity of a source is two numbers (stored_frames.hpp).
inline constexpr RowExtent kSourceIdRow{2, 0};

// In the group `data`: "radial_axis", with its edges in "radial_axis_edges"; "azimuthal_axis" likewise.
std::string axis_field(AxisKind kind);
std::string edges_field(AxisKind kind);
std::string path_in_data(const std::string& field);

// Bytes of a source name in the file: fixed, because SWMR knows no strings of variable length.
std::size_t source_length(std::size_t longest_source_name);

// What one frame has in a dataset of bins: the lines of a cake are azimuths.
RowExtent extent_of(const std::vector<Axis>& axes);

// Rows of this size are written one by one, from where they are; smaller ones are gathered first.
inline bool is_large(RowExtent bins) { return bins.values() * sizeof(double) >= std::size_t{256} << 10; }

// Frames in one chunk of a dataset with `row_bytes` a frame: about half a megabyte, but no more frames than
// are expected (0: unknown), so that small scans make small files.
std::uint64_t chunk_rows(std::size_t row_bytes, std::uint64_t expected_frames);

// Of a dataset of bins, 8 bytes each. Cakes of many megabytes are divided into chunks of whole azimuths.
RowChunk chunk_of(RowExtent bins, std::uint64_t expected_frames);

// Of a dataset of bins that are mostly 0: of a large cake only chunks of a few azimuths that are not are
// stored.
RowChunk sparse_chunk_of(RowExtent bins, std::uint64_t expected_frames);

}  // namespace annulus::layout
