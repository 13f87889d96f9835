// Which vector instructions the fast paths use. Every one of them gives the integers of the generic code.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace annulus {

enum class InstructionSet { kGeneric, kAvx2, kAvx512, kNeon };

// "generic", "avx2", "avx512", "neon"
std::string_view name_of(InstructionSet set);
std::optional<InstructionSet> instruction_set_from_name(std::string_view name);

// Those that this build has and this machine can run, the fastest last; never empty. The environment variable
// ANNULUS_INSTRUCTION_SETS, a list with commas, allows only those it names: tests try the code of lesser
// machines that way. Throws kUsage if it names none of the above.
const std::vector<InstructionSet>& available_instruction_sets();

inline InstructionSet best_instruction_set() { return available_instruction_sets().back(); }

}  // namespace annulus
