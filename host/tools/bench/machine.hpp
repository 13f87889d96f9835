// On what the times were taken.
#pragma once

#include <annulus/core/instruction_set.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace annulus {

struct Machine {
  std::string processor;  // as the system calls it; empty: it does not say
  unsigned cores = 0;     // that this program may use
  std::vector<InstructionSet> instruction_sets;

  // Bytes; 0: the system does not say.
  std::uint64_t cache_level1 = 0;
  std::uint64_t cache_level2 = 0;
  std::uint64_t cache_level3 = 0;

  // Processes that wanted to run during the last minute: others slow the times down.
  double load = 0;
};

Machine describe_machine();

}  // namespace annulus
