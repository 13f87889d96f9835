#include <annulus/sources/hdf5_find.hpp>
#include <annulus/sources/hdf5_instrument.hpp>
#include <annulus/sources/header_text.hpp>

#include <array>
#include <numbers>
#include <string_view>
#include <utility>

namespace annulus {
namespace {

constexpr const char* kDetector = "/detector";
constexpr const char* kSpecific = "/detector/detectorSpecific";

// The entry's instrument; none if the path has no entry.
std::optional<std::string> instrument_of(const std::string& dataset) {
  const auto end = dataset.find('/', 1);
  if (!dataset.starts_with('/') || end == std::string::npos) return std::nullopt;
  return dataset.substr(0, end) + "/instrument";
}

// `unit_if_none` where the file does not say; none for a unit that is no length.
std::optional<double> metres_per(std::string_view units, double unit_if_none) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"A", kAngstrom},
                                                            {"angstrom", kAngstrom},
                                                            {"angstroms", kAngstrom},
                                                            {"\xc3\x85", kAngstrom},
                                                            {"pm", 1e-12},
                                                            {"nm", 1e-9},
                                                            {"um", 1e-6},
                                                            {"\xc2\xb5m", 1e-6},
                                                            {"mm", 1e-3},
                                                            {"cm", 1e-2},
                                                            {"m", 1},
                                                            {"metre", 1},
                                                            {"metres", 1},
                                                            {"meter", 1},
                                                            {"meters", 1}};
  if (units.empty()) return unit_if_none;
  for (const auto& [name, metres] : kUnits) {
    if (equal_ignoring_case(units, name)) return metres;
  }
  return std::nullopt;
}

std::optional<double> positive_length(hid_t file, const std::string& path, double unit_if_none) {
  const auto number = read_number(file, path);
  if (!number || !(number->value > 0)) return std::nullopt;
  const auto metres = metres_per(number->units, unit_if_none);
  if (!metres) return std::nullopt;
  return number->value * *metres;
}

// In pixels; a length is taken for one.
std::optional<double> beam_centre(hid_t file, const std::string& path, std::optional<double> pixel) {
  const auto number = read_number(file, path);
  if (!number) return std::nullopt;
  if (number->units.empty() || number->units.starts_with("pixel")) return number->value;
  const auto metres = metres_per(number->units, 1);
  if (!metres || !pixel) return std::nullopt;
  return number->value * *metres / *pixel;
}

std::optional<double> count(hid_t file, const std::string& path) {
  const auto number = read_number(file, path);
  if (!number || !(number->value >= 1) || !(number->value < 0x1p53)) return std::nullopt;
  return number->value;
}

void read_place(hid_t file, const std::string& instrument, SourceInfo& info) {
  const std::string detector = instrument + kDetector;
  DetectorPlace place;
  place.detector = read_label(file, detector + "/description");
  place.pixel_x = positive_length(file, detector + "/x_pixel_size", 1);
  place.pixel_y = positive_length(file, detector + "/y_pixel_size", 1);
  place.distance = positive_length(file, detector + "/detector_distance", 1);
  if (!place.distance) place.distance = positive_length(file, detector + "/distance", 1);
  place.beam_x = beam_centre(file, detector + "/beam_center_x", place.pixel_x);
  place.beam_y = beam_centre(file, detector + "/beam_center_y", place.pixel_y);
  // DECTRIS writes one angle a frame: an arm that moves at all is not at rest.
  if (const auto arm = read_largest_number(file, detector + "/goniometer/two_theta")) {
    const bool in_radian = arm->units.starts_with("rad");
    place.two_theta = in_radian ? arm->value * 180 / std::numbers::pi : arm->value;
  }
  if (place.pixel_x || place.distance || place.beam_x) info.place = std::move(place);
}

}  // namespace

void read_instrument(hid_t file, const std::string& dataset, SourceInfo& info) {
  const auto instrument = instrument_of(dataset);
  if (!instrument) return;
  for (const std::string& path : {*instrument + kSpecific + "/countrate_correction_count_cutoff",
                                  *instrument + kDetector + "/saturation_value"}) {
    if (info.max_count) break;
    if (const auto limit = count(file, path)) info.max_count = static_cast<std::int64_t>(*limit);
  }
  // Wavelengths in NeXus files are in Angstrom where nothing else is said.
  for (const char* name : {"/beam/incident_wavelength", "/monochromator/wavelength"}) {
    if (!info.wavelength) info.wavelength = positive_length(file, *instrument + name, kAngstrom);
  }
  read_place(file, *instrument, info);
  if (const auto images = count(file, *instrument + kSpecific + "/nimages")) {
    const double triggers = count(file, *instrument + kSpecific + "/ntrigger").value_or(1);
    if (*images * triggers < 0x1p53) info.promised = static_cast<std::uint64_t>(*images * triggers);
  }
}

std::optional<DatasetPlace> find_pixel_mask(hid_t file, const std::string& file_path, const Fence& fence,
                                            const std::string& dataset) {
  const auto instrument = instrument_of(dataset);
  if (!instrument) return std::nullopt;
  for (const char* group : {kSpecific, kDetector}) {
    const std::string path = *instrument + group + "/pixel_mask";
    const bool present = H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0;
    H5Eclear2(H5E_DEFAULT);
    if (present) return locate_dataset(file, file_path, path, fence);
  }
  return std::nullopt;
}

}  // namespace annulus
