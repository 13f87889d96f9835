// The emulated card: memory, compute units, and the answers to the driver's calls.
//
// A card whose compute unit crashed is lost as a whole, like one that fell off its bus: until the next load
// its registers and memory read as all ones, and writes go nowhere. The process itself stays, because XRT
// ends the host program when it does not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "design.hpp"
#include "device_memory.hpp"
#include "driver_link.hpp"
#include "journal.hpp"
#include "settings.hpp"
#include "unit_process.hpp"

namespace annulus_sim {

class Card {
 public:
  Card(DriverLink& driver, const Settings& settings, const Journal& journal);
  void serve();  // until the driver closes the card or is gone

 private:
  bool answer(const Call& call);  // false: that was the last one
  void reset();
  bool load(const std::string& metadata_file, const std::string& library, const std::vector<uint64_t>& banks);
  void start_units(const std::string& library);
  void upload(uint64_t address, const std::string& bytes);
  std::string download(uint64_t address, uint64_t size);
  bool write_registers(uint64_t address, const std::string& bytes);
  std::string read_registers(uint64_t address, size_t size);
  void start_run(UnitProcess& process);
  RunFault next_fault();
  UnitProcess* unit_at(uint64_t address, size_t size);
  void watch_units();
  void lose();

  DriverLink& driver_;
  const Settings settings_;
  const Journal& journal_;
  CardDesign design_;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<std::unique_ptr<UnitProcess>> units_;
  bool lost_ = false;
  uint64_t loads_ = 0;
  uint64_t runs_ = 0;
};

}  // namespace annulus_sim
