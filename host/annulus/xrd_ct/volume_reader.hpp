// Reading a tomogram of all bins back: what it is, an image of a part of its bins, the pattern of a voxel.
#pragma once

#include <annulus/plan/axis.hpp>
#include <annulus/plan/integration_options.hpp>
#include <annulus/scan/grid_image.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// An open file. All of it throws kInput.
class VolumeFile {
 public:
  explicit VolumeFile(const std::filesystem::path& path);
  ~VolumeFile();

  const std::filesystem::path& path() const { return path_; }
  const ImageAxis& y() const { return y_; }
  const ImageAxis& x() const { return x_; }
  const Axis& radial() const { return radial_; }

  // The mean of each voxel over all bins, or over those whose centres lie in the range, ends included. Read
  // in pieces: beside the image, memory does not grow with the file. Values that are no numbers are left out.
  // Throws kUsage for `radial_range` without bins.
  GridImage mean_image(const std::optional<Range>& radial_range) const;

  // data[y, x]. Throws kUsage for `voxel` where there is none.
  std::vector<double> pattern(std::size_t y, std::size_t x) const;

  // What it says about itself.
  nlohmann::json describe() const;

 private:
  class Content;

  BinRange bins_in(const std::optional<Range>& radial_range) const;

  std::filesystem::path path_;
  ImageAxis y_, x_;
  Axis radial_;
  std::unique_ptr<Content> content_;
};

// What a probe does (outputs/reader.hpp): reads everything but the values, and nothing of another file.
void touch_volume(const std::filesystem::path& path);

}  // namespace annulus
