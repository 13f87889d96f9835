#include <annulus/outputs/nexus_layout.hpp>

#include <algorithm>

namespace annulus::layout {
namespace {

constexpr std::size_t kShortestSource = 256;
constexpr std::size_t kSourceStep = 64;
constexpr std::size_t kLongestSource = 4096;  // PATH_MAX; what is longer is cut
constexpr std::size_t kChunkBytes = std::size_t{512} << 10;
constexpr std::uint64_t kMostChunkRows = 4096;
constexpr std::size_t kMostChunkBytes = std::size_t{4} << 20;  // of a single frame
constexpr std::size_t kMostColumns = 4096;                     // of a file that is believed
constexpr std::size_t kSparseChunkBytes = std::size_t{8} << 10;

std::size_t lines_in(std::size_t bytes, RowExtent bins) {
  return std::clamp<std::size_t>(bytes / (bins.width * sizeof(double)), 1, bins.lines);
}

}  // namespace

std::size_t axes_of(std::string_view definition) {
  for (std::size_t i = 0; i < std::size(kFrameKinds); ++i) {
    if (definition == kFrameKinds[i].definition) return i + 1;
  }
  return 0;
}

bool is_output(hid_t file) {
  return axes_of(read_text(file, kDefinitionField).value_or("")) > 0 &&
         read_text(file, std::string(kReduction) + "/program") == kProgram && has_object(file, kStatus) &&
         has_object(file, kIntensity);
}

bool is_master(hid_t file) { return is_output(file) && has_object(file, kParts); }

std::string axis_field(AxisKind kind) { return std::string(name_of(kind)) + "_axis"; }
std::string edges_field(AxisKind kind) { return axis_field(kind) + "_edges"; }
std::string path_in_data(const std::string& field) { return std::string(kData) + "/" + field; }

std::string column_path(const std::string& name) { return std::string(kColumns) + "/" + name; }

std::vector<ColumnInfo> read_columns(hid_t file) {
  std::vector<ColumnInfo> columns;
  for (const std::string& name : names_in_group(file, kColumns)) {
    const std::string path = column_path(name);
    const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const bool is_column = dataset && H5Sget_simple_extent_ndims(space.get()) == 1 &&
                           H5Tequal(type.get(), H5T_NATIVE_DOUBLE) > 0;
    if (!is_column || columns.size() >= kMostColumns) continue;
    columns.push_back({name, read_text_attribute(file, path, "units").value_or(""),
                       read_text_attribute(file, path, "origin").value_or("")});
  }
  H5Eclear2(H5E_DEFAULT);
  return columns;
}

std::string sums_of(Quantity quantity, std::size_t word) {
  const std::string first = sums_of(quantity);
  return word == 0 ? first : first + "_word" + std::to_string(word);
}

std::size_t source_length(std::size_t longest_source_name) {
  const std::size_t rounded = (std::min(longest_source_name, kLongestSource) + kSourceStep - 1) / kSourceStep;
  return std::max(kShortestSource, rounded * kSourceStep);
}

std::uint64_t chunk_rows(std::size_t row_bytes, std::uint64_t expected_frames) {
  const std::uint64_t fitting = std::clamp<std::uint64_t>(kChunkBytes / row_bytes, 1, kMostChunkRows);
  return expected_frames == 0 ? fitting : std::min(fitting, expected_frames);
}

RowExtent extent_of(const std::vector<Axis>& axes) {
  return {axes.front().bins(), axes.size() > 1 ? axes[1].bins() : 0};
}

RowChunk chunk_of(RowExtent bins, std::uint64_t expected_frames) {
  const std::size_t bytes = bins.values() * sizeof(double);
  RowChunk chunk{chunk_rows(bytes, expected_frames), bins.lines};
  if (bins.lines > 0 && bytes > kMostChunkBytes) chunk.lines = lines_in(kMostChunkBytes, bins);
  return chunk;
}

RowChunk sparse_chunk_of(RowExtent bins, std::uint64_t expected_frames) {
  if (bins.lines == 0 || !is_large(bins)) return chunk_of(bins, expected_frames);
  return {1, lines_in(kSparseChunkBytes, bins)};
}

}  // namespace annulus::layout
