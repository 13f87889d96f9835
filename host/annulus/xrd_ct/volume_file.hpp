// A NeXus file (NXtomoproc) with a pattern in every voxel. All of it expects an Hdf5Session to be alive.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/plan/axis.hpp>
#include <annulus/scan/grid_image.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct VolumeDescription {
  std::filesystem::path input;
  std::string plan_hash;
  std::vector<std::pair<std::string, std::string>> options;
  Axis radial;
  ImageAxis y, x;
  // [angle][translation], if the sinogram is to be stored as well.
  std::optional<std::pair<ImageAxis, ImageAxis>> sinogram = std::nullopt;
};

class VolumeWriter {
 public:
  // Into a file that is new. Throws kOutput, as the others do.
  VolumeWriter(hid_t file, const VolumeDescription& description, unsigned threads);
  ~VolumeWriter();

  // Bins from `first_bin` on.
  void write_tomogram(std::size_t first_bin, const Tomogram& tomogram);
  void write_sinogram(std::size_t first_bin, const Sinogram& sinogram);

  // What was decided and found, when all of it is.
  void write_facts(const nlohmann::ordered_json& facts);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The file appears under its name complete, or not at all. One that is there is replaced only if `overwrite`
// is set and it is such a file. Throws kOutput, and what `fill` throws.
void write_volume(const std::filesystem::path& output, bool overwrite,
                  const std::function<void(hid_t file)>& fill);

}  // namespace annulus
