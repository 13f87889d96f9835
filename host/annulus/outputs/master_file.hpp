// A master: a file that looks like the output of a whole scan, while its frames lie in the outputs of parts,
// beside it.
#pragma once

#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/scan_parts.hpp>
#include <annulus/outputs/sink.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace annulus {

// Where the parts of `out.nxs` lie, unless the user names them: `out.nxs.parts/part_003.nxs`.
std::filesystem::path parts_folder(const std::filesystem::path& master);
std::filesystem::path part_name(const std::filesystem::path& master, unsigned number);

// All that lie there, by name. Empty if there is no such folder.
std::vector<std::filesystem::path> find_parts(const std::filesystem::path& master);

// Removes them all, with what programs that were killed had begun to write beside them, and the folder if
// nothing else is in it. What cannot be removed stays.
void remove_parts(const std::filesystem::path& master);

struct MasterContent {
  std::uint64_t frames = 0;
  std::uint64_t bad = 0;
  std::uint64_t missing = 0;  // places before the last one that no part holds: a process did not get so far
  std::vector<Part> missing_parts;  // of a scan whose parts were jobs of an array
};

// Throws unless this may become a master, and parts may lie in its folder: what write_master() would refuse
// after all the work. Throws kOutput.
void check_master_place(const std::filesystem::path& master, IfExists if_exists);

// Removes what earlier runs left, or nothing if one of these is no output of ours, or somebody writes it:
// throws kOutput.
void remove_outputs(const std::vector<std::filesystem::path>& outputs);

// Writes, or replaces, the master of these parts: closed outputs of one plan and of one scan that
// lie below the master's folder. Rows are in the order of their places (frame_index); those of places that no
// part holds are not there. Parts without a frame are left out; at least one must have one. The file appears
// complete or not at all. `if_exists`: kAppend replaces an output of any kind that is there, too, if it is a
// master. Throws kInput for parts that cannot be read, differ in their plan or as `difference` says, or hold
// a place twice; kOutput.
MasterContent write_master(const std::filesystem::path& master,
                           const std::vector<std::filesystem::path>& parts, IfExists if_exists,
                           const DifferenceOfRuns& difference = {});

// Whether this output is one. False for what is not there, too.
bool is_master(const std::filesystem::path& path);

}  // namespace annulus
