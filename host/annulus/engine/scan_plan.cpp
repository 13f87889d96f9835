#include <annulus/core/text_file.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/engine/reduction.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/geometry/poni.hpp>
#include <annulus/plan/plan_cache.hpp>

#include <utility>

namespace annulus {
namespace {

// Maps are read once; they are small beside a scan.
PixelMaps read_maps(const IntegrateConfig& config, const OpenOptions& open) {
  PixelMaps maps;
  if (!config.mask.empty()) maps.mask = read_mask(config.mask, open);
  if (!config.dark.empty()) maps.dark = read_image(config.dark, open);
  if (!config.flat.empty()) maps.flat = read_image(config.flat, open);
  maps.mask_name = config.mask;
  maps.dark_name = config.dark;
  maps.flat_name = config.flat;
  return maps;
}

}  // namespace

ScanPlan make_scan_plan(const IntegrateConfig& config) {
  check(config);
  ScanPlan scan;
  scan.urls = expand_inputs(config.inputs);
  scan.open = open_options(config);
  scan.poni_text = read_text_file(config.poni, ErrorKind::kGeometry);
  const Geometry geometry = parse_poni(scan.poni_text, config.poni);
  IntegrationOptions options = config.integration;
  options.solid_angle = !config.no_solid_angle;
  const PixelMaps maps = read_maps(config, scan.open);
  const FrameProperties frames = probe_frames(scan.urls, scan.open);
  if (config.plan_cache.empty()) {
    scan.plan = std::make_shared<const Plan>(build_plan(geometry, options, maps, frames, config.threads));
    return scan;
  }
  CachedPlan cached = cached_plan(config.plan_cache, geometry, options, maps, frames, config.threads);
  scan.plan = std::make_shared<const Plan>(std::move(cached.plan));
  scan.plan_loaded = cached.loaded;
  scan.note = std::move(cached.note);
  return scan;
}

}  // namespace annulus
