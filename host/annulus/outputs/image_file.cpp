#include <annulus/core/text.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checked_fields.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/whole_file.hpp>

#include <fmt/core.h>

#include <algorithm>
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
constexpr std::size_t kMostBytesOfNames = 60000;  // HDF5 has no attributes of more than 64 KiB
constexpr std::size_t kMostPositions = std::size_t{1} << 24;
constexpr std::size_t kMostValues = std::size_t{1} << 29;  // of all images: 4 GiB

void write_image_axis(hid_t group, const char* field, const ImageAxis& axis) {
  const Hdf5Handle dataset = write_array(group, field, axis.positions);
  if (!axis.unit.empty()) write_attribute(dataset.get(), "units", FixedText{axis.unit});
  write_attribute(dataset.get(), "long_name", FixedText{axis.name});
}

void write_image(hid_t entry, const GridImage& image) {
  const Hdf5Handle group = create_group(entry, image.name, "NXdata");
  write_attribute(group.get(), "signal", FixedText{kSignal});
  write_attribute(group.get(), "axes", std::vector<FixedText>{{kRows}, {kColumns}});
  write_text(group.get(), "title", FixedText{image.title});
  write_image_axis(group.get(), kRows, image.rows);
  write_image_axis(group.get(), kColumns, image.columns);
  const Hdf5Handle values = write_array(group.get(), kSignal, image.values, image.rows.positions.size());
  if (!image.unit.empty()) write_attribute(values.get(), "units", FixedText{image.unit});
  write_attribute(values.get(), "long_name", FixedText{image.title});
  write_attribute(values.get(), "interpretation", FixedText{"image"});
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
  write_text(process.get(), "program", FixedText{info.program});
  write_text(process.get(), "version", FixedText{info.version});
  if (!info.date.empty()) write_text(process.get(), "date", FixedText{info.date});
  write_text(process.get(), "kind", FixedText{info.kind});
  const Hdf5Handle facts = create_ordered_group(process.get(), "input", "NXparameters");
  std::set<std::string> taken;
  for (const auto& [name, value] : info.facts) {
    const std::string field = fact_field(name, taken);
    if (const auto* const number = std::get_if<double>(&value)) {
      write_number(facts.get(), field.c_str(), *number, nullptr);
    } else {
      write_text(facts.get(), field, FixedText{std::get<std::string>(value)});
    }
  }
}

std::size_t most_images(std::size_t longest_name) {
  return std::min(kMostImages, kMostBytesOfNames / std::max<std::size_t>(longest_name, 1));
}

std::string too_many_images(std::size_t images, std::size_t longest_name) {
  return fmt::format("{} images with names of up to {} letters are too many for a file, which can have {}",
                     images, longest_name, most_images(longest_name));
}

void check_images(const std::string& where, const std::vector<GridImage>& images) {
  if (images.empty()) throw Error(ErrorKind::kOutput, where, "there are no images to write");
  std::size_t longest = 0;
  for (const GridImage& image : images) longest = std::max(longest, image.name.size());
  if (images.size() > most_images(longest))
    throw Error(ErrorKind::kOutput, where, too_many_images(images.size(), longest), "make several files");
  for (const GridImage& image : images) {
    if (const std::string fault = fault_of(image); !fault.empty())
      throw Error(ErrorKind::kOutput, where, fmt::format("image {}: {}", in_quotes(image.name), fault));
  }
}

// The truth of a phantom holds more than images, and names no creator: it is not replaced.
bool was_written_here(hid_t file) {
  return derived_file(file) == DerivedFile::kImages && H5Aexists(file, "creator") > 0 &&
         read_text(file, std::string(kProcess) + "/program", TextLength::kFixed) == layout::kProgram;
}

constexpr WholeFileKind kKind{"file of images", "`output`", was_written_here};

class ImageReader {
 public:
  ImageReader(const std::filesystem::path& path, hid_t file) : fields_(path, file) {}

  ImageFileInfo info() const {
    const std::string process = kProcess;
    ImageFileInfo info;
    info.program = fields_.text(process + "/program");
    info.version = fields_.text(process + "/version");
    info.date = fields_.text(process + "/date");
    info.kind = fields_.text(process + "/kind");
    info.title = fields_.text(std::string(layout::kEntry) + "/title");
    for (const std::string& name : names_in_group(fields_.file(), kFacts, NameOrder::kAsCreated)) {
      const std::string path = std::string(kFacts) + "/" + name;
      if (fields_.holds(path, H5T_NATIVE_DOUBLE)) {
        const std::vector<double> number = fields_.doubles(path, 1);
        if (number.empty()) fields_.refuse(path + " is empty");
        info.facts.emplace_back(name, number.front());
      } else {
        info.facts.emplace_back(name, fields_.text(path));
      }
    }
    return info;
  }

  std::vector<std::string> names() const {
    const auto names = read_texts_attribute(fields_.file(), layout::kEntry, kNamesOfImages, kMostImages);
    if (!names || names->empty())
      fields_.refuse("it does not say in texts of fixed length which images it has");
    return *names;
  }

  GridImage describe(const std::string& name) const {
    const std::string group = std::string(layout::kEntry) + "/" + name;
    if (name.empty() || !has_object(fields_.file(), group))
      fields_.refuse(fmt::format("image {} is not there", in_quotes(name)));
    GridImage image;
    image.name = name;
    image.title = fields_.text(group + "/title");
    image.unit = fields_.attribute(signal_of(name), "units");
    image.rows = read_image_axis(group, kRows);
    image.columns = read_image_axis(group, kColumns);
    return image;
  }

  // Of an image that is described.
  void read_values(GridImage& image) {
    const std::string path = signal_of(image.name);
    const std::size_t rows = image.rows.positions.size(), columns = image.columns.positions.size();
    if (!fields_.has_extent(path, {rows, columns}))
      fields_.refuse(fmt::format("{} does not have the shape of its axes", path));
    values_ += rows * columns;  // no overflow: each side has at most 2^24
    if (values_ > kMostValues) fields_.refuse("its images are larger than it can be");
    image.values = fields_.doubles(path, rows * columns);
    if (const std::string fault = fault_of(image); !fault.empty())
      fields_.refuse(fmt::format("image {}: {}", in_quotes(image.name), fault));
  }

 private:
  static std::string signal_of(const std::string& name) {
    return fmt::format("{}/{}/{}", layout::kEntry, name, kSignal);
  }

  ImageAxis read_image_axis(const std::string& group, const char* field) const {
    const std::string path = group + "/" + field;
    return {fields_.attribute(path, "long_name"), fields_.attribute(path, "units"),
            fields_.doubles(path, kMostPositions)};
  }

  CheckedFields fields_;
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
  const DerivedFile kind = derived_file(file.get());
  if (kind == DerivedFile::kNone) refuse("is not a file of images", kNameImages);
  if (kind != DerivedFile::kImages)
    refuse(fmt::format("is {}, not a file of images", noun_of(kind)), kNameImages);
  return file;
}

}  // namespace

void add_images(hid_t entry, const ImageFileInfo& info, const std::vector<GridImage>& images) {
  const std::string where = file_name_of(entry);
  check_images(where, images);
  std::vector<FixedText> names;
  write_process(entry, info);
  for (const GridImage& image : images) {
    if (has_object(entry, image.name))
      throw Error(ErrorKind::kOutput, where, fmt::format("two things are called '{}'", image.name));
    write_image(entry, image);
    names.push_back({image.name});
  }
  write_attribute(entry, kNamesOfImages, names);
}

void check_number_of_images(std::size_t images, std::size_t longest_name) {
  if (images <= most_images(longest_name)) return;
  throw Error(ErrorKind::kUsage, "`output`", too_many_images(images, longest_name),
              "give fewer windows, or shorter names, and make several files");
}

void check_image_place(const std::filesystem::path& path, bool overwrite) {
  check_place(path, overwrite, kKind);
}

void write_images(const ImageFileInfo& info, const std::vector<GridImage>& images,
                  const std::filesystem::path& path, bool overwrite) {
  check_images(path.string(), images);
  write_whole_file(path, overwrite, kKind, [&](hid_t file) {
    write_root(file, info.version, info.date);
    const Hdf5Handle entry = create_group(file, "entry", "NXentry");
    write_attribute(entry.get(), "default", FixedText{images.front().name});
    write_text(entry.get(), "title", FixedText{info.title});
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

DerivedFile derived_file(const std::filesystem::path& path) {
  if (!probe_output(path)) return DerivedFile::kNone;
  const Hdf5Session scope;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kAsClosed);
  return file ? derived_file(file.get()) : DerivedFile::kNone;
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
