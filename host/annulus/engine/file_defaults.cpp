#include <annulus/core/error.hpp>
#include <annulus/engine/file_defaults.hpp>
#include <annulus/engine/file_geometry.hpp>

#include <fmt/core.h>

namespace annulus {
namespace {

[[noreturn]] void refuse(const FileDefaults& defaults, const std::string& url, const char* what,
                         const char* instead) {
  throw Error(ErrorKind::kInput, url,
              fmt::format("its {} is not that of {}, with which the scan began", what, defaults.url),
              fmt::format("reduce it in a run of its own, or {}", instead));
}

}  // namespace

void check_agreement(const FileDefaults& defaults, const FrameSource& source, const std::string& url) {
  if (url == defaults.url) return;
  const SourceInfo& info = source.info();
  if (defaults.geometry) {
    Geometry geometry = geometry_of_file(info, url);
    geometry.source = defaults.geometry->source;
    if (geometry != *defaults.geometry) refuse(defaults, url, "geometry", "give a PONI file for all");
  }
  if (defaults.wavelength && info.wavelength && info.wavelength != defaults.wavelength)
    refuse(defaults, url, "wavelength", "add one to the PONI file");
  if (!defaults.masked) return;
  const std::optional<Mask> mask = source.pixel_mask();
  if (!mask) return;
  if (!defaults.mask || mask->shape != defaults.mask->shape || mask->pixels != defaults.mask->pixels)
    refuse(defaults, url, "pixel mask", "give one for all with `mask` and `no_file_mask`");
}

}  // namespace annulus
