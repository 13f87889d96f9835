// The lines of a PONI file as keys and values, and the detector they describe; what else they mean is
// poni.cpp's.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/geometry/detector.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace annulus {

struct PoniEntry {
  std::string key;    // lower case
  std::string value;  // without the blanks around it
  std::size_t line = 0;
};

// Calibrations are appended to files, so that the last value of a key is the one that counts.
class PoniText {
 public:
  PoniText(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  const PoniEntry* find(const std::string& key) const;

  // A finite number, or nothing where the key is absent. Throws kGeometry with file, line and key.
  std::optional<double> number(const std::string& key) const;
  std::optional<double> positive_number(const std::string& key) const;

  Error error(const std::string& fault, const std::string& cure = {}) const;
  Error error(const PoniEntry& entry, const std::string& fault, const std::string& cure = {}) const;

 private:
  std::string name_;
  std::unordered_map<std::string, PoniEntry> entries_;
};

Detector detector_from(const PoniText& poni);  // in poni_detector.cpp

// A finite number that takes up the whole text.
std::optional<double> number_from(std::string_view text);
std::string lower_case(std::string_view text);

}  // namespace annulus
