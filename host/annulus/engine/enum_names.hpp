// Names of the enumerations that options take: one list for parsing, printing and messages.
#pragma once

#include <annulus/engine/config.hpp>
#include <annulus/geometry/unit.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace annulus {

template <typename Enum>
struct EnumNames;

template <>
struct EnumNames<Unit> {
  static constexpr std::array kValues = {Unit::kRadiusM,     Unit::kRadiusMm, Unit::kTwoThetaDeg,
                                         Unit::kTwoThetaRad, Unit::kQPerNm,   Unit::kQPerA};
};
template <>
struct EnumNames<Splitting> {
  static constexpr std::array kValues = {Splitting::kNo, Splitting::kBoundingBox, Splitting::kFull};
};
template <>
struct EnumNames<ErrorModel> {
  static constexpr std::array kValues = {ErrorModel::kNone, ErrorModel::kPoisson, ErrorModel::kAzimuthal,
                                         ErrorModel::kHybrid};
};
template <>
struct EnumNames<ClipMethod> {
  static constexpr std::array kValues = {ClipMethod::kNone, ClipMethod::kSigma, ClipMethod::kMedian,
                                         ClipMethod::kQuantiles};
};
template <>
struct EnumNames<OutputFormat> {
  static constexpr std::array kValues = {OutputFormat::kAuto, OutputFormat::kNexus, OutputFormat::kXy};
};

template <>
struct EnumNames<Outliers> {
  static constexpr std::array kValues = {Outliers::kNone, Outliers::kCounts, Outliers::kLists};
};

inline std::string_view name_of(Outliers outliers) {
  return outliers == Outliers::kLists ? "lists" : outliers == Outliers::kCounts ? "counts" : "no";
}

inline std::string_view name_of(OutputFormat format) {
  return format == OutputFormat::kXy ? "xy" : format == OutputFormat::kNexus ? "nexus" : "auto";
}

template <typename Enum>
std::optional<Enum> enum_from_name(std::string_view name) {
  for (const Enum value : EnumNames<Enum>::kValues) {
    if (name_of(value) == name) return value;
  }
  return std::nullopt;
}

// "no, bbox, full"
template <typename Enum>
std::string enum_choices() {
  std::string text;
  for (const Enum value : EnumNames<Enum>::kValues) {
    if (!text.empty()) text += ", ";
    text += name_of(value);
  }
  return text;
}

}  // namespace annulus
