// The recipe of an output, as attributes of its accumulators. Every function expects an Hdf5Session to be
// alive.
#pragma once

#include <annulus/plan/recipe.hpp>

#include <hdf5.h>

#include <optional>
#include <string>

namespace annulus {

void write_recipe(hid_t accumulators, const Recipe& recipe);

// Of files that say nothing of it: whether there are errors follows from what is there. Nothing if the file
// says what no run can have written.
std::optional<Recipe> read_recipe(hid_t file);

// For messages: "azimuthal errors, clip sigma (threshold 5, 5 cycles)".
std::string in_words(const Recipe& recipe);

}  // namespace annulus
