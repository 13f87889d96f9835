// A card's memories and how compute units are wired to them.
#pragma once

#include <filesystem>
#include <vector>

#include "design.hpp"

namespace annulus_sim {

// From a JSON file: {"card": name, "banks": [{"tag": "HBM", "count": 32, "size_mib": 512}, ...]}. Banks
// follow each other in the card's address space.
CardDesign read_card(const std::filesystem::path& json);

// From a connectivity file of the Vitis linker, section [connectivity]:
//   nk=kernel:2[:first.second]    compute units; named kernel_1, kernel_2 if no names follow
//   sp=unit.argument:HBM[3]       the bank of each memory argument; each must have one
// Other sections, and slr= and stream placement that an emulation does not know, are left to the linker.
void add_compute_units(CardDesign& design, const std::filesystem::path& connectivity);

}  // namespace annulus_sim
