#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checked_fields.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/output_json.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/xrd_ct/volume_reader.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTomogram = "/entry/data/data";
constexpr const char* kProcess = "/entry/reconstruction";
constexpr const char* kNameOne = "name a tomogram of all bins that annulus wrote";

// What a file may claim and still be believed.
constexpr std::size_t kMostPositions = std::size_t{1} << 16;
constexpr std::size_t kMostVoxels = std::size_t{1} << 28;
constexpr std::size_t kMostBins = std::size_t{1} << 24;

// A piece has whole chunks, of 16 x 16 voxels and 64 bins, and 16 MiB at most.
constexpr std::size_t kRowsAtOnce = 16, kColumnsAtOnce = 4096, kBinsAtOnce = 64;

void check_file(const fs::path& path) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  if (is_file && probe_output(path)) return;
  throw Error(ErrorKind::kInput, path.string(),
              is_file ? "is not an HDF5 file" : "does not exist or is not a file", kNameOne);
}

Hdf5Handle open_volume(const fs::path& path) {
  Hdf5Handle file = open_to_read(path.string(), ReadFirst::kAsClosed);
  if (!file)
    throw Error(ErrorKind::kInput, path.string(), "cannot be opened: " + hdf5_reason(), "copy it again");
  const DerivedFile kind = derived_file(file.get());
  if (kind == DerivedFile::kVolume) return file;
  throw Error(ErrorKind::kInput, path.string(),
              kind == DerivedFile::kImages ? "is a file of images, not a tomogram of all bins"
                                           : "is not a tomogram of all bins",
              kNameOne);
}

ImageAxis read_position_axis(const CheckedFields& fields, const char* name) {
  const std::string path = layout::path_in_data(name);
  return {fields.attribute(path, "long_name"), fields.attribute(path, "units"),
          fields.doubles(path, kMostPositions)};
}

Axis read_radial_axis(const CheckedFields& fields) {
  const std::string path = layout::path_in_data(layout::axis_field(AxisKind::kRadial));
  const std::string edges = layout::path_in_data(layout::edges_field(AxisKind::kRadial));
  Axis axis{AxisKind::kRadial, fields.attribute(path, "long_name"), fields.attribute(path, "units"),
            fields.doubles(path, kMostBins)};
  if (has_object(fields.file(), edges)) axis.edges = fields.doubles(edges, kMostBins + 1);
  if (axis.centres.empty() || (!axis.edges.empty() && axis.edges.size() != axis.bins() + 1))
    fields.refuse("its radial axis has no bins, or edges of others");
  return axis;
}

// A field as it was written: a truth, a whole number, a number, a list of whole numbers, or a text.
nlohmann::json read_fact(const CheckedFields& fields, const std::string& path) {
  if (const auto flag = read_flag(fields.file(), path)) return *flag;
  for (const hid_t type : {H5T_NATIVE_UINT64, H5T_NATIVE_INT64}) {
    if (!fields.holds(path, type)) continue;
    const auto numbers = read_doubles(fields.file(), path, kMostBins);  // all may be empty
    if (!numbers) fields.refuse(path + " cannot be read");
    std::vector<std::int64_t> whole;
    for (const double number : *numbers) {
      if (!(std::abs(number) < 0x1p53)) fields.refuse(path + " is larger than it can be");
      whole.push_back(static_cast<std::int64_t>(number));
    }
    if (type == H5T_NATIVE_UINT64 && whole.size() == 1) return whole.front();
    return whole;
  }
  if (fields.holds(path, H5T_NATIVE_DOUBLE)) {
    const std::vector<double> number = fields.doubles(path, 1);
    if (number.empty()) fields.refuse(path + " is empty");
    return number.front();
  }
  return to_utf8(fields.text(path));
}

nlohmann::json read_facts(const CheckedFields& fields, const std::string& group) {
  nlohmann::json facts = nlohmann::json::object();
  for (const std::string& name : names_in_group(fields.file(), group))
    facts[to_utf8(name)] = read_fact(fields, fmt::format("{}/{}", group, name));
  return facts;
}

std::size_t next_multiple(std::size_t value, std::size_t step) { return (value / step + 1) * step; }

}  // namespace

// The open file. Read with the lock of HDF5 held.
class VolumeFile::Content {
 public:
  explicit Content(const fs::path& path) : file_(open_volume(path)), fields_(path, file_.get()) {}

  ~Content() {
    const Hdf5Session scope;
    dataset_.reset();
    file_.reset();
  }

  const CheckedFields& fields() const { return fields_; }

  void open_tomogram(const std::vector<std::size_t>& extent) {
    if (!fields_.has_extent(kTomogram, extent) || !fields_.holds(kTomogram, H5T_NATIVE_FLOAT))
      fields_.refuse(
          fmt::format("{} does not have the shape of its axes, or no numbers of 32 bits", kTomogram));
    dataset_ = Hdf5Handle(H5Dopen2(file_.get(), kTomogram, H5P_DEFAULT), H5Dclose);
    if (!dataset_) fields_.refuse(fmt::format("{} cannot be opened", kTomogram));
  }

  void read(const std::array<hsize_t, 3>& start, const std::array<hsize_t, 3>& count,
            std::vector<float>& values) const {
    values.resize(count[0] * count[1] * count[2]);
    const Hdf5Handle memory(H5Screate_simple(3, count.data(), nullptr), H5Sclose);
    const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(dataset_.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, values.data()) < 0)
      throw_hdf5(ErrorKind::kInput, file_.get(), fmt::format("cannot read {}", kTomogram));
  }

 private:
  Hdf5Handle file_, dataset_;
  CheckedFields fields_;
};

VolumeFile::VolumeFile(const fs::path& path) : path_(path) {
  check_file(path_);  // before the lock around HDF5 is taken: others need not wait for the probe
  const Hdf5Session scope;
  content_ = std::make_unique<Content>(path_);
  const CheckedFields& fields = content_->fields();
  y_ = read_position_axis(fields, "y");
  x_ = read_position_axis(fields, "x");
  radial_ = read_radial_axis(fields);
  const std::size_t rows = y_.positions.size(), columns = x_.positions.size();
  if (rows == 0 || columns == 0 || rows * columns > kMostVoxels)
    fields.refuse(fmt::format("{} x {} voxels are none, or more than there can be", rows, columns));
  content_->open_tomogram({rows, columns, radial_.bins()});
}

VolumeFile::~VolumeFile() = default;

BinRange VolumeFile::bins_in(const std::optional<Range>& radial_range) const {
  const std::vector<double>& centres = radial_.centres;
  if (!radial_range) return {0, centres.size()};
  const auto inside = [&](double centre) {
    return centre >= radial_range->low && centre <= radial_range->high;
  };
  const auto first = std::ranges::find_if(centres, inside);
  const auto end = std::find_if_not(first, centres.end(), inside);
  if (first == end) {
    throw Error(ErrorKind::kUsage, "`radial_range`",
                fmt::format("no bin from {:g} to {:g}", radial_range->low, radial_range->high),
                fmt::format("the tomogram goes from {:g} to {:g} {} in {} bins", radial_.low(),
                            radial_.high(), radial_.units, radial_.bins()));
  }
  return {static_cast<std::size_t>(first - centres.begin()), static_cast<std::size_t>(end - centres.begin())};
}

GridImage VolumeFile::mean_image(const std::optional<Range>& radial_range) const {
  const BinRange bins = bins_in(radial_range);
  const std::size_t rows = y_.positions.size(), columns = x_.positions.size();
  GridImage image{"tomogram", "", "arbitrary units", y_, x_, std::vector<double>(rows * columns, 0.0)};
  image.title = radial_range ? fmt::format("mean of {} bin{}, {:g} to {:g} {}", bins.size(),
                                           bins.size() == 1 ? "" : "s", radial_.centres[bins.first],
                                           radial_.centres[bins.end - 1], radial_.units)
                             : fmt::format("mean of all {} bins", bins.size());
  std::vector<std::uint32_t> counts(rows * columns, 0);
  std::vector<float> piece;
  const auto add = [&](std::size_t row, std::size_t column, std::size_t bin) {
    const std::size_t height = std::min(kRowsAtOnce, rows - row);
    const std::size_t width = std::min(kColumnsAtOnce, columns - column);
    const std::size_t depth = std::min(next_multiple(bin, kBinsAtOnce), bins.end) - bin;
    content_->read({row, column, bin}, {height, width, depth}, piece);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (!std::isfinite(piece[i])) continue;
      const std::size_t voxel = i / depth;
      const std::size_t cell = (row + voxel / width) * columns + column + voxel % width;
      image.values[cell] += piece[i];
      ++counts[cell];
    }
  };
  const Hdf5Session scope;
  for (std::size_t row = 0; row < rows; row += kRowsAtOnce) {
    for (std::size_t column = 0; column < columns; column += kColumnsAtOnce) {
      for (std::size_t bin = bins.first; bin < bins.end; bin = next_multiple(bin, kBinsAtOnce))
        add(row, column, bin);
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    image.values[i] = counts[i] == 0 ? std::numeric_limits<double>::quiet_NaN() : image.values[i] / counts[i];
  if (const std::string fault = fault_of(image); !fault.empty()) content_->fields().refuse(fault);
  return image;
}

std::vector<double> VolumeFile::pattern(std::size_t y, std::size_t x) const {
  const std::size_t rows = y_.positions.size(), columns = x_.positions.size();
  if (y >= rows || x >= columns) {
    throw Error(ErrorKind::kUsage, "`voxel`", fmt::format("there is no voxel {},{}", y, x),
                fmt::format("choose from 0,0 to {},{}", rows - 1, columns - 1));
  }
  const Hdf5Session scope;
  std::vector<float> values;
  content_->read({y, x, 0}, {1, 1, radial_.bins()}, values);
  return {values.begin(), values.end()};
}

nlohmann::json VolumeFile::describe() const {
  const Hdf5Session scope;
  const CheckedFields& fields = content_->fields();
  const std::string process = kProcess;
  const auto text = [&](const std::string& path) { return to_utf8(fields.text(path)); };
  return {{"format", text(layout::kDefinitionField)},
          {"kind", "tomogram of all bins"},
          {"title", text(std::string(layout::kEntry) + "/title")},
          {"program", text(process + "/program")},
          {"version", text(process + "/version")},
          {"date", text(process + "/date")},
          {"shape", {y_.positions.size(), x_.positions.size(), radial_.bins()}},
          {"y", describe_axis(y_)},
          {"x", describe_axis(x_)},
          {"bins", radial_.bins()},
          {"axis", to_utf8(radial_.name)},
          {"unit", to_utf8(radial_.units)},
          {"range", {radial_.low(), radial_.high()}},
          {"parameters", read_facts(fields, process + "/parameters")},
          {"options", read_facts(fields, process + "/options")}};
}

void touch_volume(const fs::path& path) {
  try {
    if (!probe_output(path)) return;
    {
      const Hdf5Session scope;
      const Hdf5Handle file = open_to_read(path.string(), ReadFirst::kAsClosed);
      if (!file || derived_file(file.get()) != DerivedFile::kVolume) return;
      touch_objects(file.get());
    }
    const VolumeFile volume(path);
    volume.describe();
    volume.pattern(0, 0);
  } catch (const Error&) {
    // Whoever reads it says so in its own words.
  }
}

}  // namespace annulus
