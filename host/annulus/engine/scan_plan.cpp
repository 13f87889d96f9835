#include <annulus/core/read_file.hpp>
#include <annulus/engine/file_geometry.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/engine/reduction.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/geometry/poni.hpp>
#include <annulus/plan/plan_cache.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace annulus {
namespace {

// Maps are read once; they are small beside a scan.
PixelMaps read_maps(const IntegrateConfig& config, OpenOptions open) {
  open.follow.reset();  // they are complete
  PixelMaps maps;
  if (!config.mask.empty()) maps.mask = read_mask(config.mask, open);
  if (!config.dark.empty()) maps.dark = read_image(config.dark, open);
  if (!config.flat.empty()) maps.flat = read_image(config.flat, open);
  maps.mask_name = config.mask;
  maps.dark_name = config.dark;
  maps.flat_name = config.flat;
  return maps;
}

// The PONI file wins; without one the frames' file is asked. The wavelength of a master file serves a PONI
// file that has none.
Geometry find_geometry(const IntegrateConfig& config, const ProbedSource& first, ScanPlan& scan) {
  const SourceInfo& info = first.source->info();
  if (config.poni.empty()) {
    const Geometry geometry = geometry_of_file(info, first.url);
    scan.poni_text = format_poni(geometry);
    scan.defaults.geometry = geometry;
    scan.from_file.emplace_back("geometry",
                                fmt::format("{}: {}", first.url, describe_file_geometry(geometry)));
    return geometry;
  }
  scan.poni_text = read_text_file(config.poni, ErrorKind::kGeometry);
  Geometry geometry = parse_poni(scan.poni_text, config.poni);
  if (!geometry.wavelength && info.wavelength && info.place) {
    geometry.wavelength = scan.defaults.wavelength = info.wavelength;
    scan.from_file.emplace_back("wavelength", fmt::format("{}: {:g} m", first.url, *info.wavelength));
  }
  return geometry;
}

// Excludes what the frames' file excludes, too.
void add_file_mask(const ProbedSource& first, PixelMaps& maps, ScanPlan& scan) {
  scan.defaults.masked = true;
  scan.defaults.mask = first.source->pixel_mask();
  const std::optional<Mask>& mask = scan.defaults.mask;
  if (!mask) return;
  if (mask->shape != first.source->info().shape) {
    throw Error(ErrorKind::kInput, first.url,
                fmt::format("its pixel mask has {}, its frames have {}", to_string(mask->shape),
                            to_string(first.source->info().shape)),
                "`no_file_mask` leaves that mask out");
  }
  const auto excluded = std::ranges::count(mask->pixels, std::uint8_t{1});
  scan.from_file.emplace_back("mask", fmt::format("{}: {} pixels", first.url, excluded));
  if (!maps.mask) {
    maps.mask = *mask;
    maps.mask_name = first.url;
    return;
  }
  if (maps.mask->shape != mask->shape) return;  // the plan refuses it by its name
  for (std::size_t i = 0; i < mask->pixels.size(); ++i) maps.mask->pixels[i] |= mask->pixels[i];
}

// A master file states how many frames its series has.
std::string note_of_missing(const ProbedSource& first, const OpenOptions& open) {
  const SourceInfo& info = first.source->info();
  if (open.follow || info.frames >= info.promised.value_or(0)) return {};
  return fmt::format("{}: {} of {} frames are there; `follow` waits for the others", first.url, info.frames,
                     *info.promised);
}

}  // namespace

ScanPlan make_scan_plan(const IntegrateConfig& config, const std::atomic<bool>* stop_requested) {
  check(config);
  ScanPlan scan;
  scan.urls = expand_inputs(config.inputs);
  scan.open = open_options(config);
  // What is quick to refuse comes before what may have to be waited for.
  if (!config.poni.empty()) read_poni(config.poni);
  PixelMaps maps = read_maps(config, scan.open);
  const ProbedSource first = probe_source(scan.urls, scan.open, stop_requested);
  const FrameProperties frames = properties_of(first);
  scan.defaults.url = first.url;
  if (std::string note = note_of_missing(first, scan.open); !note.empty())
    scan.notes.push_back(std::move(note));
  const Geometry geometry = find_geometry(config, first, scan);
  IntegrationOptions options = config.integration;
  options.solid_angle = !config.no_solid_angle;
  if (!config.no_file_mask) add_file_mask(first, maps, scan);
  if (config.plan_cache.empty()) {
    scan.plan = std::make_shared<const Plan>(build_plan(geometry, options, maps, frames, config.threads));
    return scan;
  }
  CachedPlan cached = cached_plan(config.plan_cache, geometry, options, maps, frames, config.threads);
  scan.plan = std::make_shared<const Plan>(std::move(cached.plan));
  scan.plan_loaded = cached.loaded;
  if (!cached.note.empty()) scan.notes.push_back(std::move(cached.note));
  return scan;
}

}  // namespace annulus
