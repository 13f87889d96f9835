// What a user names on the command line, as a list of files in scan order, and what a plan has to know of
// their frames.
#pragma once

#include <annulus/plan/plan.hpp>
#include <annulus/sources/frame_stream.hpp>

#include <optional>
#include <string>
#include <vector>

namespace annulus {

// Each argument is a file, "file.h5::/path", a glob pattern, a directory (the image files in it, by
// extension, in natural order: img_2 before img_10; not the data files of an Eiger master beside them), or
// "@list.txt" with one argument a line. Files are not opened. Throws kInput for a pattern, directory or list
// that yields nothing, and for a file that does not exist.
std::vector<std::string> expand_inputs(const std::vector<std::string>& arguments);

// What `follow` makes of the same arguments: the folder of images that may grow, if there is one. None for
// HDF5 files, which are followed one by one, and folders of them. Throws kUsage where a folder cannot be
// followed together with the rest.
std::optional<std::string> folder_to_follow(const std::vector<std::string>& arguments);

// What a plan has to know of the frames.
FrameProperties properties_of(const ScanInfo& info);

// The same of the first file that can be read. Throws kInput with the first file's error if there is none.
FrameProperties probe_frames(const std::vector<std::string>& urls, const OpenOptions& open);

}  // namespace annulus
