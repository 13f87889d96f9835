#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/geometry/readouts.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/plan/splitting.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

namespace annulus {
namespace {

// Widened by one part in 2^23, as in pyFAI, so that the outermost point falls into the last bin.
constexpr double kWiden = 1.0 + 0x1p-23;

constexpr double kDegrees = 180.0 / std::numbers::pi;

// Far above any pattern and any cake; memory and time grow with it.
constexpr std::uint32_t kMaxBins = 1u << 20;
constexpr std::uint64_t kMaxCakeBins = 1u << 24;

void check_azimuth(const IntegrationOptions& options) {
  const auto refuse = [](const char* where, std::string what, std::string cure) {
    throw Error(ErrorKind::kPlan, where, std::move(what), std::move(cure));
  };
  if (options.chi_discontinuity != 0 && options.chi_discontinuity != 180) {
    refuse("`chi_discontinuity`",
           fmt::format("azimuths cannot begin at {} degrees", options.chi_discontinuity),
           "give 180 for -180 to 180, or 0 for 0 to 360");
  }
  if (!options.azimuth_bins) {
    if (options.chi_discontinuity == 180) return;
    refuse("`chi_discontinuity`", "it means nothing to a pattern without azimuthal bins",
           "add `npt_azim`, or leave it out; `azimuth_range` crosses any angle by itself");
  }
  if (*options.azimuth_bins == 0) {
    refuse("`npt_azim`", "0 bins", "ask for at least one bin, for example `npt_azim` 360, or leave it out");
  }
  const std::uint64_t all = std::uint64_t{options.bins} * *options.azimuth_bins;
  if (all > kMaxCakeBins) {
    refuse("`npt`, `npt_azim`",
           fmt::format("{} x {} bins are {}, more than {}", options.bins, *options.azimuth_bins, all,
                       kMaxCakeBins),
           "ask for fewer");
  }
}

void check_options(const Geometry& geometry, const IntegrationOptions& options,
                   const FrameProperties& frames) {
  const auto refuse = [](const char* where, std::string what, std::string cure) {
    throw Error(ErrorKind::kPlan, where, std::move(what), std::move(cure));
  };
  if (options.bins == 0) refuse("`npt`", "0 bins", "ask for at least one bin, for example `npt` 1000");
  if (options.bins > kMaxBins) {
    refuse("`npt`", fmt::format("{} bins are more than {}", options.bins, kMaxBins), "ask for fewer");
  }
  check_azimuth(options);
  if (quantity_of(options.unit) == RadialQuantity::kQ && !geometry.wavelength) {
    throw Error(ErrorKind::kGeometry, geometry.source,
                fmt::format("no wavelength, which {} needs", name_of(options.unit)),
                "add a line 'Wavelength: <metres>' to the PONI file, or use `unit` 2th_deg");
  }
  if (options.polarization && !(std::abs(*options.polarization) <= 1)) {
    refuse("`polarization`", fmt::format("{} is not in [-1, 1]", *options.polarization),
           "a synchrotron has about 0.95 to 0.99");
  }
  if (options.radial_range) {
    const Range range = *options.radial_range;
    if (!std::isfinite(range.low) || !std::isfinite(range.high) || !(range.low < range.high)) {
      refuse("`radial_range`", fmt::format("{} to {} is no range", range.low, range.high),
             "give the lower end first");
    }
  }
  if (frames.shape.size() == 0)
    refuse(frames.name.c_str(), "it has no pixels", "give images with at least one pixel");
  if (frames.shape.size() > std::numeric_limits<std::int32_t>::max()) {
    refuse(frames.name.c_str(), fmt::format("{} pixels are too many", frames.shape.size()), "");
  }
  const Detector& detector = geometry.detector;
  if (detector.shape.size() != 0 && !(detector.shape == frames.shape) &&
      !also_delivers(detector, frames.shape)) {
    throw Error(ErrorKind::kInput, frames.name,
                fmt::format("its shape is {}, but the detector {} of the PONI file has {}",
                            to_string(frames.shape), detector.name, to_string(detector.shape)),
                "use the PONI file of this detector");
  }
}

BinAxis make_axis(Range range, std::uint32_t bins, double scale, const char* option) {
  const BinAxis axis{range.low, range.high > 0 ? range.high * kWiden : range.high / kWiden, bins};
  if (!(axis.width() > 0) || axis.low + axis.width() == axis.low) {
    throw Error(
        ErrorKind::kPlan, option,
        fmt::format("{} bins between {} and {} have no width", bins, range.low * scale, range.high * scale),
        "widen the range or ask for fewer bins");
  }
  return axis;
}

BinAxis radial_axis(const PixelPositions& positions, const IntegrationOptions& options,
                    const std::vector<std::uint8_t>& excluded, unsigned threads) {
  const double scale = scale_of(options.unit);
  const Range range = options.radial_range
                          ? Range{options.radial_range->low / scale, options.radial_range->high / scale}
                          : radial_extent(positions, options.splitting, excluded, threads);
  return make_axis(range, options.bins, scale, "`npt`");
}

BinAxis azimuth_axis(const PixelPositions& positions, const IntegrationOptions& options,
                     const std::optional<AzimuthWindow>& window, const std::vector<std::uint8_t>& excluded,
                     unsigned threads) {
  AzimuthExtent extent;
  if (window) {
    extent = {{window->low, window->high}, window->high - window->low > kTurn * (1 - 1e-12)};
  } else {
    extent = azimuth_extent(positions, options.splitting, excluded, threads);
  }
  BinAxis axis = make_axis(extent.range, *options.azimuth_bins, kDegrees, "`npt_azim`");
  axis.closed = extent.on_cut;
  return axis;
}

std::vector<Axis> axes_without_bins(const IntegrationOptions& options) {
  std::vector<Axis> axes{
      {AxisKind::kRadial, std::string(nexus_name(options.unit)), std::string(nexus_units(options.unit))}};
  if (options.azimuth_bins) axes.push_back({AxisKind::kAzimuth, "chi", "degrees"});
  return axes;
}

void write_bins(const BinAxis& bins, double scale, Axis& axis) {
  for (std::uint32_t bin = 0; bin < bins.bins; ++bin) {
    axis.centres.push_back((bins.low + (bin + 0.5) * bins.width()) * scale);
    axis.edges.push_back((bins.low + bin * bins.width()) * scale);
  }
  axis.edges.push_back(bins.high * scale);
}

std::optional<AzimuthWindow> choose_window(const IntegrationOptions& options, double cut) {
  if (!options.azimuth_range) return std::nullopt;
  return azimuth_window(*options.azimuth_range, cut);
}

// The splitter refers to the positions. Throws if the matrix would be too large.
std::unique_ptr<const Splitter> choose_splitter(Plan& plan, const PixelPositions& positions,
                                                const std::optional<AzimuthWindow>& window,
                                                const std::vector<std::uint8_t>& excluded, unsigned threads) {
  const IntegrationOptions& options = plan.options;
  std::vector<BinAxis> bins;
  for (Axis& axis : plan.axes) {
    const bool radial = axis.kind == AxisKind::kRadial;
    bins.push_back(radial ? radial_axis(positions, options, excluded, threads)
                          : azimuth_axis(positions, options, window, excluded, threads));
    write_bins(bins.back(), radial ? scale_of(options.unit) : kDegrees, axis);
  }
  auto splitter = make_splitter(positions, bins, options.splitting, window);
  check_entries(plan, *splitter, excluded, threads);
  return splitter;
}

}  // namespace

Plan begin_plan(const Geometry& geometry, const IntegrationOptions& options, const FrameProperties& frames) {
  check_options(geometry, options, frames);
  Plan plan;
  plan.geometry = geometry;
  if (geometry.detector.shape.size() != 0) plan.geometry.detector.shape = frames.shape;
  plan.options = options;
  plan.pixel_type = frames.type;
  plan.shape = frames.shape;
  plan.axes = axes_without_bins(options);
  plan.saturation = saturation_of(options, frames.max_count);
  plan.validity = make_validity(options, geometry.detector, frames);
  return plan;
}

Plan build_plan(const Geometry& geometry, const IntegrationOptions& options, const PixelMaps& maps,
                const FrameProperties& frames, unsigned threads) {
  Plan plan = begin_plan(geometry, options, frames);
  const double first_azimuth = options.chi_discontinuity == 0 ? 0.0 : kDefaultCut;
  const std::optional<AzimuthWindow> window = choose_window(options, first_azimuth);
  const PixelPositions positions =
      locate_pixels(geometry, frames.shape, options, window ? window->cut : first_azimuth, threads);
  std::vector<std::uint8_t> excluded = static_mask(plan.geometry, frames.shape, maps);
  const auto splitter = choose_splitter(plan, positions, window, excluded, threads);

  // A pixel that nothing can be divided by, or that has no dark, contributes to nothing.
  const LargeVector<double> norm = normalization_map(geometry, frames.shape, options, maps, threads);
  parallel_ranges(norm.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      if (!(norm[pixel] > 0) || !std::isfinite(norm[pixel])) excluded[pixel] = 1;
      if (maps.dark && !std::isfinite(maps.dark->pixels[pixel])) excluded[pixel] = 1;
    }
  });

  compile_matrix(plan, *splitter, excluded, threads);
  choose_correction_bits(plan, norm, maps, threads);
  Sha256 sha;
  SideTask hashing(threads, [&sha, &plan] { hash_beginning(sha, plan); });
  compile_corrections(plan, norm, maps, threads);
  hashing.finish();
  plan.hash = hash_end(sha, plan);
  return plan;
}

std::string bins_in_words(const Plan& plan) {
  std::string words;
  for (const Axis& axis : plan.axes) words += fmt::format("{}{}", words.empty() ? "" : " x ", axis.bins());
  return plan.axes.size() > 1 ? fmt::format("{} = {}", words, plan.bins()) : words;
}

std::size_t pixels_in_use(const Plan& plan) {
  std::size_t count = 0;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    count += plan.matrix.first[pixel] != plan.matrix.first[pixel + 1];
  }
  return count;
}

}  // namespace annulus
