#include <annulus/core/error.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/simulate/stack_writer.hpp>

#include <fmt/format.h>
#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr int kDeflateLevel = 1;

// HDF5's innermost message says why: the disk is full, permission is denied.
[[noreturn]] void fail(const fs::path& path) {
  throw Error(ErrorKind::kOutput, path.string(), "cannot be written: " + hdf5_reason(),
              "check the folder's permissions and the space left on the disk");
}

Hdf5Handle checked(hid_t id, Hdf5Handle::Close close, const fs::path& path) {
  if (id < 0) fail(path);
  return {id, close};
}

// Properties of a dataset without the time of its making: the same scan gives the same bytes.
Hdf5Handle timeless(const fs::path& path) {
  Hdf5Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path);
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail(path);
  return properties;
}

// Small things beside the frames: groups with their NeXus class, texts and numbers.
class Describer {
 public:
  explicit Describer(const fs::path& path) : path_(path) {}

  Hdf5Handle group(hid_t parent, const char* name, const char* nexus_class) const {
    Hdf5Handle group =
        checked(H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path_);
    attribute(group.get(), "NX_class", nexus_class);
    return group;
  }

  void attribute(hid_t object, const char* name, const std::string& text) const {
    const Hdf5Handle type = text_type(text);
    const Hdf5Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, path_);
    const Hdf5Handle attribute =
        checked(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, path_);
    if (H5Awrite(attribute.get(), type.get(), text.data()) < 0) fail(path_);
  }

  void text(hid_t parent, const char* name, const std::string& text) const {
    const Hdf5Handle type = text_type(text);
    scalar(parent, name, type.get(), text.data(), nullptr);
  }
  void number(hid_t parent, const char* name, double value, const char* units) const {
    scalar(parent, name, H5T_NATIVE_DOUBLE, &value, units);
  }
  void number(hid_t parent, const char* name, std::int64_t value) const {
    scalar(parent, name, H5T_NATIVE_INT64, &value, nullptr);
  }

 private:
  Hdf5Handle text_type(const std::string& text) const {
    Hdf5Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose, path_);
    if (H5Tset_size(type.get(), std::max<std::size_t>(text.size(), 1)) < 0 ||
        H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0) {
      fail(path_);
    }
    return type;
  }

  void scalar(hid_t parent, const char* name, hid_t type, const void* value, const char* units) const {
    const Hdf5Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, path_);
    const Hdf5Handle properties = timeless(path_);
    const Hdf5Handle set =
        checked(H5Dcreate2(parent, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                H5Dclose, path_);
    if (H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) fail(path_);
    if (units != nullptr) attribute(set.get(), "units", units);
  }

  const fs::path& path_;
};

Hdf5Handle create_stack(hid_t parent, const PowderScan& scan, const fs::path& path) {
  const Shape shape = scan.shape();
  const std::array<hsize_t, 3> extent = {scan.frames(), shape.rows, shape.cols};
  const std::array<hsize_t, 3> chunk = {1, shape.rows, shape.cols};
  const Hdf5Handle space = checked(H5Screate_simple(3, extent.data(), nullptr), H5Sclose, path);
  const Hdf5Handle properties = timeless(path);
  if (H5Pset_chunk(properties.get(), 3, chunk.data()) < 0 || H5Pset_shuffle(properties.get()) < 0 ||
      H5Pset_deflate(properties.get(), kDeflateLevel) < 0) {
    fail(path);
  }
  // Eiger files count without sign: the marks -1 and -2 are then the type's top values.
  const bool eiger = scan.geometry().detector.name.starts_with("Eiger");
  return checked(H5Dcreate2(parent, "data", eiger ? H5T_STD_U32LE : H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                            properties.get(), H5P_DEFAULT),
                 H5Dclose, path);
}

void describe_instrument(hid_t entry, const PowderScan& scan, const Describer& describe) {
  const Geometry& geometry = scan.geometry();
  const Hdf5Handle instrument = describe.group(entry, "instrument", "NXinstrument");
  const Hdf5Handle beam = describe.group(instrument.get(), "beam", "NXbeam");
  describe.number(beam.get(), "incident_wavelength", *geometry.wavelength * 1e10, "angstrom");
  const Hdf5Handle detector = describe.group(instrument.get(), "detector", "NXdetector");
  describe.text(detector.get(), "description", geometry.detector.name);
  describe.number(detector.get(), "y_pixel_size", geometry.detector.pixel1, "m");
  describe.number(detector.get(), "x_pixel_size", geometry.detector.pixel2, "m");
  describe.number(detector.get(), "distance", geometry.distance, "m");
  describe.number(detector.get(), "saturation_value", scan.options().count_cutoff);
  const Hdf5Handle specific = describe.group(detector.get(), "detectorSpecific", "NXcollection");
  describe.number(specific.get(), "countrate_correction_count_cutoff", scan.options().count_cutoff);
}

}  // namespace

struct StackWriter::File {
  Hdf5Handle file;
  Hdf5Handle data;
};

StackWriter::StackWriter(const fs::path& path, const PowderScan& scan) : path_(path), partial_(path) {
  partial_ += ".part";
  try {
    open(scan);
  } catch (...) {
    abandon();
    throw;
  }
}

StackWriter::~StackWriter() {
  if (file_) abandon();
}

void StackWriter::open(const PowderScan& scan) {
  const Hdf5Session session;
  file_ = std::make_unique<File>();
  file_->file =
      checked(H5Fcreate(partial_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path_);
  const Describer describe(path_);
  const hid_t root = file_->file.get();
  describe.attribute(root, "NX_class", "NXroot");
  describe.attribute(root, "default", "entry");
  const Hdf5Handle entry = describe.group(root, "entry", "NXentry");
  describe.attribute(entry.get(), "default", "data");
  describe.text(
      entry.get(), "title",
      fmt::format("simulated powder scan, seed {}, {}", scan.options().seed, scan.geometry().detector.name));
  describe_instrument(entry.get(), scan, describe);
  const Hdf5Handle group = describe.group(entry.get(), "data", "NXdata");
  describe.attribute(group.get(), "signal", "data");
  file_->data = create_stack(group.get(), scan, path_);
}

void StackWriter::abandon() {
  bool created = false;
  if (file_) {
    const Hdf5Session session;
    created = static_cast<bool>(file_->file);
    file_.reset();
  }
  std::error_code ignored;
  if (created) fs::remove(partial_, ignored);
}

std::vector<std::byte> StackWriter::compress(std::span<const std::int32_t> pixels) {
  const std::size_t count = pixels.size();
  std::vector<Bytef> shuffled(count * sizeof(std::int32_t));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint32_t>(pixels[i]);
    for (std::size_t byte = 0; byte < sizeof(value); ++byte) {
      shuffled[byte * count + i] = static_cast<Bytef>(value >> (8 * byte));
    }
  }
  uLongf size = compressBound(shuffled.size());
  std::vector<std::byte> chunk(size);
  // It fails for want of memory only: the buffer is large enough by construction.
  if (compress2(reinterpret_cast<Bytef*>(chunk.data()), &size, shuffled.data(), shuffled.size(),
                kDeflateLevel) != Z_OK) {
    throw std::bad_alloc();
  }
  chunk.resize(size);
  return chunk;
}

void StackWriter::append(std::uint64_t frame, std::span<const std::byte> chunk) {
  const Hdf5Session session;
  const std::array<hsize_t, 3> offset = {frame, 0, 0};
  if (H5Dwrite_chunk(file_->data.get(), H5P_DEFAULT, 0, offset.data(), chunk.size(), chunk.data()) < 0)
    fail(path_);
}

void StackWriter::close() {
  {
    const Hdf5Session session;
    // Buffered metadata reaches the disk here: the last chance to learn that it is full.
    file_->data = {};
    if (H5Fflush(file_->file.get(), H5F_SCOPE_LOCAL) < 0) fail(path_);
    file_.reset();
  }
  std::error_code error;
  fs::rename(partial_, path_, error);
  if (error) {
    throw Error(ErrorKind::kOutput, path_.string(), fmt::format("cannot get its name: {}", error.message()),
                fmt::format("the frames are in {}", partial_.string()));
  }
}

}  // namespace annulus
