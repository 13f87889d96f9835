#include <annulus/core/error.hpp>
#include <annulus/core/instruction_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
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

constexpr const char* kAllowedSets = "ANNULUS_INSTRUCTION_SETS";

// The sets that the environment allows, of those the machine has; the generic code is always allowed.
std::vector<InstructionSet> keep_allowed(std::vector<InstructionSet> sets) {
  const char* const variable = std::getenv(kAllowedSets);
  if (variable == nullptr) return sets;
  std::vector<InstructionSet> allowed = {InstructionSet::kGeneric};
  const std::string_view names = variable;
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    const std::string_view name = names.substr(from, comma - from);
    from = comma + 1;
    const auto set = instruction_set_from_name(name);
    if (!set) {
      throw Error(ErrorKind::kUsage, kAllowedSets, fmt::format("'{}' is no instruction set", name),
                  "name those to allow, for example generic,avx2, or leave the variable unset");
    }
    allowed.push_back(*set);
  }
  std::erase_if(sets, [&](InstructionSet set) { return std::ranges::count(allowed, set) == 0; });
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
  static const std::vector<InstructionSet> sets = keep_allowed(detect());
  return sets;
}

}  // namespace annulus
