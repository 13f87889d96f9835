// How the patterns of an XRD-CT scan become a tomogram, and what became of them.
#pragma once

#include <annulus/maps/output_grid.hpp>
#include <annulus/maps/window.hpp>
#include <annulus/tomography/clean_up.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

enum class TomoMethod { kFbp, kSirt };

struct TomoOptions {
  std::filesystem::path input;
  std::filesystem::path output;

  GridOptions grid;  // rows are angles, columns are positions of the translation
  std::optional<double> angle_range = std::nullopt;  // degrees, of all lines; for a scan without columns

  // The axis of rotation, in the unit of the translation. None: it is found.
  std::optional<double> centre = std::nullopt;

  std::size_t air = 0;                           // so many outermost positions on either side saw only air
  std::optional<AirUse> air_use = std::nullopt;  // none: subtract
  bool stripes = false;                          // are suppressed
  std::optional<std::uint32_t> stripe_width = std::nullopt;  // none: as StripeOptions has them
  std::optional<double> stripe_threshold = std::nullopt;

  TomoMethod method = TomoMethod::kFbp;
  std::optional<Filter> filter = std::nullopt;  // of FBP; none: ramp
  // None: linear below kBandLimitedFrom positions, band-limited from there on, which is the faster then.
  std::optional<Interpolation> interpolation = std::nullopt;
  std::optional<FbpWay> way = std::nullopt;
  std::string device = "0";  // of the way opencl, as FbpOptions has them
  std::uint64_t device_memory = 0;
  std::size_t size = 0;  // pixels, at most kMostVoxelsPerPosition; 0: as many as there are positions
  std::optional<std::uint32_t> iterations = std::nullopt;  // of SIRT; none: as SirtOptions has them
  std::optional<double> tolerance = std::nullopt;

  std::vector<Window> windows;  // none: all bins

  unsigned threads = 0;
  std::uint64_t memory = 2048;  // MiB for sinogram and tomogram
  bool keep_sinogram = false;
  bool overwrite = false;
};

inline constexpr std::size_t kBandLimitedFrom = 400;
inline constexpr std::size_t kMostVoxelsPerPosition = 4;

struct TomoReport {
  std::uint64_t frames = 0;
  std::size_t frames_without_cell = 0;  // bad, or a motor's value is missing
  std::size_t angles = 0, positions = 0;
  std::size_t channels = 0;  // bins or windows
  std::size_t left_out = 0;  // projections with values at less than half of their positions
  std::size_t filled_cells = 0;
  std::size_t doubled_cells = 0;
  std::size_t filled_values = 0;        // of single bins
  std::size_t missing_cells = 0;        // with SIRT, which does without them
  std::size_t missing_values = 0;       // of single bins, those of missing cells too
  std::vector<std::size_t> empty_bins;  // without a value anywhere: 0 in the tomogram

  std::string unit;  // of the translation; empty: nobody says
  double step = 0;
  double unevenness = 0;  // the largest deviation from even positions, in steps
  bool resampled = false;
  double centre = 0;                                        // in the unit of the translation
  std::optional<double> centre_uncertainty = std::nullopt;  // none: it was given
  std::size_t stripes = 0;

  std::string method, way, filter, interpolation;  // the last three of FBP only
  std::size_t size = 0;
  std::optional<std::size_t> iterations = std::nullopt;  // of SIRT: the most
  std::optional<double> misfit = std::nullopt;           // of SIRT: the median

  std::vector<std::string> warnings;

  std::size_t blocks = 0;
  struct Seconds {
    double reading = 0, cleaning = 0, reconstructing = 0, writing = 0;
  };
  Seconds seconds;
};

// What was decided and found, for files: without times, and what changes no result.
nlohmann::ordered_json facts_of(const TomoReport& report);

// The options that shape the result, by key, as texts.
std::vector<std::pair<std::string, std::string>> as_text(const TomoOptions& options);

// "linear", "band-limited"; "subtract", "scale"; "fbp", "sirt"
std::string_view name_of(Interpolation interpolation);
std::string_view name_of(AirUse use);
std::string_view name_of(TomoMethod method);

// Throws kUsage for options that contradict each other.
void check_options(const TomoOptions& options);

}  // namespace annulus
