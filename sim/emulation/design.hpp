// What a card carries: memory banks, kernels and compute units. The packer writes it into an xclbin, the
// emulated card reads it from there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace annulus_sim {

struct Argument {
  std::string name;
  std::string type;     // a pointer's "void*", or the integer's name in <cstdint>
  uint32_t offset = 0;  // of its register in the compute unit

  bool is_pointer() const { return type.ends_with('*'); }
};

struct Kernel {
  std::string name;
  std::vector<Argument> arguments;
};

struct Bank {
  std::string tag;  // such as HBM[0]
  uint64_t base = 0;
  uint64_t size = 0;
};

constexpr int kNoBank = -1;

struct ComputeUnit {
  std::string name;
  size_t kernel = 0;       // index into CardDesign::kernels
  uint64_t base = 0;       // of its registers
  std::vector<int> banks;  // of each argument: index into CardDesign::banks, kNoBank for integers
};

struct CardDesign {
  std::string card;
  std::vector<Bank> banks;
  std::vector<Kernel> kernels;
  std::vector<ComputeUnit> units;

  const Kernel& kernel_of(const ComputeUnit& unit) const { return kernels[unit.kernel]; }
};

// The registers of one compute unit, as Vitis HLS lays them out: control first, arguments from 0x10 on, each
// followed by an unused word.
constexpr uint32_t kRegisterBytes = 64 * 1024;
constexpr uint32_t kFirstArgument = 0x10;

struct IntegerType {
  const char* name;
  uint32_t size;
  bool is_signed;
};

// Null for a type that a kernel cannot take by value.
const IntegerType* find_integer_type(const std::string& name);

uint32_t register_bytes_of(const Argument& argument);

}  // namespace annulus_sim
