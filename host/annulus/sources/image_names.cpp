#include <annulus/sources/image_names.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace annulus {

std::string lower_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

bool is_hdf5_name(const std::filesystem::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".h5" || extension == ".hdf5";
}

namespace {

// "scan.cbf.gz" has that of a CBF file.
std::string extension_of_content(const std::filesystem::path& path) {
  std::string extension = lower_extension(path);
  return extension == ".gz" || extension == ".bz2" ? lower_extension(path.stem()) : extension;
}

}  // namespace

bool names_one_frame(const std::filesystem::path& path) { return extension_of_content(path) == ".cbf"; }

bool is_image_name(const std::filesystem::path& path) {
  static constexpr std::array kExtensions = {".cbf", ".edf", ".tif", ".tiff", ".npy", ".h5", ".hdf5", ".raw"};
  if (path.filename().string().starts_with('.')) return false;
  return std::ranges::find(kExtensions, extension_of_content(path)) != kExtensions.end();
}

bool natural_less(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      std::size_t i_end = i, j_end = j;
      while (i_end < a.size() && is_digit(a[i_end])) ++i_end;
      while (j_end < b.size() && is_digit(b[j_end])) ++j_end;
      if (i_end - i != j_end - j) return i_end - i < j_end - j;
      const int order = a.compare(i, i_end - i, b, j, j_end - j);
      if (order != 0) return order < 0;
      i = i_end;
      j = j_end;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // equal but for leading zeros
}

}  // namespace annulus
