#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/hdf5_output.hpp>

#include <algorithm>
#include <system_error>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Texts of one length, one after the other.
struct Padded {
  explicit Padded(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) width = std::max(width, text.size());
    for (const std::string& text : texts) bytes += text + std::string(width - text.size(), '\0');
  }
  std::size_t width = 1;
  std::string bytes;
};

}  // namespace

void fail_writing(const fs::path& path) {
  throw Error(ErrorKind::kOutput, path.string(), "cannot be written: " + hdf5_reason(),
              "check the folder's permissions and the space left on the disk");
}

Hdf5Handle checked(hid_t id, Hdf5Handle::Close close, const fs::path& path) {
  if (id < 0) fail_writing(path);
  return {id, close};
}

Hdf5Handle timeless(const fs::path& path) {
  Hdf5Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path);
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail_writing(path);
  return properties;
}

Hdf5Handle Describer::group(hid_t parent, const char* name, const char* nexus_class) const {
  Hdf5Handle group =
      checked(H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path_);
  attribute(group.get(), "NX_class", nexus_class);
  return group;
}

void Describer::attribute(hid_t object, const char* name, const std::string& text) const {
  const Hdf5Handle type = text_type(text.size());
  const Hdf5Handle space = scalar();
  const Hdf5Handle attribute =
      checked(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, path_);
  if (H5Awrite(attribute.get(), type.get(), text.data()) < 0) fail_writing(path_);
}

void Describer::attribute(hid_t object, const char* name, std::int64_t value) const {
  const Hdf5Handle space = scalar();
  const Hdf5Handle attribute = checked(
      H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, path_);
  if (H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value) < 0) fail_writing(path_);
}

void Describer::attribute(hid_t object, const char* name, const std::vector<std::string>& texts) const {
  const Padded padded(texts);
  const Hdf5Handle type = text_type(padded.width);
  const hsize_t count = texts.size();
  const Hdf5Handle space = checked(H5Screate_simple(1, &count, nullptr), H5Sclose, path_);
  const Hdf5Handle attribute =
      checked(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, path_);
  if (H5Awrite(attribute.get(), type.get(), padded.bytes.data()) < 0) fail_writing(path_);
}

void Describer::text(hid_t parent, const char* name, const std::string& text) const {
  const Hdf5Handle type = text_type(text.size());
  dataset(parent, name, type.get(), scalar(), text.data(), nullptr);
}

void Describer::number(hid_t parent, const char* name, double value, const char* units) const {
  dataset(parent, name, H5T_NATIVE_DOUBLE, scalar(), &value, units);
}

void Describer::number(hid_t parent, const char* name, std::int64_t value) const {
  dataset(parent, name, H5T_NATIVE_INT64, scalar(), &value, nullptr);
}

void Describer::texts(hid_t parent, const char* name, const std::vector<std::string>& texts) const {
  const Padded padded(texts);
  const Hdf5Handle type = text_type(padded.width);
  const hsize_t count = texts.size();
  const Hdf5Handle space = checked(H5Screate_simple(1, &count, nullptr), H5Sclose, path_);
  dataset(parent, name, type.get(), space, padded.bytes.data(), nullptr);
}

void Describer::numbers(hid_t parent, const char* name, const std::vector<double>& values, const char* units,
                        const std::vector<hsize_t>& extent) const {
  const std::vector<hsize_t> shape = extent.empty() ? std::vector<hsize_t>{values.size()} : extent;
  const Hdf5Handle space =
      checked(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose, path_);
  dataset(parent, name, H5T_NATIVE_DOUBLE, space, values.data(), units);
}

Hdf5Handle Describer::text_type(std::size_t size) const {
  Hdf5Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose, path_);
  if (H5Tset_size(type.get(), std::max<std::size_t>(size, 1)) < 0 ||
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0) {
    fail_writing(path_);
  }
  return type;
}

Hdf5Handle Describer::scalar() const { return checked(H5Screate(H5S_SCALAR), H5Sclose, path_); }

void Describer::dataset(hid_t parent, const char* name, hid_t type, const Hdf5Handle& space,
                        const void* values, const char* units) const {
  const Hdf5Handle properties = timeless(path_);
  const Hdf5Handle set =
      checked(H5Dcreate2(parent, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
              H5Dclose, path_);
  if (H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) fail_writing(path_);
  if (units != nullptr) attribute(set.get(), "units", units);
}

PartialFile::PartialFile(const fs::path& path) : path_(path), partial_(temporary_name(path, 0)) {
  file_ = checked(H5Fcreate(partial_.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path_);
}

PartialFile::~PartialFile() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  fs::remove(partial_, ignored);
}

void PartialFile::close() {
  // Buffered metadata reaches the disk here: the last chance to learn that it is full.
  if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0) fail_writing(path_);
  file_.reset();
  std::error_code error;
  fs::rename(partial_, path_, error);
  if (error) {
    throw Error(ErrorKind::kOutput, path_.string(), fmt::format("cannot get its name: {}", error.message()),
                fmt::format("the frames are in {}", partial_.string()));
  }
}

}  // namespace annulus
