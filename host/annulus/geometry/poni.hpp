// PONI files, versions 1, 2, 2.1 and, without its correction of parallax, 3.
#pragma once

#include <annulus/geometry/geometry.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace annulus {

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
