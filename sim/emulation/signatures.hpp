// Kernels from the C++ header that declares them, so that what an xclbin says of a kernel is what its
// compiler saw.
#pragma once

#include <filesystem>
#include <vector>

#include "design.hpp"

namespace annulus_sim {

// Every `void name(arguments);` inside `extern "C" { }`. Pointers become memory arguments, integers of
// <cstdint> registers; anything else is an error.
std::vector<Kernel> read_signatures(const std::filesystem::path& header);

}  // namespace annulus_sim
