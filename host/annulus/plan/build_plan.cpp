#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/compile.hpp>
#include <annulus/plan/corrections.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/plan/splitting.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/format.h>

#include <cmath>
#include <future>
#include <limits>
#include <utility>
#include <vector>

namespace annulus {
namespace {

// Widened by one part in 2^23, as in pyFAI, so that the outermost point falls into the last bin.
constexpr double kWiden = 1.0 + 0x1p-23;

// Far above any pattern; memory and time grow with it.
constexpr std::uint32_t kMaxBins = 1u << 20;

void check_options(const Geometry& geometry, const IntegrationOptions& options,
                   const FrameProperties& frames) {
  const auto refuse = [](const char* where, std::string what, std::string cure) {
    throw Error(ErrorKind::kPlan, where, std::move(what), std::move(cure));
  };
  if (options.bins == 0) refuse("--npt", "0 bins", "ask for at least one bin, for example --npt 1000");
  if (options.bins > kMaxBins) {
    refuse("--npt", fmt::format("{} bins are more than {}", options.bins, kMaxBins), "ask for fewer");
  }
  if (quantity_of(options.unit) == RadialQuantity::kQ && !geometry.wavelength) {
    throw Error(ErrorKind::kGeometry, geometry.source,
                fmt::format("no wavelength, which {} needs", name_of(options.unit)),
                "add a line 'Wavelength: <metres>' to the PONI file, or use --unit 2th_deg");
  }
  if (options.polarization && !(std::abs(*options.polarization) <= 1)) {
    refuse("--polarization", fmt::format("{} is not in [-1, 1]", *options.polarization),
           "a synchrotron has about 0.95 to 0.99");
  }
  if (!std::isnormal(options.normalization_factor) || options.normalization_factor < 0) {
    refuse("--normalization-factor", fmt::format("{} cannot divide", options.normalization_factor),
           "give a positive number");
  }
  if (options.radial_range) {
    const Range range = *options.radial_range;
    if (!std::isfinite(range.low) || !std::isfinite(range.high) || !(range.low < range.high)) {
      refuse("--radial-range", fmt::format("{} to {} is empty", range.low, range.high),
             "give the lower end first");
    }
  }
  if (frames.shape.size() == 0)
    refuse(frames.name.c_str(), "it has no pixels", "give images with at least one pixel");
  if (frames.shape.size() > std::numeric_limits<std::int32_t>::max()) {
    refuse(frames.name.c_str(), fmt::format("{} pixels are too many", frames.shape.size()), "");
  }
  const Detector& detector = geometry.detector;
  if (detector.shape.size() != 0 && !(detector.shape == frames.shape)) {
    throw Error(ErrorKind::kInput, frames.name,
                fmt::format("its shape is {}, but the detector {} of the PONI file has {}",
                            to_string(frames.shape), detector.name, to_string(detector.shape)),
                "use the PONI file of this detector");
  }
}

BinAxis choose_axis(const PixelPositions& positions, const IntegrationOptions& options,
                    const std::vector<std::uint8_t>& excluded, unsigned threads) {
  const double scale = scale_of(options.unit);
  const Range range = options.radial_range
                          ? Range{options.radial_range->low / scale, options.radial_range->high / scale}
                          : radial_extent(positions, options.splitting, excluded, threads);
  const BinAxis axis{range.low, range.high > 0 ? range.high * kWiden : range.high / kWiden, options.bins};
  if (!(axis.width() > 0) || axis.low + axis.width() == axis.low) {
    throw Error(ErrorKind::kPlan, "--npt",
                fmt::format("{} bins between {} and {} have no width", options.bins, range.low * scale,
                            range.high * scale),
                "widen the range or ask for fewer bins");
  }
  return axis;
}

}  // namespace

Plan begin_plan(const Geometry& geometry, const IntegrationOptions& options, const FrameProperties& frames) {
  check_options(geometry, options, frames);
  Plan plan;
  plan.geometry = geometry;
  plan.options = options;
  plan.pixel_type = frames.type;
  plan.shape = frames.shape;
  plan.saturation = saturation_of(options, frames.max_count);
  plan.validity = make_validity(options, geometry.detector, frames);
  return plan;
}

Plan build_plan(const Geometry& geometry, const IntegrationOptions& options, const PixelMaps& maps,
                const FrameProperties& frames, unsigned threads) {
  Plan plan = begin_plan(geometry, options, frames);
  std::optional<AzimuthWindow> window;
  if (options.azimuth_range) window = azimuth_window(*options.azimuth_range);
  const PixelPositions positions =
      locate_pixels(geometry, frames.shape, options, window ? window->cut : kDefaultCut, threads);
  std::vector<std::uint8_t> excluded = static_mask(geometry, frames.shape, maps);
  const BinAxis axis = choose_axis(positions, options, excluded, threads);
  const double scale = scale_of(options.unit);
  for (std::uint32_t bin = 0; bin < axis.bins; ++bin) {
    plan.axis.push_back((axis.low + (bin + 0.5) * axis.width()) * scale);
    plan.edges.push_back((axis.low + bin * axis.width()) * scale);
  }
  plan.edges.push_back(axis.high * scale);

  // A pixel that nothing can be divided by, or that has no dark, contributes to nothing.
  const LargeVector<double> norm = normalization_map(geometry, frames.shape, options, maps, threads);
  parallel_ranges(norm.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
      if (!(norm[pixel] > 0) || !std::isfinite(norm[pixel])) excluded[pixel] = 1;
      if (maps.dark && !std::isfinite(maps.dark->pixels[pixel])) excluded[pixel] = 1;
    }
  });

  const PixelSplitter splitter(positions, axis, options.splitting, window);
  compile_matrix(plan, splitter, excluded, threads);
  choose_correction_bits(plan, norm, maps, threads);
  Sha256 sha;
  const auto policy = resolve_threads(threads) > 1 ? std::launch::async : std::launch::deferred;
  auto hashing = std::async(policy, [&sha, &plan] { hash_beginning(sha, plan); });
  compile_corrections(plan, norm, maps, threads);
  hashing.get();
  plan.hash = hash_end(sha, plan);
  return plan;
}

std::size_t pixels_in_use(const Plan& plan) {
  std::size_t count = 0;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    count += plan.matrix.first[pixel] != plan.matrix.first[pixel + 1];
  }
  return count;
}

}  // namespace annulus
