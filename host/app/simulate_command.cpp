#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/fxs_scan.hpp>
#include <tools/simulate/polar_shots.hpp>
#include <tools/simulate/powder.hpp>
#include <tools/simulate/scan_writer.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

struct SimulateCommand {
  SimulationOptions options;
  ScanOutput output;
  // Those whose defaults depend on the sample.
  std::string detector;
  std::optional<double> energy_kev, beam_offset1, beam_offset2, beam_variation;
  std::string phantom;
  std::vector<std::string> discs;
  PhantomOptions scan;  // of the phantom
  bool fxs = false;
  FxsOptions shots;  // of the particles, but for their beamline
  std::vector<std::string> gaussians;
  std::optional<Range> radial_range;
  std::string calibrant = "Au";
  std::string product = "CeO2";
  std::string format = "cbf";
  std::string pixel_type = "uint32";
  double polarization = 0.99;
  bool quiet = false;
};

constexpr const char* kPolar = "polar";

Calibrant find_calibrant(const char* option, const std::string& name) {
  if (const auto found = calibrant_from_name(name)) return *found;
  throw Error(ErrorKind::kUsage, option, fmt::format("'{}' is not known", name),
              fmt::format("there are {}", known_calibrants()));
}

// What the user named of the options that have other defaults for other samples.
void apply_named(const SimulateCommand& command, BeamlineOptions& options) {
  if (!command.detector.empty()) options.detector = command.detector;
  if (command.energy_kev) options.energy_kev = *command.energy_kev;
  if (command.beam_offset1) options.beam_offset1 = *command.beam_offset1;
  if (command.beam_offset2) options.beam_offset2 = *command.beam_offset2;
}

SimulationOptions powder_options(const SimulateCommand& command) {
  SimulationOptions options = command.options;
  if (!command.phantom.empty()) {
    options.detector = "Pilatus100k";
    options.phantom = command.scan;
    options.phantom->name = command.phantom;
    for (const std::string& disc : command.discs) options.phantom->discs.push_back(disc_from_text(disc));
  }
  apply_named(command, options);
  if (command.beam_variation) options.beam_variation = *command.beam_variation;
  options.calibrant = find_calibrant("`calibrant`", command.calibrant);
  options.product.reset();
  if (command.product != "none") options.product = find_calibrant("`product`", command.product);
  return options;
}

FxsOptions fxs_options(const SimulateCommand& command) {
  FxsOptions options = command.shots;
  const FxsOptions defaults;
  static_cast<BeamlineOptions&>(options) = static_cast<const BeamlineOptions&>(command.options);
  options.detector = defaults.detector;
  options.energy_kev = defaults.energy_kev;
  options.beam_offset1 = defaults.beam_offset1;
  options.beam_offset2 = defaults.beam_offset2;
  apply_named(command, options);
  if (command.beam_variation) options.beam_variation = *command.beam_variation;
  for (const std::string& text : command.gaussians) options.gaussians.push_back(gaussian_from_text(text));
  if (command.radial_range) options.q_range = {command.radial_range->low, command.radial_range->high};
  return options;
}

void set_format(SimulateCommand& command) {
  const auto format = scan_format_from_name(command.format);
  if (!format) {
    throw Error(ErrorKind::kUsage, "`format`", fmt::format("'{}' is not known", command.format),
                "cbf, hdf5 or eiger, and with `fxs` polar");
  }
  command.output.format = *format;
  const auto type = pixel_type_from_name(command.pixel_type);
  if (!type) {
    throw Error(ErrorKind::kUsage, "`pixel_type`", fmt::format("'{}' is not known", command.pixel_type),
                "uint8, uint16 or uint32");
  }
  const ScanOutput unset;
  if (*format != ScanFormat::kEiger &&
      (*type != unset.eiger_type || command.output.images_per_file != unset.images_per_file)) {
    throw Error(ErrorKind::kUsage, "`pixel_type`, `images_per_file`", "they go with `format` eiger",
                "leave them out");
  }
  command.output.eiger_type = *type;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int write_frames(SimulateCommand& command, const SimulatedScan& scan, Clock::time_point start) {
  Progress progress("simulating", command.quiet);
  command.output.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, 0, total); };
  const ScanFiles files = write_scan(scan, command.output);
  progress.finish();
  if (command.quiet) return kSuccess;
  print("{} frames of {} ({}) in {:.1f} s\n", scan.frames(), scan.geometry().detector.name,
        to_string(scan.shape()), seconds_since(start));
  print("frames: {}{}\n", on_one_line(files.frames.front().string()),
        files.frames.size() > 1 ? " and on" : "");
  print("geometry: {}\n", on_one_line(files.poni.string()));
  if (files.columns) print("motors and monitor: {}\n", on_one_line(files.columns->string()));
  if (files.truth) print("truth: {}\n", on_one_line(files.truth->string()));
  return kSuccess;
}

int write_polar_images(const SimulateCommand& command) {
  const Clock::time_point start = Clock::now();
  const PolarShots shots(fxs_options(command));
  Progress progress("simulating", command.quiet);
  const PolarFiles files = write_polar(
      shots, {command.output.folder, command.output.prefix, command.output.overwrite, command.output.threads,
              [&](std::uint64_t done, std::uint64_t total) { progress.update(done, 0, total); }});
  progress.finish();
  if (command.quiet) return kSuccess;
  print("{} polar images of {} x {} in {:.1f} s\n", shots.images(), shots.sample().rings().size(),
        shots.sample().options().angles, seconds_since(start));
  print("images: {}\n", on_one_line(files.images.string()));
  print("truth: {}\n", on_one_line(files.truth.string()));
  return kSuccess;
}

// Polar images are of no detector.
void refuse_detector_options(const SimulateCommand& command) {
  const SimulateCommand unset;
  const BeamlineOptions& options = command.options;
  const BeamlineOptions& untouched = unset.options;
  const auto refuse = [](const char* option, bool given) {
    if (!given) return;
    throw Error(ErrorKind::kUsage, option, "polar images are of no detector", "leave it out");
  };
  refuse("`detector`", !command.detector.empty());
  refuse("`distance`", options.distance.has_value());
  refuse("`rot1`, `rot2`, `rot3`", options.rot1 != 0 || options.rot2 != 0 || options.rot3 != 0);
  refuse("`beam_offset1`, `beam_offset2`", command.beam_offset1 || command.beam_offset2);
  refuse("`polarization`", command.polarization != unset.polarization);
  refuse("`defects`", options.defects != untouched.defects);
  refuse("`count_cutoff`", options.count_cutoff != untouched.count_cutoff);
  refuse("`pixel_type`, `images_per_file`",
         command.pixel_type != unset.pixel_type ||
             command.output.images_per_file != unset.output.images_per_file);
}

int simulate(SimulateCommand& command) {
  command.options.polarization = command.polarization;
  command.options.threads = command.output.threads;
  if (command.fxs && command.format == kPolar) {
    refuse_detector_options(command);
    return write_polar_images(command);
  }
  set_format(command);
  const Clock::time_point start = Clock::now();
  if (command.fxs) return write_frames(command, FxsScan(fxs_options(command)), start);
  return write_frames(command, PowderScan(powder_options(command)), start);
}

}  // namespace

void add_simulate(CommandLine& program) {
  Command command = program.add_command(
      "simulate", "Make a scan of powder frames or snapshots with its PONI file, to try and to test");
  const auto state = std::make_shared<SimulateCommand>();
  SimulationOptions& options = state->options;
  command.add("output", &state->output.folder, "Folder to write to, made if needed", 'o').required();
  command.add("prefix", &state->output.prefix, "Start of file names");
  command.add(
      "format", &state->format,
      "cbf (one file per frame), hdf5 (one file), eiger (master and data files), or, with fxs, polar (one "
      "NumPy file of images of rings by angles)");
  command.add("pixel_type", &state->pixel_type, "Of eiger files: uint32, uint16 or uint8");
  command.add("images_per_file", &state->output.images_per_file, "Frames of an eiger data file");
  command.add("overwrite", &state->output.overwrite, "Replace files that exist");
  command.add(
      "detector", &state->detector,
      "See 'annulus info --detectors' (default: Pilatus2M, for a phantom Pilatus100k, with fxs Eiger1M)");
  const Option frames = command.add("frames", &options.frames, "Number of frames", 'n');
  command.add("seed", &options.seed, "The same seed gives the same frames");
  const Option calibrant = command.add("calibrant", &state->calibrant, "Sample: " + known_calibrants());
  const Option product = command.add("product", &state->product, "What the sample turns into, or none");
  command.add("distance", &options.distance,
              "Metres (default: the corner is seen under 44 degrees, with fxs under 5)");
  const Option energy =
      command.add("energy", &state->energy_kev, "Beam energy in keV (default: 18, with fxs 9)");
  command.add("wavelength", &options.wavelength, "Metres, instead of the energy").excludes(energy);
  command.add("rot1", &options.rot1, "Rotation in radian");
  command.add("rot2", &options.rot2, "Rotation in radian");
  command.add("rot3", &options.rot3, "Rotation in radian");
  command.add("beam_offset1", &state->beam_offset1,
              "PONI from the detector's middle, metres, slow axis (default: 0.0117, with fxs 0)");
  command.add("beam_offset2", &state->beam_offset2,
              "The same along the fast axis (default: -0.0064, with fxs 0)");
  const Option expansion =
      command.add("expansion", &options.expansion, "Relative growth of the lattices over the scan");
  command.add("beam_variation", &state->beam_variation,
              "Relative change of intensity (default: 0.03, with fxs 0)");
  const Option background = command.add("background", &options.background, "Counts per pixel at its highest");
  const Option ring_counts =
      command.add("ring_counts", &options.ring_counts, "Counts per pixel on the brightest ring");
  const Option ring_width =
      command.add("ring_width", &options.ring_width, "Degrees of 2theta (default: three pixels)");
  command.add("polarization", &state->polarization, "Factor, -1 to 1");
  command.add("defects", &options.defects, "Dead pixels");
  command.add("count_cutoff", &options.count_cutoff, "Counts at which a pixel overloads");
  command.add("threads", &state->output.threads, "0: one per core");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  const std::string heading = "A phantom, scanned and turned";
  const Option phantom =
      command
          .add("phantom", &state->phantom,
               "Sample of discs, scanned by a pencil beam and turned (XRD-CT): " + known_phantoms())
          .group(heading)
          .excludes(frames)
          .excludes(calibrant)
          .excludes(product)
          .excludes(expansion);
  const auto add = [&](const std::string& key, Field field, const std::string& help) {
    command.add(key, field, help).group(heading).needs(phantom);
  };
  PhantomOptions& scan = state->scan;
  add("disc", &state->discs, "More discs: PHASE,X,Y,RADIUS[,DENSITY], in halves of the field of view");
  add("voxels", &scan.voxels, "Of the field of view, along each side");
  add("voxel_size", &scan.voxel_size, "Millimetres");
  add("positions", &scan.positions, "Of the beam at each angle (default: as many as voxels)");
  add("step", &scan.step, "Millimetres from position to position (default: a voxel)");
  add("angles", &scan.angles, "Number of angles");
  add("angle_range", &scan.angle_range, "Degrees that the angles cover");
  add("zigzag", &scan.zigzag, "Every second line runs backwards");
  add("jitter", &scan.jitter, "Positions are off by up to this part of a step");
  add("missing", &scan.missing, "Share of the points that were not measured");
  add("axis_offset", &scan.axis_offset, "Translation at which the beam meets the axis, in millimetres");
  add("absorption", &scan.absorption, "The incoming beam is absorbed");

  const std::string shots_heading = "Snapshots of particles, for fluctuation scattering";
  const Option fxs =
      command.add("fxs", &state->fxs, "Identical particles, each turned at random in every shot")
          .group(shots_heading)
          .excludes(phantom)
          .excludes(calibrant)
          .excludes(product)
          .excludes(expansion)
          .excludes(background)
          .excludes(ring_counts)
          .excludes(ring_width);
  const auto add_to_shots = [&](const std::string& key, Field field, const std::string& help) {
    command.add(key, field, help).group(shots_heading).needs(fxs);
  };
  FxsOptions& shots = state->shots;
  add_to_shots("particle", &shots.particle, known_particles());
  add_to_shots("gaussian", &state->gaussians, "More Gaussians of it: X,Y,Z,WIDTH[,WEIGHT], in nanometres");
  add_to_shots("particles", &shots.particles, "In each shot");
  add_to_shots("photons", &shots.photons, "Of a shot, on all pixels together, on average");
  add_to_shots("noiseless", &shots.noiseless, "Counts are what is expected, without photon noise");
  add_to_shots("blank", &shots.blank, "Share of the shots that meet no beam");
  add_to_shots("npt", &shots.rings, "Rings of the expected correlation, and of polar images");
  add_to_shots("npt_azim", &shots.angles, "Their angles");
  add_to_shots("radial_range", &state->radial_range,
               "First and last q of the rings, in 1/nm (default: whole rings of the detector; of polar "
               "images 0 to 3)");
  command.set_action([state] { return simulate(*state); });
}

}  // namespace annulus::app
