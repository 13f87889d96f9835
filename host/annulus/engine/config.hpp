// Every option of an integration, in one table that the command line, the JSON configuration and the output
// file share.
#pragma once

#include <annulus/backends/registry.hpp>
#include <annulus/core/option_info.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/plan/integration_options.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/sources/frame_source.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

enum class OutputFormat { kAuto, kNexus, kXy };  // kAuto: as the name of the output says

struct IntegrateConfig {
  std::vector<std::string> inputs;
  std::string poni;
  IntegrationOptions integration;
  Recipe recipe;
  double normalization_factor = 1;
  std::vector<std::string> columns;  // NAME=SOURCE each
  std::string monitor;
  bool no_solid_angle = false;  // decides about integration.solid_angle
  std::string mask;
  std::string dark;
  std::string flat;
  bool no_file_mask = false;
  bool follow = false;
  double follow_timeout = 60;  // seconds

  std::vector<std::uint32_t> raw_shape;  // rows, columns
  std::string raw_type = "int32";
  std::uint64_t raw_offset = 0;
  bool verify_checksum = false;
  std::string allow_links;

  std::string backend = "cpu";
  BackendOptions backend_options;
  unsigned readers = 2;
  std::uint64_t memory = 512;  // MiB of frames
  std::string plan_cache;
  bool keep_going = false;
  std::string part;  // K/N; empty: the whole scan

  std::string output;
  OutputFormat format = OutputFormat::kAuto;
  bool overwrite = false;
  bool append = false;
  std::string save_matrix;
  Outliers outliers = Outliers::kNone;
};

// Calls visit(info, field) for every option of `config`, which may be const. Fields are strings, numbers,
// booleans, enumerations, vectors, and optionals of numbers and ranges.
template <OptionsOf<IntegrateConfig> Config, typename Visit>
void for_each_option(Config& config, Visit&& visit) {
  auto& integration = config.integration;
  visit(OptionInfo{"inputs", "Input", "Files, file.h5::/path, patterns, directories, @list.txt"},
        config.inputs);
  visit(OptionInfo{"poni", "Input", "PONI file: the geometry (default: what an Eiger master file states)"},
        config.poni);
  visit(OptionInfo{"mask", "Input", "Image of pixels to leave out (not 0), added to the detector's gaps"},
        config.mask);
  visit(OptionInfo{"dark", "Input", "Image to subtract"}, config.dark);
  visit(OptionInfo{"flat", "Input", "Image to divide by"}, config.flat);
  visit(OptionInfo{"no_file_mask", "Input", "Do not leave out the pixels that the frames' own file marks"},
        config.no_file_mask);
  visit(OptionInfo{"follow", "Input",
                   "Wait for frames of HDF5 files that are still being written, or for files of a folder"},
        config.follow);
  visit(OptionInfo{"follow_timeout", "Input",
                   "Seconds without a new frame that end a series before its promised length"},
        config.follow_timeout);
  visit(OptionInfo{"raw_shape", "Input", "Rows and columns of headerless files"}, config.raw_shape);
  visit(OptionInfo{"raw_type", "Input", "Pixel type of headerless files, little endian"}, config.raw_type);
  visit(OptionInfo{"raw_offset", "Input", "Bytes to skip at the start of headerless files"},
        config.raw_offset);
  visit(OptionInfo{"verify_checksum", "Input", "Check the MD5 of CBF files that have one"},
        config.verify_checksum);

  visit(OptionInfo{"allow_links", "Input",
                   "Folder below which HDF5 files may link to others (default: only below their own)"},
        config.allow_links);

  visit(OptionInfo{"npt", "Pattern", "Number of bins"}, integration.bins);
  visit(OptionInfo{"npt_azim", "Pattern",
                   "Number of azimuthal bins: makes a cake, radius x azimuth (default: a pattern)"},
        integration.azimuth_bins);
  visit(OptionInfo{"unit", "Pattern", "r_m, r_mm, 2th_deg, 2th_rad, q_nm^-1 or q_A^-1"}, integration.unit);
  visit(OptionInfo{"split", "Pattern", "How pixels are shared among bins: no, bbox or full"},
        integration.splitting);
  visit(
      OptionInfo{
          "error_model", "Pattern",
          "Errors of the pattern: no, poisson, azimuthal (from the spread of pixels in a bin) or hybrid"},
      config.recipe.error_model);
  visit(
      OptionInfo{
          "clip", "Pattern",
          "Leave out pixels that are far from the others of their bin: no, sigma, median or quantiles"},
      config.recipe.clip.method);
  visit(OptionInfo{"clip_threshold", "Pattern", "Of `clip` sigma: standard deviations"},
        config.recipe.clip.threshold);
  visit(OptionInfo{"clip_cycles", "Pattern", "Of `clip` sigma: how often, at most"},
        config.recipe.clip.cycles);
  visit(OptionInfo{"clip_quantiles", "Pattern",
                   "Of `clip` quantiles: the two quantiles to keep between, 0 to 1"},
        config.recipe.clip.quantiles);
  visit(OptionInfo{"spottiness", "Pattern", "Also how far each ring is from a smooth powder"},
        config.recipe.spottiness);
  visit(OptionInfo{"radial_range", "Pattern", "First and last radial value, in `unit`"},
        integration.radial_range);
  visit(OptionInfo{"azimuth_range", "Pattern", "Azimuths to keep, in degrees; 170 -170 goes through 180"},
        integration.azimuth_range);
  visit(OptionInfo{"chi_discontinuity", "Pattern",
                   "Where azimuths of a cake jump: 180 (they go from -180 to 180) or 0 (0 to 360)"},
        integration.chi_discontinuity);

  visit(OptionInfo{"polarization", "Corrections", "Polarization factor, -1 to 1"}, integration.polarization);
  visit(OptionInfo{"no_solid_angle", "Corrections", "Do not correct for the solid angle"},
        config.no_solid_angle);
  visit(OptionInfo{"normalization_factor", "Corrections", "Divides the result, beside `monitor`"},
        config.normalization_factor);
  visit(OptionInfo{"column", "Columns",
                   "A value per frame, as NAME=FILE.csv#COLUMN, NAME=FILE.h5::/PATH or NAME=header:KEY"},
        config.columns);
  visit(OptionInfo{"monitor", "Columns",
                   "What divides each frame: the name of a `column`, or its source, with or without NAME="},
        config.monitor);
  visit(OptionInfo{"dummy", "Corrections", "Value of invalid pixels (default: the detector's habit)"},
        integration.dummy);
  visit(OptionInfo{"delta_dummy", "Corrections", "Pixels this close to the dummy are invalid too"},
        integration.delta_dummy);
  visit(OptionInfo{"max_count", "Corrections",
                   "Counts above are saturated, so invalid (default: from the file, or the type's maximum)"},
        integration.max_count);

  visit(OptionInfo{"output", "Output", "File to write (default: named after the first input)"},
        config.output);
  visit(OptionInfo{"format", "Output", "nexus or xy; auto: as the extension of `output` says"},
        config.format);
  visit(OptionInfo{"overwrite", "Output", "Replace the output if it exists"}, config.overwrite);
  visit(OptionInfo{"append", "Output", "Add to the output if it exists"}, config.append);
  visit(OptionInfo{"outliers", "Output",
                   "What to store of the pixels that `clip` leaves out: no, counts (an image of how often) "
                   "or lists (of "
                   "each frame, too)"},
        config.outliers);
  visit(OptionInfo{"save_matrix", "Output", "HDF5 file for the plan's matrix, as SciPy's CSR"},
        config.save_matrix);

  visit(OptionInfo{"backend", "Run", "What reduces frames: see `describe_backends()`"}, config.backend);
  for_each_option(config.backend_options, visit);
  visit(OptionInfo{"readers", "Run", "Threads that read files ahead"}, config.readers);
  visit(OptionInfo{"memory", "Run", "MiB for frames that wait or are in work, and for an unpacked archive"},
        config.memory);
  visit(OptionInfo{"plan_cache", "Run", "Folder that keeps plans for the next run"}, config.plan_cache);
  visit(OptionInfo{"keep_going", "Run", "Record bad frames as NaN with their reason, and go on"},
        config.keep_going);
  visit(OptionInfo{"part", "Run",
                   "Reduce only the K-th of N parts of the scan, given as K/N: for the jobs of an array"},
        config.part);
}

nlohmann::ordered_json to_json(const IntegrateConfig& config);

// Sets what the JSON object names and leaves the rest. Throws kUsage for unknown keys and wrong types; `name`
// stands for the text in messages.
void apply_json(const std::string& text, const std::string& name, IntegrateConfig& config);

// Keys and values as text, for the output file.
std::vector<std::pair<std::string, std::string>> as_text(const IntegrateConfig& config);

// kNexus or kXy: what `format` and the name of the output say together. Throws kUsage where they contradict
// each other, and where an extension is not known and `format` says nothing.
OutputFormat output_format(const IntegrateConfig& config);

// Whether the name is that of a text file, so of one pattern.
bool is_text_name(const std::string& output);

// Whether it is the name of a NeXus file, or says nothing of the format.
bool is_nexus_name(const std::string& output);

OpenOptions open_options(const IntegrateConfig& config);

// Checks options against each other. Throws kUsage.
void check(const IntegrateConfig& config);

}  // namespace annulus
