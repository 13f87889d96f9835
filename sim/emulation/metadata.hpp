// A design as the XML that XRT reads from an xclbin, and back.
#pragma once

#include <filesystem>
#include <string>

#include "design.hpp"

namespace annulus_sim {

std::string to_xml(const CardDesign& design);
CardDesign design_from_xml(const std::filesystem::path& file);

}  // namespace annulus_sim
