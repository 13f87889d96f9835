#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/geometry/detector.hpp>
#include <annulus/geometry/detector_catalogue.hpp>
#include <annulus/geometry/readouts.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace annulus {
namespace {

// Calibrations refine pixel sizes by less than this; binnings differ by more.
constexpr double kPixelTolerance = 0.05;

// A longer text is no misspelt name.
constexpr std::size_t kLongestName = 64;

std::string normalised(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    key += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return key;
}

const std::unordered_map<std::string, const Detector*>& names() {
  static const std::unordered_map<std::string, const Detector*> index = [] {
    std::unordered_map<std::string, const Detector*> map;
    for (const Detector& detector : detector_catalogue()) {
      map.emplace(normalised(detector.name), &detector);
      for (const std::string& alias : detector.aliases) map.emplace(normalised(alias), &detector);
    }
    return map;
  }();
  return index;
}

// Detectors of pyFAI that this program cannot describe; recognised to say why.
const char* why_unsupported(const std::string& key) {
  constexpr std::array<std::string_view, 5> kCurved = {"aarhus", "rapid", "rapidii", "cirpad", "xcirpad"};
  constexpr std::array<std::string_view, 17> kIrregular = {
      "imxpads10",  "imxpads70",    "imxpads70v",  "imxpads140",     "xpadflat",     "d5",
      "pixirad1",   "pixirad2",     "pixirad4",    "pixirad8",       "xpads540flat", "jungfrau",
      "jungfrau8m", "jungfrau500k", "jungfrau16m", "jungfrau16mcor", "hexdetector"};
  if (std::find(kCurved.begin(), kCurved.end(), key) != kCurved.end()) return "is not flat";
  if (std::find(kIrregular.begin(), kIrregular.end(), key) != kIrregular.end()) {
    return "has pixels off a regular grid, or of different sizes";
  }
  return nullptr;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_names(const std::string& key) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const Detector& detector : detector_catalogue()) {
    std::size_t distance = edit_distance(key, normalised(detector.name));
    for (const std::string& alias : detector.aliases) {
      distance = std::min(distance, edit_distance(key, normalised(alias)));
    }
    ranked.emplace_back(distance, detector.name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return fmt::format("{}, {} or {}", ranked[0].second, ranked[1].second, ranked[2].second);
}

const CatalogueEntry& entry_of(const Detector& detector) {
  for (const CatalogueEntry& entry : catalogue_entries()) {
    if (entry.detector.name == detector.name) return entry;
  }
  throw Error(ErrorKind::kGeometry, detector.name, "is not in the catalogue, so its readouts are unknown");
}

bool is_near(double size, double nominal) { return std::abs(size - nominal) <= kPixelTolerance * nominal; }

std::string known_sizes(const CatalogueEntry& entry, double Readout::*pixel) {
  std::string sizes;
  for (const Readout& readout : entry.readouts) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", readout.*pixel);
  }
  return sizes;
}

const Readout& readout_for(const CatalogueEntry& entry, double Readout::*pixel, double size) {
  for (const Readout& readout : entry.readouts) {
    if (is_near(size, readout.*pixel)) return readout;
  }
  throw Error(ErrorKind::kGeometry, entry.detector.name,
              fmt::format("pixels of {} m are none of its sizes: {} m", size, known_sizes(entry, pixel)),
              "if the size is right, name the detector `Detector` and give pixel1, pixel2 and max_shape");
}

void mask_rows(Mask& mask, std::size_t begin, std::size_t end) {
  const std::size_t cols = mask.shape.cols;
  end = std::min<std::size_t>(end, mask.shape.rows);
  if (begin >= end) return;
  std::fill(mask.pixels.begin() + static_cast<std::ptrdiff_t>(begin * cols),
            mask.pixels.begin() + static_cast<std::ptrdiff_t>(end * cols), std::uint8_t{1});
}

void mask_cols(Mask& mask, std::size_t begin, std::size_t end) {
  end = std::min<std::size_t>(end, mask.shape.cols);
  for (std::uint32_t row = 0; row < mask.shape.rows; ++row) {
    for (std::size_t col = begin; col < end; ++col) mask.at(row, static_cast<std::uint32_t>(col)) = 1;
  }
}

void mask_gaps(Mask& mask, const ModuleGrid& grid) {
  const std::size_t row_pitch = std::size_t{grid.module.rows} + grid.gap.rows;
  const std::size_t col_pitch = std::size_t{grid.module.cols} + grid.gap.cols;
  for (std::size_t row = grid.module.rows; row < mask.shape.rows; row += row_pitch) {
    mask_rows(mask, row, row + grid.gap.rows);
  }
  for (std::size_t col = grid.module.cols; col < mask.shape.cols; col += col_pitch) {
    mask_cols(mask, col, col + grid.gap.cols);
  }
  if (grid.middle == 0) return;
  for (std::size_t centre = grid.module.cols / 2; centre < mask.shape.cols; centre += col_pitch) {
    const std::size_t begin = centre - std::min<std::size_t>(centre, grid.middle / 2);
    mask_cols(mask, begin, begin + grid.middle);
  }
}

void mask_outside_disc(Mask& mask) {
  const double centre1 = std::floor(mask.shape.rows / 2.0);
  const double centre2 = std::floor(mask.shape.cols / 2.0);
  for (std::uint32_t row = 0; row < mask.shape.rows; ++row) {
    const double y = row + 0.5 - centre1;
    for (std::uint32_t col = 0; col < mask.shape.cols; ++col) {
      const double x = col + 0.5 - centre2;
      if (y * y + x * x > centre1 * centre1) mask.at(row, col) = 1;
    }
  }
}

}  // namespace

Mask Detector::gap_mask() const {
  Mask mask{shape, std::vector<std::uint8_t>(shape.size(), 0)};
  if (grid.module.rows > 0 && grid.module.cols > 0) mask_gaps(mask, grid);
  if (round) mask_outside_disc(mask);
  return mask;
}

const Detector& find_detector(std::string_view name) {
  const std::string key = normalised(name.substr(0, 4 * kLongestName));
  const auto found = names().find(key);
  if (found != names().end()) return *found->second;

  if (key.empty()) throw Error(ErrorKind::kGeometry, "detector", "the name is empty");
  const std::string where = "detector " + in_quotes(name);
  if (const char* reason = why_unsupported(key)) {
    throw Error(ErrorKind::kGeometry, where, fmt::format("it {}: not supported", reason),
                "only flat detectors with a regular grid of pixels can be integrated");
  }
  const std::string near =
      key.size() > kLongestName ? "" : fmt::format("nearest are {}; ", nearest_names(key));
  throw Error(ErrorKind::kGeometry, where, "the name is not known",
              near +
                  "`describe_detectors()` lists all; any other flat detector can be named `Detector` "
                  "with pixel1, pixel2 and max_shape in a PONI file");
}

bool also_delivers(const Detector& detector, Shape shape) {
  for (const CatalogueEntry& entry : catalogue_entries()) {
    if (entry.detector.name != detector.name) continue;
    return std::ranges::any_of(entry.readouts, [&](const Readout& readout) {
      return readout.shape == shape && is_near(detector.pixel1, readout.pixel1) &&
             is_near(detector.pixel2, readout.pixel2);
    });
  }
  return false;
}

Detector with_pixel_sizes(const Detector& detector, double pixel1, double pixel2) {
  const CatalogueEntry& entry = entry_of(detector);
  Detector result = detector;
  result.shape.rows = readout_for(entry, &Readout::pixel1, pixel1).shape.rows;
  result.shape.cols = readout_for(entry, &Readout::pixel2, pixel2).shape.cols;
  result.pixel1 = pixel1;
  result.pixel2 = pixel2;
  return result;
}

}  // namespace annulus
