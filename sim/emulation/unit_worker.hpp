// The inside of a compute unit: a process of its own that loads the library of kernels and runs one of them,
// one run after the other. Each unit thus has its own copy of a kernel's static memories, as on a card, and
// one that crashes or hangs can be ended without harm to the rest.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "design.hpp"
#include "device_memory.hpp"
#include "journal.hpp"

namespace annulus_sim {

enum class RunFault : uint32_t { kNone, kDie, kHang, kStale, kZero, kGarbage, kFlip, kSwap };

constexpr size_t kMaxArguments = 64;

struct RunRequest {
  struct Value {
    uint64_t value;  // of the argument's registers
    Buffer buffer;   // of pointers: what it points into; size 0 where its bank has no buffer
  };
  RunFault fault;
  double at_least_ms;
  std::array<Value, kMaxArguments> arguments;
};

// What a worker sends: once when it has loaded the library (or, after kRefused, why not), then after each
// run.
constexpr char kReady = 'r';
constexpr char kRefused = 'x';
constexpr char kRunDone = 'd';

// In the unit's process: serves requests from the socket until it closes, and ends the process.
[[noreturn]] void work_as_unit(const CardDesign& design, const ComputeUnit& unit, const std::string& library,
                               int memory_file, int socket, const Journal& journal);

}  // namespace annulus_sim
