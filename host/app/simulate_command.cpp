#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/scan_writer.hpp>

#include <chrono>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

struct SimulateCommand {
  SimulationOptions options;
  ScanOutput output;
  std::string detector;
  std::string phantom;
  std::vector<std::string> discs;
  PhantomOptions scan;  // of the phantom
  std::string calibrant = "Au";
  std::string product = "CeO2";
  std::string format = "cbf";
  std::string pixel_type = "uint32";
  double polarization = 0.99;
  bool quiet = false;
};

Calibrant find_calibrant(const char* option, const std::string& name) {
  if (const auto found = calibrant_from_name(name)) return *found;
  throw Error(ErrorKind::kUsage, option, fmt::format("'{}' is not known", name),
              fmt::format("there are {}", known_calibrants()));
}

int simulate(SimulateCommand& command) {
  SimulationOptions& options = command.options;
  if (!command.phantom.empty()) {
    options.detector = "Pilatus100k";
    options.phantom = command.scan;
    options.phantom->name = command.phantom;
    for (const std::string& disc : command.discs) options.phantom->discs.push_back(disc_from_text(disc));
  }
  if (!command.detector.empty()) options.detector = command.detector;
  options.calibrant = find_calibrant("`calibrant`", command.calibrant);
  options.product.reset();
  if (command.product != "none") options.product = find_calibrant("`product`", command.product);
  options.polarization = command.polarization;
  const auto format = scan_format_from_name(command.format);
  if (!format) {
    throw Error(ErrorKind::kUsage, "`format`", fmt::format("'{}' is not known", command.format),
                "cbf, hdf5 or eiger");
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
  options.threads = command.output.threads;

  const auto start = std::chrono::steady_clock::now();
  const PowderScan scan(options);
  Progress progress("simulating", command.quiet);
  command.output.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, 0, total); };
  const ScanFiles files = write_scan(scan, command.output);
  progress.finish();
  if (!command.quiet) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    print("{} frames of {} ({}) in {:.1f} s\n", scan.frames(), scan.geometry().detector.name,
          to_string(scan.shape()), spent.count());
    print("frames: {}{}\n", on_one_line(files.frames.front().string()),
          files.frames.size() > 1 ? " and on" : "");
    print("geometry: {}\n", on_one_line(files.poni.string()));
    if (files.columns) print("motors and monitor: {}\n", on_one_line(files.columns->string()));
    if (files.truth) print("truth: {}\n", on_one_line(files.truth->string()));
  }
  return kSuccess;
}

}  // namespace

void add_simulate(CommandLine& program) {
  Command command =
      program.add_command("simulate", "Make a scan of powder frames with its PONI file, to try and to test");
  const auto state = std::make_shared<SimulateCommand>();
  SimulationOptions& options = state->options;
  command.add("output", &state->output.folder, "Folder to write to, made if needed", 'o').required();
  command.add("prefix", &state->output.prefix, "Start of file names");
  command.add("format", &state->format,
              "cbf (one file per frame), hdf5 (one file) or eiger (master and data files)");
  command.add("pixel_type", &state->pixel_type, "Of eiger files: uint32, uint16 or uint8");
  command.add("images_per_file", &state->output.images_per_file, "Frames of an eiger data file");
  command.add("overwrite", &state->output.overwrite, "Replace files that exist");
  command.add("detector", &state->detector,
              "See 'annulus info --detectors' (default: Pilatus2M, for a phantom Pilatus100k)");
  const Option frames = command.add("frames", &options.frames, "Number of frames", 'n');
  command.add("seed", &options.seed, "The same seed gives the same frames");
  const Option calibrant = command.add("calibrant", &state->calibrant, "Sample: " + known_calibrants());
  const Option product = command.add("product", &state->product, "What the sample turns into, or none");
  command.add("distance", &options.distance, "Metres (default: the corner is seen under 44 degrees)");
  const Option energy = command.add("energy", &options.energy_kev, "Beam energy in keV");
  command.add("wavelength", &options.wavelength, "Metres, instead of the energy").excludes(energy);
  command.add("rot1", &options.rot1, "Rotation in radian");
  command.add("rot2", &options.rot2, "Rotation in radian");
  command.add("rot3", &options.rot3, "Rotation in radian");
  command.add("beam_offset1", &options.beam_offset1, "PONI from the detector's middle, metres, slow axis");
  command.add("beam_offset2", &options.beam_offset2, "The same along the fast axis");
  const Option expansion =
      command.add("expansion", &options.expansion, "Relative growth of the lattices over the scan");
  command.add("beam_variation", &options.beam_variation, "Relative change of intensity");
  command.add("background", &options.background, "Counts per pixel at its highest");
  command.add("ring_counts", &options.ring_counts, "Counts per pixel on the brightest ring");
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
  command.set_action([state] { return simulate(*state); });
}

}  // namespace annulus::app
