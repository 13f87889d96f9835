// A card as its folder in platform/ describes it: facts in card.json, and for each kernel a file that
// connects the ports of its compute units to banks of memory.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace annulus {

// Where a port of one compute unit leads: one bank, or several among which its buffers are spread.
struct PortBanks {
  std::string compute_unit;
  std::string port;
  unsigned first = 0;
  unsigned last = 0;  // inclusive
};

// One of the card's kernels.
struct CardKernel {
  unsigned compute_units = 0;
  std::vector<PortBanks> ports;
};

struct Card {
  std::string name;
  std::string memory_kind;  // HBM, DDR
  unsigned banks = 0;
  double bank_gb_per_second = 0;
  double pcie_gb_per_second = 0;  // in each direction
  double clock_mhz = 0;
  std::map<std::string, CardKernel> kernels;
};

// `card` is the name of a folder in `platform`, or a file that ends in .json, beside which the files of the
// kernels are. Throws kUsage with file, key and cure.
Card read_card(const std::string& card, const std::filesystem::path& platform);

}  // namespace annulus
