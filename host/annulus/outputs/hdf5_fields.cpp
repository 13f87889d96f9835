#include <annulus/core/text.hpp>
#include <annulus/outputs/hdf5_fields.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace annulus {
namespace {

// Texts in a file are small; a header that claims more is not read.
constexpr std::size_t kLongestText = std::size_t{64} << 20;

Hdf5Handle text_type(std::size_t size) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

// Texts of fixed length, each as long as the longest, with zeros behind it.
class PaddedTexts {
 public:
  explicit PaddedTexts(const std::vector<FixedText>& texts) {
    std::vector<std::string> copies;
    for (const FixedText& each : texts) {
      copies.push_back(to_utf8(each.text));
      width_ = std::max(width_, copies.back().size());
    }
    for (const std::string& copy : copies) bytes_ += copy + std::string(width_ - copy.size(), '\0');
  }

  Hdf5Handle type() const {
    Hdf5Handle type = text_type(width_);
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    return type;
  }

  const char* bytes() const { return bytes_.data(); }

 private:
  std::size_t width_ = 1;  // HDF5 has no texts of length 0
  std::string bytes_;
};

Hdf5Handle flag_type() {
  Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  const std::int8_t no = 0;
  const std::int8_t yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  return type;
}

Hdf5Handle scalar_space() { return {H5Screate(H5S_SCALAR), H5Sclose}; }

Hdf5Handle vector_space(std::size_t count) {
  const hsize_t size = count;
  return {H5Screate_simple(1, &size, nullptr), H5Sclose};
}

Hdf5Handle array_space(std::size_t count, std::size_t rows) {
  if (rows == 0) return vector_space(count);
  const hsize_t size[] = {rows, count / rows};
  return {H5Screate_simple(2, size, nullptr), H5Sclose};
}

Hdf5Handle timeless(hid_t kind_of_list) {
  Hdf5Handle list(H5Pcreate(kind_of_list), H5Pclose);
  H5Pset_obj_track_times(list.get(), false);
  return list;
}

Hdf5Handle put_group(hid_t parent, const std::string& name, const char* nx_class,
                     const Hdf5Handle& creation) {
  Hdf5Handle group(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose);
  if (!group) throw_hdf5(ErrorKind::kOutput, parent, fmt::format("cannot create the group \"{}\"", name));
  write_attribute(group.get(), "NX_class", std::string_view(nx_class));
  return group;
}

void put_attribute(hid_t object, const char* name, hid_t type, hid_t space, const void* value) {
  Hdf5Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute || H5Awrite(attribute.get(), type, value) < 0) {
    throw_hdf5(ErrorKind::kOutput, object, fmt::format("cannot write the attribute \"{}\"", name));
  }
}

Hdf5Handle put_dataset(hid_t parent, const std::string& name, hid_t type, hid_t space, const void* values) {
  const Hdf5Handle creation = timeless(H5P_DATASET_CREATE);
  Hdf5Handle dataset(H5Dcreate2(parent, name.c_str(), type, space, H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                     H5Dclose);
  if (!dataset || H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    throw_hdf5(ErrorKind::kOutput, parent, fmt::format("cannot write the field \"{}\"", name));
  }
  return dataset;
}

// Counting the chunks of a dataset reads all of their index. C calls this.
herr_t touch_object(hid_t file, const char* name, const H5O_info_t* object, void*) noexcept {
  if (object->type != H5O_TYPE_DATASET) return 0;
  const Hdf5Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  hsize_t chunks = 0;
  H5Dget_num_chunks(dataset.get(), space.get(), &chunks);
  H5Eclear2(H5E_DEFAULT);
  return 0;
}

// Both a dataset and an attribute can hold text of fixed or variable length.
template <typename Read>
std::optional<std::string> text_value(hid_t type, hid_t space, TextLength length, Read read) {
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return {};
  if (H5Tis_variable_str(type) != 0) {
    if (length == TextLength::kFixed) return {};
    const Hdf5Handle memory = text_type(H5T_VARIABLE);
    H5Tset_cset(memory.get(), H5Tget_cset(type));
    char* text = nullptr;
    if (read(memory.get(), &text) < 0) return {};
    std::string result = text != nullptr ? text : "";
    H5free_memory(text);
    return result;
  }
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > kLongestText) return {};
  std::string result(size, '\0');
  if (read(type, result.data()) < 0) return {};
  if (const auto end = result.find('\0'); end != std::string::npos) result.resize(end);
  return result;
}

}  // namespace

std::string file_name_of(hid_t object) {
  const ssize_t length = H5Fget_name(object, nullptr, 0);
  if (length <= 0) return "HDF5 file";
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  H5Fget_name(object, name.data(), name.size());
  name.pop_back();
  return name;
}

void throw_hdf5(ErrorKind kind, hid_t object, std::string_view what) {
  const std::string reason = hdf5_reason();
  throw Error(kind, file_name_of(object), fmt::format("{} ({})", what, reason));
}

Hdf5Handle create_group(hid_t parent, const std::string& name, const char* nx_class) {
  return put_group(parent, name, nx_class, timeless(H5P_GROUP_CREATE));
}

Hdf5Handle create_group_of_many_attributes(hid_t parent, const std::string& name, const char* nx_class) {
  constexpr unsigned kInHeader = 64;
  const Hdf5Handle creation = timeless(H5P_GROUP_CREATE);
  H5Pset_attr_phase_change(creation.get(), kInHeader, 0);
  return put_group(parent, name, nx_class, creation);
}

Hdf5Handle create_ordered_group(hid_t parent, const std::string& name, const char* nx_class) {
  const Hdf5Handle creation = timeless(H5P_GROUP_CREATE);
  H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  return put_group(parent, name, nx_class, creation);
}

void write_attribute(hid_t object, const char* name, std::string_view text) {
  const std::string copy = to_utf8(text);
  const char* pointer = copy.c_str();
  put_attribute(object, name, text_type(H5T_VARIABLE).get(), scalar_space().get(), &pointer);
}

void write_attribute(hid_t object, const char* name, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  put_attribute(object, name, text_type(H5T_VARIABLE).get(), vector_space(texts.size()).get(),
                pointers.data());
}

void write_attribute(hid_t object, const char* name, FixedText text) {
  const PaddedTexts padded({text});
  put_attribute(object, name, padded.type().get(), scalar_space().get(), padded.bytes());
}

void write_attribute(hid_t object, const char* name, const std::vector<FixedText>& texts) {
  const PaddedTexts padded(texts);
  put_attribute(object, name, padded.type().get(), vector_space(texts.size()).get(), padded.bytes());
}

void write_attribute(hid_t object, const char* name, double value) {
  put_attribute(object, name, H5T_NATIVE_DOUBLE, scalar_space().get(), &value);
}

void write_attribute(hid_t object, const char* name, std::int32_t value) {
  put_attribute(object, name, H5T_NATIVE_INT32, scalar_space().get(), &value);
}

void write_text(hid_t parent, const std::string& name, std::string_view text) {
  const std::string copy = to_utf8(text);
  const char* pointer = copy.c_str();
  put_dataset(parent, name, text_type(H5T_VARIABLE).get(), scalar_space().get(), &pointer);
}

void write_text(hid_t parent, const std::string& name, FixedText text) {
  const PaddedTexts padded({text});
  put_dataset(parent, name, padded.type().get(), scalar_space().get(), padded.bytes());
}

void write_flag(hid_t parent, const char* name, bool value) {
  const std::int8_t stored = value ? 1 : 0;
  put_dataset(parent, name, flag_type().get(), scalar_space().get(), &stored);
}

Hdf5Handle write_number(hid_t parent, const char* name, double value, const char* units) {
  Hdf5Handle dataset = put_dataset(parent, name, H5T_NATIVE_DOUBLE, scalar_space().get(), &value);
  if (units != nullptr) write_attribute(dataset.get(), "units", std::string_view(units));
  return dataset;
}

Hdf5Handle write_number(hid_t parent, const char* name, std::uint64_t value) {
  return put_dataset(parent, name, H5T_NATIVE_UINT64, scalar_space().get(), &value);
}

void overwrite_number(hid_t file, const char* path, std::uint64_t value) {
  const Hdf5Handle dataset(H5Dopen2(file, path, H5P_DEFAULT), H5Dclose);
  if (!dataset || H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    throw_hdf5(ErrorKind::kOutput, file, fmt::format("cannot write {}", path));
  }
}

Hdf5Handle write_array(hid_t parent, const char* name, const std::vector<double>& values, std::size_t rows) {
  return put_dataset(parent, name, H5T_NATIVE_DOUBLE, array_space(values.size(), rows).get(), values.data());
}

Hdf5Handle write_array(hid_t parent, const char* name, const std::vector<std::int64_t>& values,
                       std::size_t rows) {
  return put_dataset(parent, name, H5T_NATIVE_INT64, array_space(values.size(), rows).get(), values.data());
}

bool has_object(hid_t parent, const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (H5Lexists(parent, part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) return H5Oexists_by_name(parent, path.c_str(), H5P_DEFAULT) > 0;
  }
}

std::vector<std::string> names_in_group(hid_t parent, const std::string& path, NameOrder order) {
  std::vector<std::string> names;
  if (!has_object(parent, path)) return names;
  const Hdf5Handle group(H5Gopen2(parent, path.c_str(), H5P_DEFAULT), H5Gclose);
  if (!group) return names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  if (order == NameOrder::kAsCreated &&
      H5Literate(group.get(), H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collect, &names) >= 0) {
    return names;
  }
  names.clear();
  H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  return names;
}

std::optional<std::string> read_text(hid_t parent, const std::string& path, TextLength length) {
  if (!has_object(parent, path)) return {};
  const Hdf5Handle dataset(H5Dopen2(parent, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return {};
  const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  return text_value(type.get(), space.get(), length, [&](hid_t memory, void* buffer) {
    return H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
  });
}

std::optional<std::string> read_text_attribute(hid_t parent, const std::string& path, const char* name,
                                               TextLength length) {
  if (path != "." && path != "/" && !has_object(parent, path)) return {};
  if (H5Aexists_by_name(parent, path.c_str(), name, H5P_DEFAULT) <= 0) return {};
  const Hdf5Handle attribute(H5Aopen_by_name(parent, path.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute) return {};
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  return text_value(type.get(), space.get(), length,
                    [&](hid_t memory, void* buffer) { return H5Aread(attribute.get(), memory, buffer); });
}

std::optional<std::vector<std::string>> read_texts_attribute(hid_t parent, const std::string& path,
                                                             const char* name, std::size_t most) {
  if (!has_object(parent, path) || H5Aexists_by_name(parent, path.c_str(), name, H5P_DEFAULT) <= 0) return {};
  const Hdf5Handle attribute(H5Aopen_by_name(parent, path.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const hssize_t claimed = H5Sget_simple_extent_npoints(space.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 || claimed < 0 ||
      static_cast<std::size_t>(claimed) > most)
    return {};
  const auto count = static_cast<std::size_t>(claimed);
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0 || size > kLongestText / std::max<std::size_t>(count, 1)) return {};
  std::string bytes(size * count, '\0');
  if (H5Aread(attribute.get(), type.get(), bytes.data()) < 0) return {};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i)
    texts.emplace_back(bytes.data() + i * size, strnlen(bytes.data() + i * size, size));
  return texts;
}

std::optional<bool> read_flag(hid_t parent, const std::string& path) {
  if (!has_object(parent, path)) return {};
  const Hdf5Handle dataset(H5Dopen2(parent, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return {};
  const Hdf5Handle stored(H5Dget_type(dataset.get()), H5Tclose), type = flag_type();
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  std::int8_t value = 0;
  if (H5Tequal(stored.get(), type.get()) <= 0 || H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    return {};
  }
  return value != 0;
}

std::optional<std::uint64_t> read_whole_number(hid_t parent, const std::string& path) {
  if (!has_object(parent, path)) return {};
  const Hdf5Handle dataset(H5Dopen2(parent, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return {};
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  std::uint64_t value = 0;
  if (H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    return {};
  }
  return value;
}

std::optional<double> read_number_attribute(hid_t parent, const std::string& path, const char* name) {
  if (!has_object(parent, path) || H5Aexists_by_name(parent, path.c_str(), name, H5P_DEFAULT) <= 0) return {};
  const Hdf5Handle attribute(H5Aopen_by_name(parent, path.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  double value = 0;
  if (!attribute || H5Sget_simple_extent_npoints(space.get()) != 1) return {};
  if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0) return {};
  return value;
}

std::optional<std::vector<double>> read_doubles(hid_t parent, const std::string& path,
                                                std::size_t most_values) {
  if (!has_object(parent, path)) return {};
  const Hdf5Handle dataset(H5Dopen2(parent, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return {};
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || static_cast<std::size_t>(count) > most_values) return {};
  std::vector<double> values(static_cast<std::size_t>(count));
  if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) return {};
  return values;
}

void touch_objects(hid_t file) {
  H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, touch_object, nullptr, H5O_INFO_BASIC);
}

}  // namespace annulus
