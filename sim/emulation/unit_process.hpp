// A compute unit as the card sees it: registers, and a process that runs the kernel.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "unit_worker.hpp"

namespace annulus_sim {

class UnitProcess {
 public:
  enum class State { kIdle, kBusy, kLost };

  // Starts the process; inherited_socket is one that it must not keep open.
  UnitProcess(const CardDesign& design, const ComputeUnit& unit, const std::string& library, int memory_file,
              int inherited_socket, const Journal& journal);
  ~UnitProcess();  // ends the process, whatever it does
  UnitProcess(const UnitProcess&) = delete;
  UnitProcess& operator=(const UnitProcess&) = delete;

  void await_ready();  // throws why the library could not be loaded
  State state();
  const ComputeUnit& unit() const { return unit_; }
  bool has_register(uint64_t address, size_t size) const;

  // Whether the write sets the start bit; the caller then has the run started.
  bool write_registers(uint64_t address, const std::string& bytes);
  std::string read_registers(uint64_t address, size_t size);
  uint64_t value_of(const Argument& argument) const;
  void start(const RunRequest& request);

 private:
  const ComputeUnit& unit_;
  const Journal& journal_;
  std::vector<char> registers_;
  pid_t process_ = -1;
  int socket_ = -1;
  State state_ = State::kIdle;
  bool done_ = false;  // the last run has ended
};

}  // namespace annulus_sim
