#include <annulus/core/instruction_set.hpp>

#include <utility>

namespace annulus {
namespace {

constexpr std::pair<InstructionSet, std::string_view> kSetNames[] = {
    {InstructionSet::kGeneric, "generic"},
    {InstructionSet::kAvx2, "avx2"},
    {InstructionSet::kAvx512, "avx512"},
    {InstructionSet::kNeon, "neon"},
};

std::vector<InstructionSet> detect() {
  std::vector<InstructionSet> sets = {InstructionSet::kGeneric};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
    sets.push_back(InstructionSet::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
      sets.push_back(InstructionSet::kAvx512);
    }
  }
#elif defined(__aarch64__)
  sets.push_back(InstructionSet::kNeon);  // all have it
#endif
  return sets;
}

}  // namespace

std::string_view name_of(InstructionSet set) {
  for (const auto& [known, name] : kSetNames) {
    if (known == set) return name;
  }
  return "";
}

std::optional<InstructionSet> instruction_set_from_name(std::string_view name) {
  for (const auto& [set, known] : kSetNames) {
    if (known == name) return set;
  }
  return std::nullopt;
}

const std::vector<InstructionSet>& available_instruction_sets() {
  static const std::vector<InstructionSet> sets = detect();
  return sets;
}

}  // namespace annulus
