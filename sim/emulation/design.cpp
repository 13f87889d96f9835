#include "design.hpp"

#include <algorithm>
#include <array>

namespace annulus_sim {

const IntegerType* find_integer_type(const std::string& name) {
  static constexpr std::array<IntegerType, 8> kTypes{{{"int8_t", 1, true},
                                                      {"uint8_t", 1, false},
                                                      {"int16_t", 2, true},
                                                      {"uint16_t", 2, false},
                                                      {"int32_t", 4, true},
                                                      {"uint32_t", 4, false},
                                                      {"int64_t", 8, true},
                                                      {"uint64_t", 8, false}}};
  const auto found = std::ranges::find(kTypes, name, &IntegerType::name);
  return found == kTypes.end() ? nullptr : &*found;
}

uint32_t register_bytes_of(const Argument& argument) {
  return argument.is_pointer() ? 8 : std::max<uint32_t>(4, find_integer_type(argument.type)->size);
}

}  // namespace annulus_sim
