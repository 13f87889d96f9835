// What commands that draw have in common: where a picture may go, and its colours.
#pragma once

#include <tools/plot/plot.hpp>

#include <filesystem>

#include "command_line.hpp"

namespace annulus::app {

// Drawing again is what one does all day; the files of others are not touched unasked. `option` names the
// picture, in backticks. Throws kOutput.
// Also if there is no folder for it.
void check_replaceable(const std::filesystem::path& picture, bool overwrite, const char* option = "`output`");

// The same of a picture that is drawn beside an output. Throws kUsage if it is called like that, or like no
// picture.
void check_picture_beside(const std::filesystem::path& picture, const std::filesystem::path& output,
                          bool overwrite);

// --scale; the scale must live as long as the command.
Option add_scale(Command& command, PlotScale& scale);

}  // namespace annulus::app
