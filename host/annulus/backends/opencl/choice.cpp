#include <annulus/backends/opencl/choice.hpp>

#include <fmt/core.h>

#include <array>
#include <sstream>

namespace annulus::opencl {
namespace {

constexpr std::array kMethods = {Method::kLanes, Method::kRows, Method::kLocal};

bool is_sensible(const Choice& choice) {
  const auto within = [](std::uint32_t value, std::uint32_t low, std::uint32_t high) {
    return value >= low && value <= high;
  };
  return within(choice.items, 1, 1 << 16) && within(choice.group, 1, 1 << 16) &&
         within(choice.band_pixels, kLanes, 1u << 31) && choice.band_pixels % kLanes == 0 &&
         within(choice.segment_bytes, 16, 1 << 20) && within(choice.decode_group, 1, 1 << 16) &&
         within(choice.join_group, 1, 1 << 16);
}

}  // namespace

std::string_view name_of(Method method) {
  switch (method) {
    case Method::kLanes:
      return "lanes";
    case Method::kRows:
      return "rows";
    case Method::kLocal:
      break;
  }
  return "local";
}

std::optional<Method> method_from_name(std::string_view name) {
  for (const Method method : kMethods) {
    if (name_of(method) == name) return method;
  }
  return std::nullopt;
}

std::string to_text(const Choice& choice) {
  return fmt::format("{} {} {} {} {} {} {}", name_of(choice.method), choice.items, choice.group,
                     choice.band_pixels, choice.segment_bytes, choice.decode_group, choice.join_group);
}

std::optional<Choice> choice_from_text(const std::string& text) {
  std::istringstream words(text);
  std::string method;
  Choice choice;
  words >> method >> choice.items >> choice.group >> choice.band_pixels >> choice.segment_bytes >>
      choice.decode_group >> choice.join_group;
  const auto known = method_from_name(method);
  if (!words || !known || !is_sensible(choice)) return std::nullopt;
  choice.method = *known;
  return choice;
}

}  // namespace annulus::opencl
