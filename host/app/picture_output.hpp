// Where a picture may go.
#pragma once

#include <filesystem>

namespace annulus::app {

// Drawing again is what one does all day; the files of others are not touched unasked. `option` names the
// picture, in backticks. Throws kOutput.
void check_replaceable(const std::filesystem::path& picture, bool overwrite, const char* option = "`output`");

}  // namespace annulus::app
