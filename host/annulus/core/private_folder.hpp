// Files that the program writes for itself and believes when it reads them again: plans, compiled programs.
// They are believed only if nobody but this user or root can have written them. A checksum finds damage; this
// finds forgery.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace annulus {

// Who else can have written a file or can put files into a folder, for a message after its name; empty if
// nobody. Others may write to a folder in which they cannot touch our files (the sticky bit): what they put
// there is theirs, and not believed.
std::string distrust(const struct stat& status);

// What stands against a folder of such files; empty if nothing does. It is made if it is not there, for this
// user only, and so are those above it.
std::string private_folder_fault(const std::filesystem::path& folder);

// Not for others to write, whatever the umask says.
constexpr mode_t kPrivateFileMode = 0644;

}  // namespace annulus
