// A plan as a file that is mapped into memory, not read: the arrays of a detector of millions of pixels are
// there at once.
//
// Little endian: a header (PlanFileHeader in plan_file.cpp), then the arrays one after the other, each at a
// multiple of 64 bytes. The geometry, the options and what follows from them at once are not in the file:
// whoever knows the key has them.
//
// A file is written under another name and then renamed, and never changed afterwards. So what a reader has
// mapped stays as it was, also when the file is replaced or removed, and two writers do not disturb each
// other. Only a program that truncates the file in place would end a reader with SIGBUS,
// unless mapping is forbidden (guarded_mapping.hpp).
#pragma once

#include <annulus/plan/plan.hpp>

#include <filesystem>
#include <string>

namespace annulus {

// Throws kOutput with the reason if that is not possible; then nothing is left behind.
void write_plan_file(const std::filesystem::path& path, const std::string& key, const Plan& plan);

// Fills what build_plan computes into a plan that has its geometry, options and frames' properties already
// (see begin_plan in build_steps.hpp). False if there is no such file. Throws kInput if it is damaged, of
// another version, or for another key, or if others than this user and root can have written it; the plan is
// then of no use. Every index is checked: whatever the file says, no backend is led out of bounds. Totals and
// hash are computed from the arrays and must be those of the file: the hash of a plan is always that of its
// content. threads = 0: all of the machine.
bool read_plan_file(const std::filesystem::path& path, const std::string& key, Plan& plan,
                    unsigned threads = 0);

}  // namespace annulus
