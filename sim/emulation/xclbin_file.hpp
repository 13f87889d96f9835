// The xclbin container for software emulation: a shared library with kernels, and what XRT must know of them.
#pragma once

#include <string>

#include "design.hpp"

namespace annulus_sim {

// The bytes of the file. The same input gives the same bytes: the identity (UUID) is derived from the
// content.
std::string make_xclbin(const CardDesign& design, const std::string& library);

}  // namespace annulus_sim
