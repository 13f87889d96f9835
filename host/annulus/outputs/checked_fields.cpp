#include <annulus/outputs/checked_fields.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {

void CheckedFields::refuse(const std::string& fault) const {
  throw Error(ErrorKind::kInput, path_.string(), "is damaged, or was not written by annulus: " + fault,
              "make or copy it again");
}

std::string CheckedFields::text(const std::string& path) const {
  auto words = read_text(file_, path, TextLength::kFixed);
  if (!words && has_object(file_, path)) refuse(path + " is not a text of fixed length");
  return words ? *std::move(words) : "";
}

std::string CheckedFields::attribute(const std::string& path, const char* name) const {
  auto words = read_text_attribute(file_, path, name, TextLength::kFixed);
  if (!words && has_object(file_, path) && H5Aexists_by_name(file_, path.c_str(), name, H5P_DEFAULT) > 0)
    refuse(fmt::format("the attribute {} of {} is not a text of fixed length", name, path));
  return words ? *std::move(words) : "";
}

std::vector<double> CheckedFields::doubles(const std::string& path, std::size_t most) const {
  if (!holds(path, H5T_NATIVE_DOUBLE)) refuse(path + " is not there, or does not hold numbers of 64 bits");
  auto values = read_doubles(file_, path, most);
  if (!values) refuse(path + " cannot be read");
  return *std::move(values);
}

bool CheckedFields::holds(const std::string& path, hid_t type) const {
  if (!has_object(file_, path)) return false;
  const Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return false;
  const Hdf5Handle stored(H5Dget_type(dataset.get()), H5Tclose);
  return stored && H5Tequal(stored.get(), type) > 0;
}

bool CheckedFields::has_extent(const std::string& path, const std::vector<std::size_t>& extent) const {
  if (!has_object(file_, path)) return false;
  const Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return false;
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0 || static_cast<std::size_t>(rank) != extent.size()) return false;
  std::vector<hsize_t> size(extent.size());
  return H5Sget_simple_extent_dims(space.get(), size.data(), nullptr) == rank &&
         std::equal(size.begin(), size.end(), extent.begin());
}

}  // namespace annulus
