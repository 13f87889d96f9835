// Image files for other programs: simulated frames, masks, maps.
#pragma once

#include <annulus/core/image.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// The DECTRIS lines of the header; what is not set is not written.
struct CbfMetadata {
  std::string detector;                 // "PILATUS 2M, S/N 24-0104"
  std::optional<double> pixel_size_x;   // metre, along a row
  std::optional<double> pixel_size_y;   // metre, along a column
  std::optional<double> exposure_time;  // second
  std::optional<std::int64_t> count_cutoff;
  std::optional<double> wavelength;                        // metre
  std::optional<double> distance;                          // metre
  std::optional<std::pair<double, double>> beam_xy;        // pixels
  std::vector<std::pair<std::string, std::string>> extra;  // more lines, key and value, after the others
};

// DECTRIS mini-CBF with MD5 and padding as a Pilatus writes it. Throws kOutput.
void write_cbf(const std::filesystem::path& path, Shape shape, std::span<const std::int32_t> pixels,
               const CbfMetadata& metadata = {});

// T: std::uint8_t, std::int32_t, float, double. `extra` goes into the header, after what describes the
// image; keys the format reserves throw kOutput, and so does a failed write.
template <typename T>
void write_edf(const std::filesystem::path& path, const Image<T>& image,
               const std::vector<std::pair<std::string, std::string>>& extra = {});

}  // namespace annulus
