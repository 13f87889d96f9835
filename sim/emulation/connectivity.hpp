// A card's memories and how compute units are wired to them.
#pragma once

#include <filesystem>
#include <vector>

#include "design.hpp"

namespace annulus_sim {

// Name and memory of a card's card.json (platform/README.md). Banks follow each other in its address space.
CardDesign read_card(const std::filesystem::path& json);

// From a connectivity file of the Vitis linker, section [connectivity]:
//   nk=kernel:2[:first.second]    compute units; named kernel_1, kernel_2 if no names follow
//   sp=unit.argument:HBM[3]       the bank of each memory argument; each must have one. Of a range, HBM[4:7],
//   the
//                                 first: XRT's emulation does not know groups of banks
// slr= and what stands in other sections is for the linker only.
void add_compute_units(CardDesign& design, const std::filesystem::path& connectivity);

}  // namespace annulus_sim
