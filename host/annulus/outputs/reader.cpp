#include <annulus/core/url.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/hdf5/probe.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/open_output.hpp>
#include <annulus/outputs/part_files.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/row_dataset.hpp>
#include <annulus/outputs/stored_recipe.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>

namespace annulus {
namespace {

// What a file may claim and still be believed.
constexpr std::size_t kMostBins = std::size_t{1} << 24;
constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostBytesAtOnce = std::uint64_t{4} << 30;
constexpr std::size_t kLongestField = 8192;
constexpr std::size_t kStatusBlock = std::size_t{1} << 20;

constexpr const char* kNotOurs = "is not an output of annulus";
constexpr const char* kNameOne = "name a file that Annulus wrote";

[[noreturn]] void refuse_to_read(const std::filesystem::path& path, const std::string& what,
                                 const std::string& cure = {}) {
  throw Error(ErrorKind::kInput, path.string(), what, cure);
}

std::vector<std::pair<std::string, std::string>> read_options(hid_t file) {
  std::vector<std::pair<std::string, std::string>> options;
  const std::string input = layout::kInput;
  for (const std::string& name : names_in_group(file, input, NameOrder::kAsCreated)) {
    const auto& reserved = layout::kReservedInputs;
    if (std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved)) continue;
    if (auto text = read_text(file, fmt::format("{}/{}", input, name)))
      options.emplace_back(name, *std::move(text));
  }
  return options;
}

// Without bins, if the file has no such axis.
Axis read_axis(hid_t file, AxisKind kind) {
  const std::string path = layout::path_in_data(layout::axis_field(kind));
  const auto numbers = [file](const std::string& field) {
    return read_doubles(file, field, kMostBins + 1).value_or(std::vector<double>{});
  };
  return {kind, read_text_attribute(file, path, "long_name").value_or(""),
          read_text_attribute(file, path, "units").value_or(""), numbers(path),
          numbers(layout::path_in_data(layout::edges_field(kind)))};
}

}  // namespace

std::string frame_count(std::uint64_t frames) {
  return fmt::format("{} frame{}", frames, frames == 1 ? "" : "s");
}

std::string frame_name(const FrameRecord& record) {
  const bool several = record.frame_in_source > 0 || split_url(record.source).dataset.has_value();
  return several ? fmt::format("{}, frame {}", record.source, record.frame_in_source) : record.source;
}

// The open file. Read with the lock of HDF5 held.
class PatternFile::Content {
 public:
  Content(const std::filesystem::path& path, Hdf5Handle file) : path_(path), file_(std::move(file)) {}
  ~Content() {
    const Hdf5Session scope;
    file_.reset();
  }

  hid_t get() const { return file_.get(); }

  void read_rows_of(const char* field, const RowExtent& extent, std::uint64_t first, std::uint64_t count,
                    hid_t type, void* values) const {
    check(read_rows(get(), field, extent, first, count, type, values), field);
  }

  void read_bins(const char* field, const RowExtent& extent, std::uint64_t first, std::uint64_t count,
                 std::span<double> values) const {
    read_rows_of(field, extent, first, count, H5T_NATIVE_DOUBLE, values.data());
  }

  void read_part_of_bins(const char* field, const RowExtent& extent, std::uint64_t first, std::uint64_t count,
                         BinRange bins, std::span<double> values) const {
    check(read_row_parts(get(), field, extent, first, count, bins.first, bins.size(), H5T_NATIVE_DOUBLE,
                         values.data()),
          field);
  }

  // One value per frame.
  void read_column(const char* field, std::uint64_t first, std::uint64_t count, hid_t type,
                   void* values) const {
    read_rows_of(field, {}, first, count, type, values);
  }

 private:
  void check(ReadRows result, const char* field) const {
    if (result == ReadRows::kOtherShape) {
      refuse_to_read(path_, fmt::format("is corrupt: {} does not have the shape of the rest", field));
    }
    if (result == ReadRows::kFailed) {
      throw_hdf5(ErrorKind::kInput, get(), fmt::format("cannot read {}", field));
    }
  }

  std::filesystem::path path_;
  Hdf5Handle file_;
};

PatternFile::PatternFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    refuse_to_read(path, "does not exist or is not a file", kNameOne);
  const bool sound = probe_output(path);
  const Hdf5Session scope;
  Hdf5Handle file = sound ? open_output_file(path) : Hdf5Handle();
  if (!file) {
    const std::string reason = hdf5_reason();
    const bool hdf5 = H5Fis_hdf5(path.c_str()) > 0;
    refuse_to_read(path, hdf5 ? "cannot be opened: " + reason : "is not an HDF5 file",
                   fmt::format("{}if it was created only now, try again in a moment",
                               hdf5 ? "" : std::string(kNameOne) + "; "));
  }
  file_ = std::make_unique<Content>(path, std::move(file));
  if (const DerivedFile kind = derived_file(file_->get()); kind != DerivedFile::kNone)
    refuse_to_read(path, fmt::format("is {}: it holds no patterns", noun_of(kind)),
                   "name the patterns that it was made of");
  if (!layout::is_output(file_->get())) refuse_to_read(path, kNotOurs, kNameOne);
  if (layout::is_master(file_->get())) {
    check_parts(path, file_->get());
    for (const PartFile& part : read_part_files(path, file_->get())) header_.parts.push_back(part.name);
  }
  const auto closing = read_whole_number(file_->get(), layout::kClosingChecksum);
  const auto header = read_whole_number(file_->get(), layout::kHeaderChecksum);
  closed_ = !closing || !header || *closing != open_mark(*header);
  // Then the number of frames: what is stored then is complete, however much is added meanwhile.
  count_frames();
  read_header();
}

PatternFile::~PatternFile() = default;

void PatternFile::count_frames() {
  const Hdf5Handle status(H5Dopen2(file_->get(), layout::kStatus, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(status.get()), H5Sclose);
  if (!status || H5Sget_simple_extent_ndims(space.get()) != 1) refuse_to_read(path_, kNotOurs);
  const auto claimed = static_cast<std::uint64_t>(H5Sget_simple_extent_npoints(space.get()));
  if (claimed > kMostFrames) refuse_to_read(path_, "is corrupt: the list of frames is too long");
  // Every stored status takes a byte, so a longer claim is not true: what a power failure may leave.
  // Rows of a master are in its parts, which were looked at.
  const bool is_master = is_virtual_dataset(status.get());
  const std::uint64_t length =
      is_master ? claimed : std::min<std::uint64_t>(claimed, H5Dget_storage_size(status.get()));
  std::vector<std::uint8_t> block;
  const auto not_stored = static_cast<std::uint8_t>(layout::Status::kNotStored);
  for (frames_ = 0; frames_ < length; frames_ += block.size()) {
    block.resize(std::min<std::uint64_t>(kStatusBlock, length - frames_));
    file_->read_column(layout::kStatus, frames_, block.size(), H5T_NATIVE_UINT8, block.data());
    const auto end = std::find(block.begin(), block.end(), not_stored);
    if (end == block.end()) continue;
    frames_ += static_cast<std::uint64_t>(end - block.begin());
    if (is_master)
      refuse_to_read(path_, fmt::format("its parts do not hold frame {}, which it shows", frames_),
                     "make the master again");
    return;
  }
}

void PatternFile::keep_first(std::uint64_t frames) {
  check_range(0, frames);
  frames_ = frames;
}

void PatternFile::read_header() {
  const hid_t file = file_->get();
  const auto text = [&](const std::string& path) { return read_text(file, path).value_or(""); };
  const std::string reduction = layout::kReduction;
  const std::string input = layout::kInput;
  header_.program = text(reduction + "/program");
  header_.program_version = text(reduction + "/version");
  header_.date = text(reduction + "/date");
  header_.backend = text(input + "/backend");
  header_.plan_hash = text(input + "/plan_hash");
  header_.poni_text = text(input + "/poni");
  header_.config_json = text(input + "/configuration");
  header_.working_directory = text(layout::kWorkingDirectory);
  header_.options = read_options(file);
  const auto recipe = read_recipe(file);
  if (!recipe) refuse_to_read(path_, "is corrupt: it does not say by which recipe it was made");
  header_.recipe = *recipe;
  header_.has_errors = has_object(file, layout::kErrors);
  header_.has_deviation = has_object(file, layout::kDeviation);
  header_.has_spottiness = has_object(file, layout::kSpottiness);
  for (const double side :
       read_doubles(file, layout::kScanShape, H5S_MAX_RANK).value_or(std::vector<double>{}))
    header_.scan_shape.push_back(side >= 0 && side < 0x1p53 ? static_cast<std::uint64_t>(side) : 0);
  header_.columns = layout::read_columns(file);
  shared_factor_ = read_number_attribute(file, layout::kAccumulators, layout::kSharedFactor).value_or(1);
  for (const AxisKind kind : layout::kAxisKinds) {
    Axis axis = read_axis(file, kind);
    if (axis.bins() > 0) header_.axes.push_back(std::move(axis));
  }
  if (header_.axes.empty() || header_.radial().kind != AxisKind::kRadial)
    refuse_to_read(path_, "is corrupt: it has no radial axis");
  if (layout::axes_of(read_text(file, layout::kDefinitionField).value_or("")) != header_.axes.size())
    refuse_to_read(path_, "is corrupt: its azimuthal axis does not fit its definition");
  // The product does not overflow: no axis has more than 2^24 + 1 bins.
  if (header_.bins() > kMostBins) {
    refuse_to_read(path_, fmt::format("is corrupt: {} x {} bins are too many", header_.radial().bins(),
                                      header_.bins() / header_.radial().bins()));
  }
}

void PatternFile::check_range(std::uint64_t first, std::uint64_t count) const {
  if (first <= frames_ && count <= frames_ - first) return;
  refuse_to_read(
      path_,
      fmt::format("has {}, so frame {} cannot be read", frame_count(frames_), std::max(first, frames_)),
      frames_ == 0 ? "" : fmt::format("choose frames from 0 to {}", frames_ - 1));
}

void PatternFile::read_intensities(std::uint64_t first, std::uint64_t count, std::span<double> values) const {
  const Hdf5Session scope;
  check_range(first, count);
  if (values.size() != count * bins()) refuse_to_read(path_, "rows do not fit where they shall go");
  file_->read_bins(layout::kIntensity, layout::extent_of(header_.axes), first, count, values);
}

void PatternFile::read_intensities(std::uint64_t first, std::uint64_t count, BinRange bins,
                                   std::span<double> values) const {
  const Hdf5Session scope;
  check_range(first, count);
  if (values.size() != count * bins.size()) refuse_to_read(path_, "rows do not fit where they shall go");
  file_->read_part_of_bins(layout::kIntensity, layout::extent_of(header_.axes), first, count, bins, values);
}

void PatternFile::read_errors(std::uint64_t first, std::uint64_t count, std::span<double> values) const {
  const Hdf5Session scope;
  check_range(first, count);
  if (values.size() != count * bins()) refuse_to_read(path_, "rows do not fit where they shall go");
  if (!header_.has_errors) refuse_to_read(path_, "has no errors", "integrate with `error_model` poisson");
  file_->read_bins(layout::kErrors, layout::extent_of(header_.axes), first, count, values);
}

void PatternFile::read_column(std::size_t column, std::uint64_t first, std::uint64_t count,
                              std::span<double> values) const {
  const Hdf5Session scope;
  check_range(first, count);
  if (values.size() != count) refuse_to_read(path_, "values do not fit where they shall go");
  const std::string path = layout::column_path(header_.columns.at(column).name);
  file_->read_column(path.c_str(), first, count, H5T_NATIVE_DOUBLE, values.data());
}

std::vector<bool> PatternFile::read_bad(std::uint64_t first, std::uint64_t count) const {
  const Hdf5Session scope;
  check_range(first, count);
  std::vector<std::uint8_t> status(count);
  file_->read_column(layout::kStatus, first, count, H5T_NATIVE_UINT8, status.data());
  std::vector<bool> bad(count);
  for (std::size_t i = 0; i < count; ++i)
    bad[i] = status[i] != static_cast<std::uint8_t>(layout::Status::kGood);
  return bad;
}

std::vector<double> PatternFile::read_factors(std::uint64_t first, std::uint64_t count) const {
  const Hdf5Session scope;
  check_range(first, count);
  std::vector<double> factors(count, shared_factor_);
  if (has_object(file_->get(), layout::kNormalizationFactor))
    file_->read_column(layout::kNormalizationFactor, first, count, H5T_NATIVE_DOUBLE, factors.data());
  return factors;
}

std::vector<std::uint64_t> PatternFile::read_numbers(std::uint64_t first, std::uint64_t count) const {
  const Hdf5Session scope;
  check_range(first, count);
  std::vector<std::uint64_t> numbers(count);
  file_->read_column(layout::kFrameIndex, first, count, H5T_NATIVE_UINT64, numbers.data());
  return numbers;
}

std::vector<FrameRecord> PatternFile::read_records(std::uint64_t first, std::uint64_t count) const {
  const Hdf5Session scope;
  check_range(first, count);
  std::vector<FrameRecord> records(count);
  std::vector<std::uint64_t> numbers = read_numbers(first, count);
  for (std::size_t i = 0; i < count; ++i) records[i].index = numbers[i];
  file_->read_column(layout::kFrameInSource, first, count, H5T_NATIVE_UINT64, numbers.data());
  for (std::size_t i = 0; i < count; ++i) records[i].frame_in_source = numbers[i];
  const std::vector<double> factors = read_factors(first, count);
  for (std::size_t i = 0; i < count; ++i) records[i].normalization = factors[i];
  const std::vector<bool> bad = read_bad(first, count);
  for (std::size_t i = 0; i < count; ++i) records[i].bad = bad[i];

  const auto read_texts = [&](const char* path, std::string FrameRecord::*field) {
    const Hdf5Handle dataset(H5Dopen2(file_->get(), path, H5P_DEFAULT), H5Dclose);
    const Hdf5Handle stored(H5Dget_type(dataset.get()), H5Tclose);
    const std::size_t length = H5Tget_size(stored.get());
    if (H5Tget_class(stored.get()) != H5T_STRING || H5Tis_variable_str(stored.get()) != 0 || length == 0 ||
        length > kLongestField) {
      refuse_to_read(path_, fmt::format("is corrupt: {} is not text of fixed length", path));
    }
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    const bool of_version_01 = H5Sget_simple_extent_ndims(space.get()) == 1;
    std::vector<char> buffer(count * length);
    file_->read_rows_of(path, of_version_01 ? RowExtent{} : layout::kTextRow, first, count, stored.get(),
                        buffer.data());
    for (std::size_t i = 0; i < count; ++i) {
      const char* text = buffer.data() + i * length;
      records[i].*field = std::string(text, strnlen(text, length));
    }
  };
  read_texts(layout::kSource, &FrameRecord::source);
  // Without a single bad frame the reasons take no room in the file, and need not be read.
  if (std::any_of(records.begin(), records.end(), [](const FrameRecord& r) { return r.bad; })) {
    read_texts(layout::kFault, &FrameRecord::fault);
  }
  return records;
}

StoredPatterns PatternFile::read(std::uint64_t first, std::uint64_t count) const {
  check_range(first, count);
  if (count > kMostBytesAtOnce / (bins() * sizeof(double))) {
    refuse_to_read(path_, fmt::format("{} patterns of {} bins are too many to hold at once", count, bins()),
                   "select fewer frames");
  }
  StoredPatterns patterns;
  patterns.file = path_;
  patterns.header = header_;
  patterns.first = first;
  patterns.frames = read_records(first, count);
  patterns.intensities.resize(count * bins());
  read_intensities(first, count, patterns.intensities);
  const auto read_if_there = [&](bool is_there, const char* path, std::vector<double>& values) {
    if (!is_there) return;
    const Hdf5Session scope;
    values.resize(count * bins());
    file_->read_bins(path, layout::extent_of(header_.axes), first, count, values);
  };
  read_if_there(header_.has_errors, layout::kErrors, patterns.errors);
  read_if_there(header_.has_deviation, layout::kDeviation, patterns.deviations);
  read_if_there(header_.has_spottiness, layout::kSpottiness, patterns.spottinesses);
  return patterns;
}

StoredPatterns read_patterns(const std::filesystem::path& path) {
  const PatternFile file(path);
  return file.read(0, file.frames());
}

namespace {

bool holds_for_file(const std::filesystem::path& path, bool (*holds)(hid_t file)) {
  if (!probe_output(path)) return false;
  const Hdf5Session scope;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kBesideWriter);
  return file && holds(file.get());
}

bool has_marks_of_output(hid_t file) {
  if (derived_file(file) != DerivedFile::kNone) return false;
  return read_text(file, std::string(layout::kReduction) + "/program") == layout::kProgram ||
         read_text_attribute(file, "/", "creator") == layout::kProgram ||
         has_object(file, layout::kChecksums);
}

}  // namespace

bool is_annulus_output(const std::filesystem::path& path) { return holds_for_file(path, layout::is_output); }

bool was_annulus_output(const std::filesystem::path& path) {
  return holds_for_file(path, has_marks_of_output) && !is_annulus_output(path);
}

bool probe_output(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  // Files of others may have something in front of it.
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  std::array<char, kSignature.size()> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  if (std::string_view(start.data(), start.size()) != kSignature) return false;
  probe_hdf5(path.string(), {kProbeOutput, path.string()});
  return true;
}

void touch_output(const std::filesystem::path& path) {
  if (derived_file(path) == DerivedFile::kImages) return touch_images(path);
  if (!is_annulus_output(path) && !was_annulus_output(path)) return;
  {
    const Hdf5Session scope;
    const Hdf5Handle file = open_to_read(path, ReadFirst::kBesideWriter);
    touch_objects(file.get());
    try {
      header_checksum(file.get());  // reads all that is stored once, attributes too
    } catch (const Error&) {
      // Whoever needs it says so in its own words.
    }
  }
  try {
    const PatternFile patterns(path);
    patterns.read_records(0, std::min<std::uint64_t>(patterns.frames(), 1));
  } catch (const Error&) {
    // Whoever reads it says so in its own words.
  }
}

}  // namespace annulus
