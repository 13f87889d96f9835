#include <annulus/outputs/image_file.hpp>
#include <annulus/version.hpp>

#include <fmt/core.h>
#include <tools/simulate/hdf5_output.hpp>
#include <tools/simulate/phantom_file.hpp>
#include <tools/simulate/phantom_pattern.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace annulus {
namespace {

constexpr double kDegree = portable::kPi / 180;
constexpr double kStepsPerWidth = 40;  // of a ring, on the axis of the pure patterns: to be interpolated
constexpr double kMostSteps = 20000;

std::vector<std::string> names_of_phases(const Phantom& phantom) {
  std::vector<std::string> names;
  for (const Calibrant phase : phantom.phases()) names.emplace_back(name_of(phase));
  return names;
}

// Of the phases in a voxel that with the highest density; -1 where there is none.
std::vector<double> dominant_phase(const std::vector<double>& density, std::size_t phases) {
  const std::size_t plane = density.size() / phases;
  std::vector<double> dominant(plane, -1);
  for (std::size_t voxel = 0; voxel < plane; ++voxel) {
    double most = 0;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      if (density[phase * plane + voxel] <= most) continue;
      most = density[phase * plane + voxel];
      dominant[voxel] = static_cast<double>(phase);
    }
  }
  return dominant;
}

// The densities once more, an image per phase, as 'annulus plot' draws them. Without a date: the same scan
// gives the same bytes.
void add_density_images(hid_t entry, const PowderScan& scan, const std::vector<double>& density,
                        const std::vector<double>& centres) {
  ImageFileInfo info;
  info.version = kVersion;
  info.kind = "phantom";
  info.facts = {{"phantom", scan.phantom()->options().name},
                {"seed", static_cast<double>(scan.options().seed)}};
  std::vector<GridImage> images;
  auto plane = density.begin();
  for (const std::string& phase : names_of_phases(scan.phantom()->phantom())) {
    const auto end = plane + static_cast<std::ptrdiff_t>(centres.size() * centres.size());
    images.push_back({phase + "_density",
                      phase + ": density",
                      "share of the volume",
                      {"y", "mm", centres},
                      {"x", "mm", centres},
                      {plane, end}});
    plane = end;
  }
  add_images(entry, info, images);
}

void describe_maps(hid_t entry, const PowderScan& scan, const Describer& describe) {
  const PhantomPattern& sample = *scan.phantom();
  const Phantom& phantom = sample.phantom();
  const std::uint32_t voxels = sample.options().voxels;
  const double size = sample.options().voxel_size;
  const Phantom::Maps maps = phantom.maps(voxels, size, scan.options().threads);
  std::vector<double> centres;
  for (std::uint32_t i = 0; i < voxels; ++i) centres.push_back((i - 0.5 * (voxels - 1)) * size);
  const std::vector<hsize_t> extent = {phantom.phases().size(), voxels, voxels};

  const Hdf5Handle group = describe.group(entry, "phantom", "NXdata");
  describe.attribute(group.get(), "signal", "density");
  describe.attribute(group.get(), "auxiliary_signals", std::vector<std::string>{"fraction"});
  describe.attribute(group.get(), "axes", std::vector<std::string>{"phase_index", "y", "x"});
  describe.text(group.get(), "title", "density of each phase: share of the volume that it fills");
  describe.texts(group.get(), "phase", names_of_phases(phantom));
  std::vector<double> indices;
  for (std::size_t i = 0; i < phantom.phases().size(); ++i) indices.push_back(static_cast<double>(i));
  describe.numbers(group.get(), "phase_index", indices, nullptr);
  describe.numbers(group.get(), "x", centres, "mm");
  describe.numbers(group.get(), "y", centres, "mm");
  describe.numbers(group.get(), "density", maps.density, nullptr, extent);
  describe.numbers(group.get(), "fraction", maps.fraction, nullptr, extent);
  describe.numbers(group.get(), "dominant", dominant_phase(maps.density, phantom.phases().size()), nullptr,
                   {voxels, voxels});
  add_density_images(entry, scan, maps.density, centres);
}

void describe_patterns(hid_t entry, const PowderScan& scan, const Describer& describe) {
  const PhantomPattern& sample = *scan.phantom();
  const Phantom& phantom = sample.phantom();
  const PatternSettings& pattern = sample.pattern();
  const double low = 2 * std::asin(pattern.x_low) / kDegree;
  const double high = 2 * std::asin(std::min(pattern.x_high, 1.0)) / kDegree;
  const double wanted = (high - low) / (pattern.ring_width / kDegree) * kStepsPerWidth;
  const auto steps = static_cast<std::size_t>(std::clamp(std::ceil(wanted), 1.0, kMostSteps));
  std::vector<double> angles, background, intensity;
  for (std::size_t i = 0; i <= steps; ++i)
    angles.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(steps));
  const auto sine = [](double two_theta) { return std::sin(two_theta * kDegree / 2); };
  for (const double angle : angles) background.push_back(sample.background(sine(angle)));
  for (std::size_t phase = 0; phase < phantom.phases().size(); ++phase) {
    for (const double angle : angles) intensity.push_back(sample.pure(phase, sine(angle)));
  }
  const Hdf5Handle group = describe.group(entry, "patterns", "NXdata");
  describe.attribute(group.get(), "signal", "intensity");
  describe.attribute(group.get(), "axes", std::vector<std::string>{".", "two_theta"});
  describe.text(group.get(), "title",
                "counts per pixel of one millimetre of each solid phase, at a monitor of 1");
  describe.texts(group.get(), "phase", names_of_phases(phantom));
  describe.numbers(group.get(), "two_theta", angles, "deg");
  describe.numbers(group.get(), "intensity", intensity, "mm^-1", {phantom.phases().size(), angles.size()});
  describe.numbers(group.get(), "background", background, nullptr);
}

void describe_paths(hid_t entry, const PhantomPattern& sample, const Describer& describe) {
  std::vector<double> path, transmission;
  for (std::uint64_t frame = 0; frame < sample.points().size(); ++frame) {
    const Phantom::Paths paths = sample.paths(frame);
    path.insert(path.end(), paths.scattering.begin(), paths.scattering.end());
    transmission.push_back(paths.transmission);
  }
  const Hdf5Handle group = describe.group(entry, "paths", "NXcollection");
  describe.texts(group.get(), "phase", names_of_phases(sample.phantom()));
  describe.numbers(group.get(), "path", path, "mm", {transmission.size(), sample.phantom().phases().size()});
  describe.numbers(group.get(), "transmission", transmission, nullptr);
  if (!sample.attenuation().empty())
    describe.numbers(group.get(), "attenuation", sample.attenuation(), "mm^-1");
}

void describe_discs(hid_t entry, const PhantomPattern& sample, const Describer& describe) {
  std::vector<std::string> phase;
  std::vector<double> x, y, radius, density;
  for (const Disc& disc : sample.phantom().discs()) {
    phase.emplace_back(disc.phase ? name_of(*disc.phase) : "hole");
    x.push_back(disc.x);
    y.push_back(disc.y);
    radius.push_back(disc.radius);
    density.push_back(disc.density);
  }
  const Hdf5Handle group = describe.group(entry, "discs", "NXcollection");
  describe.texts(group.get(), "phase", phase);
  describe.numbers(group.get(), "x", x, "mm");
  describe.numbers(group.get(), "y", y, "mm");
  describe.numbers(group.get(), "radius", radius, "mm");
  describe.numbers(group.get(), "density", density, nullptr);
  describe.number(group.get(), "axis_offset", sample.options().axis_offset, "mm");
}

}  // namespace

void write_phantom_file(const std::filesystem::path& path, const PowderScan& scan) {
  const PhantomPattern& sample = *scan.phantom();
  const Hdf5Session session;
  PartialFile file(path);
  const Describer describe(file.path());
  {
    describe.attribute(file.get(), "NX_class", "NXroot");
    describe.attribute(file.get(), "default", "entry");
    const Hdf5Handle entry = describe.group(file.get(), "entry", "NXentry");
    describe.attribute(entry.get(), "default", "phantom");
    describe.text(entry.get(), "title",
                  fmt::format("phantom {}, seed {}", sample.options().name, scan.options().seed));
    describe_maps(entry.get(), scan, describe);
    describe_patterns(entry.get(), scan, describe);
    describe_paths(entry.get(), sample, describe);
    describe_discs(entry.get(), sample, describe);
  }
  file.close();
}

}  // namespace annulus
