// Where each pixel looks: a detector in space, as a PONI file describes it; PONI files of versions 1, 2, 2.1
// and, without its correction of parallax, 3.
#pragma once

#include <annulus/geometry/detector.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace annulus {

struct Geometry {
  double distance = 0;  // metre, sample to PONI
  double poni1 = 0;     // metre, along the slow dimension
  double poni2 = 0;     // metre, along the fast dimension
  double rot1 = 0;      // radian
  double rot2 = 0;
  double rot3 = 0;
  std::optional<double> wavelength;  // metre
  Detector detector;
  std::string source = "PONI";  // the file, for messages

  bool operator==(const Geometry&) const = default;
};

// `name` stands for the text in messages. Throws kGeometry.
Geometry parse_poni(std::string_view text, const std::string& name);
Geometry read_poni(const std::filesystem::path& path);

// Every pyFAI since 0.16 reads version 2; 2.1 states the orientation too, which releases before 2023 refuse.
enum class PoniVersion { k2, k2_1 };

// Text that parse_poni and pyFAI both read back to the same doubles. Throws kGeometry for a geometry that no
// PONI file can hold.
std::string format_poni(const Geometry& geometry, PoniVersion version = PoniVersion::k2);
void write_poni(const std::filesystem::path& path, const Geometry& geometry);  // kOutput where it cannot

}  // namespace annulus
