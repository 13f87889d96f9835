#include <annulus/core/text.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/whole_file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

namespace annulus {
namespace {

// In the file.
constexpr const char* kNamesOfImages = "images";  // attribute of the entry
constexpr const char* kProcess = "/entry/process";
constexpr const char* kFacts = "/entry/process/input";
constexpr const char* kSignal = "data";
constexpr const char* kRows = "y";
constexpr const char* kColumns = "x";

constexpr const char* kNameImages = "name a file of maps or tomograms that annulus wrote";

// What a file may claim and still be believed.
constexpr std::size_t kMostImages = 4096;
constexpr std::size_t kMostPositions = std::size_t{1} << 24;
constexpr std::size_t kMostValues = std::size_t{1} << 29;  // of all images: 4 GiB

void write_image_axis(hid_t group, const char* field, const ImageAxis& axis) {
  const Hdf5Handle dataset = write_array(group, field, axis.positions);
  if (!axis.unit.empty()) write_attribute(dataset.get(), "units", std::string_view(axis.unit));
  write_attribute(dataset.get(), "long_name", std::string_view(axis.name));
}

void write_image(hid_t entry, const GridImage& image) {
  const Hdf5Handle group = create_group(entry, image.name, "NXdata");
  write_attribute(group.get(), "signal", std::string_view(kSignal));
  write_attribute(group.get(), "axes", std::vector<std::string>{kRows, kColumns});
  write_text(group.get(), "title", image.title);
  write_image_axis(group.get(), kRows, image.rows);
  write_image_axis(group.get(), kColumns, image.columns);
  const Hdf5Handle values = write_array(group.get(), kSignal, image.values, image.rows.positions.size());
  if (!image.unit.empty()) write_attribute(values.get(), "units", std::string_view(image.unit));
  write_attribute(values.get(), "long_name", std::string_view(image.title));
  write_attribute(values.get(), "interpretation", std::string_view("image"));
}

// A name of a field; facts of one name are all kept.
std::string fact_field(std::string name, std::set<std::string>& taken) {
  name = to_utf8(name);
  std::ranges::replace(name, '/', '_');
  if (name.empty() || name == ".") name = "fact";
  while (!taken.insert(name).second) name += "_";
  return name;
}

void write_process(hid_t entry, const ImageFileInfo& info) {
  const Hdf5Handle process = create_group(entry, "process", "NXprocess");
  write_text(process.get(), "program", info.program);
  write_text(process.get(), "version", info.version);
  if (!info.date.empty()) write_text(process.get(), "date", info.date);
  write_text(process.get(), "kind", info.kind);
  const Hdf5Handle facts = create_ordered_group(process.get(), "input", "NXparameters");
  std::set<std::string> taken;
  for (const auto& [name, value] : info.facts) {
    const std::string field = fact_field(name, taken);
    if (const auto* const number = std::get_if<double>(&value)) {
      write_number(facts.get(), field.c_str(), *number, nullptr);
    } else {
      write_text(facts.get(), field, std::get<std::string>(value));
    }
  }
}

void check_images(const std::string& where, const std::vector<GridImage>& images) {
  if (images.empty()) throw Error(ErrorKind::kOutput, where, "there are no images to write");
  for (const GridImage& image : images) {
    if (const std::string fault = fault_of(image); !fault.empty())
      throw Error(ErrorKind::kOutput, where, fmt::format("image {}: {}", in_quotes(image.name), fault));
  }
}

bool was_written_here(hid_t file) {
  return is_image_file(file) && read_text_attribute(file, "/", "creator") == layout::kProgram;
}

class ImageReader {
 public:
  ImageReader(const std::filesystem::path& path, hid_t file) : path_(path), file_(file) {}

  ImageFileInfo info() const {
    const std::string process = kProcess;
    const auto text = [&](const std::string& path) { return read_text(file_, path).value_or(""); };
    ImageFileInfo info;
    info.program = text(process + "/program");
    info.version = text(process + "/version");
    info.date = text(process + "/date");
    info.kind = text(process + "/kind");
    info.title = text(std::string(layout::kEntry) + "/title");
    for (const std::string& name : names_in_group(file_, kFacts, NameOrder::kAsCreated)) {
      const std::string path = std::string(kFacts) + "/" + name;
      if (auto words = read_text(file_, path)) {
        info.facts.emplace_back(name, *std::move(words));
      } else if (const auto number = read_doubles(file_, path, 1); number && !number->empty()) {
        info.facts.emplace_back(name, number->front());
      }
    }
    return info;
  }

  std::vector<std::string> names() const {
    const auto names = read_texts_attribute(file_, layout::kEntry, kNamesOfImages, kMostImages);
    if (!names || names->empty()) refuse("it does not say which images it has");
    return *names;
  }

  GridImage describe(const std::string& name) const {
    const std::string group = group_of(name);
    const auto axes = read_texts_attribute(file_, group, "axes", 2);
    if (!axes || axes->size() != 2) refuse(fmt::format("image {} has no two axes", in_quotes(name)));
    GridImage image;
    image.name = name;
    image.title = read_text(file_, group + "/title").value_or(name);
    image.unit = read_text_attribute(file_, signal_of(name), "units").value_or("");
    image.rows = read_image_axis(group, axes->front());
    image.columns = read_image_axis(group, axes->back());
    return image;
  }

  // Of an image that is described.
  void read_values(GridImage& image) {
    const std::string path = signal_of(image.name);
    const std::size_t rows = image.rows.positions.size(), columns = image.columns.positions.size();
    if (!has_extent(path, rows, columns)) refuse(fmt::format("{} does not have the shape of its axes", path));
    values_ += rows * columns;  // no overflow: each side has at most 2^24
    if (values_ > kMostValues) refuse("its images are larger than it can be");
    auto values = read_doubles(file_, path, rows * columns);
    if (!values) throw_hdf5(ErrorKind::kInput, file_, fmt::format("cannot read {}", path));
    image.values = *std::move(values);
    if (const std::string fault = fault_of(image); !fault.empty())
      refuse(fmt::format("image {}: {}", in_quotes(image.name), fault));
  }

 private:
  [[noreturn]] void refuse(const std::string& fault) const {
    throw Error(ErrorKind::kInput, path_.string(), "is damaged: " + fault, "make or copy it again");
  }

  static std::string group_of(const std::string& name) { return std::string(layout::kEntry) + "/" + name; }

  std::string signal_of(const std::string& name) const {
    const std::string group = group_of(name);
    const auto signal = read_text_attribute(file_, group, "signal");
    if (!signal) refuse(fmt::format("image {} is not there", in_quotes(name)));
    return group + "/" + *signal;
  }

  ImageAxis read_image_axis(const std::string& group, const std::string& field) const {
    const std::string path = group + "/" + field;
    auto positions = read_doubles(file_, path, kMostPositions);
    if (!positions) refuse(fmt::format("{} cannot be read", path));
    return {read_text_attribute(file_, path, "long_name").value_or(field),
            read_text_attribute(file_, path, "units").value_or(""), *std::move(positions)};
  }

  bool has_extent(const std::string& path, std::size_t rows, std::size_t columns) const {
    if (!has_object(file_, path)) return false;
    const Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    std::array<hsize_t, 2> size{};
    return dataset && H5Sget_simple_extent_ndims(space.get()) == 2 &&
           H5Sget_simple_extent_dims(space.get(), size.data(), nullptr) == 2 && size[0] == rows &&
           size[1] == columns;
  }

  const std::filesystem::path& path_;
  hid_t file_;
  std::size_t values_ = 0;
};

// Before the lock around HDF5 is taken: others need not wait for the probe.
void check_openable(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(path, error);
  if (is_file && probe_output(path)) return;
  throw Error(ErrorKind::kInput, path.string(),
              is_file ? "is not an HDF5 file" : "does not exist or is not a file", kNameImages);
}

Hdf5Handle open_images(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& fault, const std::string& cure) {
    throw Error(ErrorKind::kInput, path.string(), fault, cure);
  };
  Hdf5Handle file = open_to_read(path, ReadFirst::kAsClosed);
  if (!file) refuse("cannot be opened: " + hdf5_reason(), "copy it again");
  if (!is_image_file(file.get())) refuse("is not a file of images", kNameImages);
  return file;
}

}  // namespace

void add_images(hid_t entry, const ImageFileInfo& info, const std::vector<GridImage>& images) {
  const std::string where = file_name_of(entry);
  check_images(where, images);
  std::vector<std::string> names;
  write_process(entry, info);
  for (const GridImage& image : images) {
    if (has_object(entry, image.name))
      throw Error(ErrorKind::kOutput, where, fmt::format("two things are called '{}'", image.name));
    write_image(entry, image);
    names.push_back(image.name);
  }
  write_attribute(entry, kNamesOfImages, names);
}

void write_images(const ImageFileInfo& info, const std::vector<GridImage>& images,
                  const std::filesystem::path& path, bool overwrite) {
  check_images(path.string(), images);
  write_whole_file(path, overwrite, {"file of images", "`output`", was_written_here}, [&](hid_t file) {
    write_root(file, info.version, info.date);
    const Hdf5Handle entry = create_group(file, "entry", "NXentry");
    write_attribute(entry.get(), "default", std::string_view(images.front().name));
    write_text(entry.get(), "title", info.title);
    add_images(entry.get(), info, images);
  });
}

StoredImages read_images(const std::filesystem::path& path) {
  check_openable(path);
  const Hdf5Session scope;
  const Hdf5Handle file = open_images(path);
  ImageReader reader(path, file.get());
  StoredImages stored{path, reader.info(), {}};
  for (const std::string& name : reader.names()) {
    GridImage& image = stored.images.emplace_back(reader.describe(name));
    reader.read_values(image);
  }
  return stored;
}

bool is_image_file(hid_t file) {
  return has_object(file, kProcess) &&
         H5Aexists_by_name(file, layout::kEntry, kNamesOfImages, H5P_DEFAULT) > 0;
}

bool is_image_file(const std::filesystem::path& path) {
  if (!probe_output(path)) return false;
  const Hdf5Session scope;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kAsClosed);
  return file && is_image_file(file.get());
}

void touch_images(const std::filesystem::path& path) {
  const Hdf5Session scope;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kAsClosed);
  touch_objects(file.get());
  const ImageReader reader(path, file.get());
  try {
    reader.info();
    for (const std::string& name : reader.names()) reader.describe(name);
  } catch (const Error&) {
    // Whoever reads it says so in its own words.
  }
}

}  // namespace annulus
