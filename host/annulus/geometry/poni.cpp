#include <annulus/geometry/in_quotes.hpp>
#include <annulus/geometry/poni.hpp>
#include <annulus/geometry/poni_detector.hpp>
#include <annulus/geometry/poni_text.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace annulus {
namespace {

// A calibration takes half a kilobyte; thousands may be appended to one another.
constexpr std::size_t kLargestFile = std::size_t{16} << 20;

void check_version(const PoniText& poni) {
  const std::optional<double> version = poni.number("poni_version");
  if (version && !(*version >= 1 && *version <= 3)) {
    throw poni.error(*poni.find("poni_version"),
                     fmt::format("version {} is not supported, only 1, 2, 2.1 and 3 are", *version));
  }
  const PoniEntry* parallax = poni.find("parallax");
  if (parallax == nullptr) return;
  const std::string value = lower_case(parallax->value);
  if (value != "false" && value != "none" && !value.empty()) {
    throw poni.error(*parallax, "the correction of parallax is not supported", "calibrate without it");
  }
}

std::optional<double> wavelength_from(const PoniText& poni) {
  const PoniEntry* entry = poni.find("wavelength");
  if (entry != nullptr && lower_case(entry->value) == "none") return std::nullopt;
  return poni.positive_number("wavelength");
}

double required(const PoniText& poni, std::optional<double> value, const char* key) {
  if (!value) throw poni.error(fmt::format("{} is missing", key), "is it a whole PONI file?");
  return *value;
}

}  // namespace

Geometry parse_poni(std::string_view text, const std::string& name) {
  const PoniText poni(text, name);
  check_version(poni);
  Geometry geometry;
  const char* distance = poni.find("distance") == nullptr ? "dist" : "distance";
  geometry.distance = required(poni, poni.positive_number(distance), "Distance");
  geometry.poni1 = required(poni, poni.number("poni1"), "Poni1");
  geometry.poni2 = required(poni, poni.number("poni2"), "Poni2");
  geometry.rot1 = poni.number("rot1").value_or(0);
  geometry.rot2 = poni.number("rot2").value_or(0);
  geometry.rot3 = poni.number("rot3").value_or(0);
  geometry.wavelength = wavelength_from(poni);
  geometry.detector = detector_from(poni);
  return geometry;
}

Geometry read_poni(const std::filesystem::path& path) {
  const auto unreadable = [&](const std::string& fault) {
    return Error(ErrorKind::kGeometry, path.string(), "cannot be read: " + fault);
  };
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) throw unreadable("it is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unreadable(std::strerror(errno));

  // One byte more than allowed tells a file that is too large, whatever its size is said to be.
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw unreadable(std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestFile) throw unreadable("it is far too large for a PONI file");
  return parse_poni(text, path.string());
}

}  // namespace annulus
