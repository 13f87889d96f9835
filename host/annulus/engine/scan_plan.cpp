#include <annulus/core/read_file.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/file_defaults.hpp>
#include <annulus/engine/file_geometry.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/engine/plausibility.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/plan/plan_cache.hpp>
#include <annulus/plan/validity.hpp>
#include <annulus/sources/streams.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
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

// What a configuration says by itself: quick to refuse, before frames are waited for.
struct Given {
  std::string poni_text;
  std::optional<Geometry> geometry;
  PixelMaps maps;
};

Given read_given(const IntegrateConfig& config) {
  Given given;
  if (!config.poni.empty()) {
    given.poni_text = read_text_file(config.poni, ErrorKind::kGeometry);
    given.geometry = parse_poni(given.poni_text, config.poni);
  }
  given.maps = read_maps(config, open_options(config));
  return given;
}

// The PONI file wins; without one the frames' file is asked. The wavelength of a master file serves a PONI
// file that has none.
Geometry find_geometry(const Given& given, const ScanInfo& first, ScanPlan& scan, FileDefaults& defaults) {
  const SourceInfo& info = first.frames;
  if (!given.geometry) {
    const Geometry geometry = geometry_of_file(info, first.name);
    scan.poni_text = format_poni(geometry);
    defaults.geometry = geometry;
    scan.from_file.emplace_back("geometry",
                                fmt::format("{}: {}", first.name, describe_file_geometry(geometry)));
    return geometry;
  }
  scan.poni_text = given.poni_text;
  Geometry geometry = *given.geometry;
  if (!geometry.wavelength && info.wavelength && info.place) {
    geometry.wavelength = defaults.wavelength = info.wavelength;
    scan.from_file.emplace_back("wavelength", fmt::format("{}: {:g} m", first.name, *info.wavelength));
  }
  return geometry;
}

// For a PONI file that does not say which detector it is. What the user says of invalid pixels wins.
void find_marks(const IntegrationOptions& options, const ScanInfo& first, Geometry& geometry,
                ScanPlan& scan) {
  if (options.dummy) return;
  const std::string names = adopt_marks(geometry, first.frames);
  if (names.empty()) return;
  const auto dummy = effective_dummy(options, geometry.detector, first.frames.type).value();
  scan.from_file.emplace_back(
      "dummy",
      fmt::format("{}: {:.0f} to {:.0f}, the marks of {}, whose shape and pixels these are; to mask its "
                  "gaps too, name it in the PONI file",
                  first.name, std::ceil(dummy.value - dummy.delta), std::floor(dummy.value + dummy.delta),
                  names));
}

// Excludes what the frames' file excludes, too.
void add_file_mask(FrameStream& stream, const ScanInfo& first, PixelMaps& maps, ScanPlan& scan,
                   FileDefaults& defaults) {
  defaults.masked = true;
  defaults.mask = stream.pixel_mask();
  const std::optional<Mask>& mask = defaults.mask;
  if (!mask) return;
  if (mask->shape != first.frames.shape) {
    throw Error(ErrorKind::kInput, first.name,
                fmt::format("its pixel mask has {}, its frames have {}", to_string(mask->shape),
                            to_string(first.frames.shape)),
                "`no_file_mask` leaves that mask out");
  }
  const auto excluded = std::ranges::count(mask->pixels, std::uint8_t{1});
  scan.from_file.emplace_back("mask", fmt::format("{}: {} pixels", first.name, excluded));
  scan.masks.push_back(first.name);
  if (!maps.mask) {
    maps.mask = *mask;
    maps.mask_name = first.name;
    return;
  }
  if (maps.mask->shape != mask->shape) return;  // the plan refuses it by its name
  for (std::size_t i = 0; i < mask->pixels.size(); ++i) maps.mask->pixels[i] |= mask->pixels[i];
}

// A master file states how many frames its series has.
std::string note_of_missing(const ScanInfo& first, const IntegrateConfig& config) {
  const SourceInfo& info = first.frames;
  if (config.follow || info.frames >= info.promised.value_or(0)) return {};
  return fmt::format("{}: {} of {} frames are there; `follow` waits for the others", first.name, info.frames,
                     *info.promised);
}

void add_plan(const IntegrateConfig& config, const WantedColumns& wanted, Given given, FrameStream& stream,
              const std::stop_token& stop, ScanPlan& scan, FileDefaults& defaults) {
  const ScanInfo& first = stream.info(stop);
  if (!wanted.monitor.empty()) find_monitor(wanted.monitor, first.columns);
  defaults.url = first.name;
  if (std::string note = note_of_missing(first, config); !note.empty()) scan.notes.push_back(std::move(note));
  IntegrationOptions options = config.integration;
  options.solid_angle = !config.no_solid_angle;
  Geometry geometry = find_geometry(given, first, scan, defaults);
  find_marks(options, first, geometry, scan);
  const Detector& detector = geometry.detector;
  if (detector.grid.module.size() > 0 || detector.round) scan.masks.push_back("gaps of " + detector.name);
  if (given.maps.mask) scan.masks.push_back(given.maps.mask_name);
  scan.warnings = implausible(geometry, first.frames, options, given.maps);
  std::ranges::move(stream.take_remarks(), std::back_inserter(scan.warnings));
  if (!config.no_file_mask) add_file_mask(stream, first, given.maps, scan, defaults);
  const FrameProperties frames = properties_of(first);
  if (config.plan_cache.empty()) {
    scan.plan = std::make_shared<const Plan>(
        build_plan(geometry, options, given.maps, frames, config.backend_options.threads));
    return;
  }
  CachedPlan cached =
      cached_plan(config.plan_cache, geometry, options, given.maps, frames, config.backend_options.threads);
  scan.plan = std::make_shared<const Plan>(std::move(cached.plan));
  scan.plan_loaded = cached.loaded;
  if (!cached.note.empty()) scan.notes.push_back(std::move(cached.note));
}

// `defaults` are filled when the plan is made, before the first file is checked.
void open_frames(const IntegrateConfig& config, const WantedColumns& wanted,
                 const std::shared_ptr<const FileDefaults>& defaults, ScanPlan& scan) {
  FileStreamSettings settings;
  settings.open.map_payloads = true;  // backends look whether payloads are intact
  settings.columns = header_columns(wanted);
  settings.check_file = [defaults](const FrameSource& source, const std::string& url) {
    check_agreement(*defaults, source, url);
  };
  OpenedInputs opened = open_inputs(config, std::move(settings));
  scan.urls = std::move(opened.urls);
  scan.stream = std::move(opened.stream);
}

}  // namespace

OpenedInputs open_inputs(const IntegrateConfig& config, FileStreamSettings settings) {
  const bool map_payloads = settings.open.map_payloads;
  settings.open = open_options(config);
  settings.open.map_payloads = map_payloads;
  settings.threads = config.readers;
  settings.memory = config.memory << 20;
  OpenedInputs opened;
  const auto folder = config.follow ? folder_to_follow(config.inputs) : std::nullopt;
  if (!folder) {
    opened.urls = expand_inputs(config.inputs);
    opened.stream = stream_files(opened.urls, std::move(settings));
    return opened;
  }
  opened.urls = {*folder};
  settings.open.follow.reset();  // each file is complete when it counts
  FolderSettings watched;
  watched.open = settings.open;
  watched.timeout = config.follow_timeout;
  opened.stream = stream_folder(*folder, watched, std::move(settings));
  return opened;
}

ScanPlan make_scan_plan(const IntegrateConfig& config, std::stop_token stop) {
  check(config);
  ScanPlan scan;
  const auto defaults = std::make_shared<FileDefaults>();
  const WantedColumns wanted = parse_columns(config.columns, config.monitor);
  open_frames(config, wanted, defaults, scan);
  if (!wanted.columns.empty()) {
    scan.stream = std::make_unique<ColumnStream>(std::move(scan.stream), table_columns(wanted, config));
  }
  add_plan(config, wanted, read_given(config), *scan.stream, stop, scan, *defaults);
  return scan;
}

ScanPlan make_scan_plan(const IntegrateConfig& config, FrameStream& stream, std::stop_token stop) {
  IntegrateConfig named = config;
  named.inputs = {stream.info(stop).name};
  check(named);
  ScanPlan scan;
  FileDefaults defaults;
  add_plan(config, parse_columns(config.columns, config.monitor), read_given(config), stream, stop, scan,
           defaults);
  return scan;
}

}  // namespace annulus
