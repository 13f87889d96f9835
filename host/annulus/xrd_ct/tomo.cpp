#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/maps/cell_reader.hpp>
#include <annulus/tomography/rotation_axis.hpp>
#include <annulus/xrd_ct/clean_bins.hpp>
#include <annulus/xrd_ct/measured_scan.hpp>
#include <annulus/xrd_ct/reconstructor.hpp>
#include <annulus/xrd_ct/resampling.hpp>
#include <annulus/xrd_ct/scan_width.hpp>
#include <annulus/xrd_ct/tomo.hpp>
#include <annulus/xrd_ct/totals.hpp>
#include <annulus/xrd_ct/volume_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace annulus {
namespace {

constexpr double kUncertain = 0.5;      // of the axis, in steps: a warning
constexpr double kCovered = 0.95;       // of the half turn: below, a warning
constexpr double kMoreThanHalf = 0.55;  // of a full turn: some directions were measured from behind too
constexpr double kOffCentre = 0.05;     // of the scan: left out of the tomogram without a word

// Adds the time it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += seconds_since(start_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  Clock::time_point start_ = Clock::now();
};

// Some bins, or windows, of all cells of the grid.
struct Block {
  Sinogram sinogram;
  std::vector<std::uint8_t> has_gaps;  // of each bin: values of cells that have some are missing

  Block(const ScanGrid& grid, std::size_t bins) : sinogram(grid.rows(), grid.cols(), bins), has_gaps(bins) {}

  void take(std::size_t cell, std::span<const double> values) {
    float* const to = sinogram.values.data() + cell * sinogram.bins;
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i] = static_cast<float>(values[i]);
      has_gaps[i] |= static_cast<std::uint8_t>(std::isnan(values[i]));
    }
  }
};

// What SIRT does without. Cells that are missing are gaps, too.
std::vector<bool> missing_values(Block& block) {
  const Sinogram& sinogram = block.sinogram;
  std::vector<bool> missing(sinogram.values.size());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    missing[i] = std::isnan(sinogram.values[i]);
    if (missing[i]) block.has_gaps[i % sinogram.bins] = 1;
  }
  return missing;
}

// One scan on its way to a tomogram.
class Tomography {
 public:
  Tomography(const PatternFile& file, const TomoOptions& options, bool complete, std::stop_token stop,
             const TomoProgress& on_progress)
      : file_(file),
        options_(options),
        stop_(std::move(stop)),
        on_progress_(on_progress),
        scan_(find_scan(file, options, complete)),
        reader_(file, scan_.grid),
        totals_(scan_.grid.cells(), file.bins()) {
    check_sizes(complete);
    report_.frames = file.frames();
    report_.positions = scan_.grid.cols();
    report_.unit = scan_.translation.unit;
    report_.step = scan_.step;
    report_.unevenness = scan_.unevenness;
    report_.resampled = scan_.is_uneven();
    report_.warnings = scan_.remarks;
    if (complete && !file.is_closed()) {
      report_.warnings.push_back(fmt::format(
          "the run that writes {} was ended or goes on: the tomogram is of the {} frames that are "
          "there",
          file.path().string(), report_.frames));
    }
    if (report_.resampled) {
      report_.warnings.push_back(
          fmt::format("positions are off even ones by up to {:.2f} steps: projections are interpolated "
                      "between them, which smooths",
                      report_.unevenness));
    }
    report_.frames_without_cell = report_.frames;
    for (const std::uint32_t frames : reader_.good_frames()) {
      report_.frames_without_cell -= frames;
      report_.doubled_cells += frames > 1 ? 1 : 0;
    }
  }

  TomoReport& report() { return report_; }

  // How many bins fit into the memory at once. Throws kUsage if that is none.
  std::size_t bins_at_once(std::size_t bins) const {
    return memory_for(1, "a single bin").bins_within(options_.memory << 20U, bins);
  }

  // Windows are reconstructed together.
  void check_memory_of_windows() const {
    const std::size_t windows = options_.windows.size();
    memory_for(windows, windows == 1 ? "a single window" : fmt::format("{} windows", windows));
  }

  // What all bins together decide: kept projections, air, axis. Reads all of the input.
  void read_totals() {
    read(whole_pattern(),
         [this](std::size_t cell, std::span<const double> values) { totals_.take(cell, values); });
    finish_totals();
  }

  Block read_bins(BinRange bins, bool with_totals) {
    Block block(scan_.grid, bins.size());
    read(bins, [&](std::size_t cell, std::span<const double> values) {
      block.take(cell, values);
      if (with_totals) totals_.take(cell, values);
    });
    if (with_totals) finish_totals();
    return block;
  }

  Block read_windows() {
    const Stopwatch watch(report_.seconds.reading);
    std::vector<WindowBins> windows;
    for (const Window& window : options_.windows) windows.push_back(bins_of(window, file_.header().radial()));
    Block block(scan_.grid, windows.size());
    std::vector<double> intensities(windows.size());
    reader_.read_windows(
        windows, WindowDetail::kIntensity,
        [&](std::size_t cell, std::span<const WindowValues> values) {
          std::ranges::transform(values, intensities.begin(), &WindowValues::intensity);
          block.take(cell, intensities);
        },
        stop_);
    return block;
  }

  // From the totals.
  void settle() {
    const Stopwatch watch(report_.seconds.cleaning);
    const std::span<const double> totals = totals_.values();
    resampling_.emplace(scan_, totals);
    report_.angles = resampling_->rows().size();
    report_.left_out = resampling_->left_out();
    (options_.method == TomoMethod::kSirt ? report_.missing_cells : report_.filled_cells) =
        resampling_->cells_without_value();
    for (const std::size_t row : resampling_->rows()) degrees_.push_back(scan_.angle.positions[row]);
    Block sums(scan_.grid, 1);
    for (std::size_t cell = 0; cell < totals.size(); ++cell) sums.take(cell, totals.subspan(cell, 1));
    resampling_->apply(sums.sinogram, options_.threads);
    leaves_scan_ = sample_leaves_scan(sums.sinogram);
    sums.has_gaps[0] = 0;  // which are filled now
    if (options_.stripes) {
      StripeOptions& stripes = cleaning_.stripes.emplace();
      stripes.width = options_.stripe_width.value_or(stripes.width);
      stripes.threshold = options_.stripe_threshold.value_or(stripes.threshold);
    }
    cleaning_.threads = options_.threads;
    cleaning_.angles = degrees_;
    if (options_.air_use == AirUse::kScale) {
      cleaning_.factors = air_factors(sums.sinogram, options_.air, degrees_);
    } else {
      cleaning_.subtract_air = options_.air;
    }
    clean_bins(sums.sinogram, sums.has_gaps, cleaning_);
    const ScanGeometry geometry{radians(degrees_), scan_.grid.cols(), axis_in(sums.sinogram)};
    reconstructor_.emplace(geometry, options_);
    reconstructor_->describe(report_);
    weigh_sides(geometry);
    add_warnings();
  }

  // In place: the projections as they are reconstructed. SIRT does without missing values; they are filled
  // only for what is done before.
  void clean(Block& block, std::size_t first_bin) {
    const Stopwatch watch(report_.seconds.cleaning);
    const bool fill = options_.method != TomoMethod::kSirt;
    Sinogram& sinogram = block.sinogram;
    resampling_->apply(sinogram, options_.threads, fill ? Gaps::kFill : Gaps::kLeave);
    std::vector<bool> missing;
    if (!fill) missing = missing_values(block);
    const CleanedBins cleaned = clean_bins(sinogram, block.has_gaps, cleaning_);
    (fill ? report_.filled_values : report_.missing_values) += cleaned.filled_values;
    report_.stripes += cleaned.stripes;
    std::vector<std::uint8_t> is_empty(sinogram.bins);
    for (const std::size_t bin : cleaned.empty_bins) {
      is_empty[bin] = 1;
      report_.empty_bins.push_back(first_bin + bin);
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] && is_empty[i % sinogram.bins] == 0)
        sinogram.values[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  // The sinogram is used up: lines that were measured from one side only may be weighted in it.
  Tomogram reconstruct(Sinogram& sinogram) {
    const Stopwatch watch(report_.seconds.reconstructing);
    Tomogram tomogram(reconstructor_->size(), sinogram.bins);
    if (!position_weights_.empty()) {
      for (std::size_t cell = 0; cell < sinogram.angles * sinogram.positions; ++cell) {
        const double weight = position_weights_[cell % sinogram.positions];
        for (float& value : std::span(sinogram.values).subspan(cell * sinogram.bins, sinogram.bins))
          value = static_cast<float>(value * weight);
      }
    }
    reconstructor_->reconstruct(sinogram.view(), tomogram.view(), stop_);
    reconstructor_->describe(report_);
    return tomogram;
  }

  // Distances from the axis of rotation.
  ImageAxis voxel_axis(const char* name) const {
    ImageAxis axis{name, scan_.translation.unit, {}};
    const std::size_t size = reconstructor_->size(), middle = size / 2;
    for (std::size_t i = 0; i < size; ++i)
      axis.positions.push_back((static_cast<double>(i) - static_cast<double>(middle)) * scan_.step);
    return axis;
  }
  ImageAxis angle_axis() const { return {scan_.angle.name, scan_.angle.unit, degrees_}; }
  const ImageAxis& translation_axis() const { return scan_.translation; }

 private:
  static std::vector<double> radians(std::vector<double> degrees) {
    for (double& angle : degrees) angle *= std::numbers::pi / 180;
    return degrees;
  }

  // While a scan runs, positions are still to come.
  void check_sizes(bool complete) const {
    const std::size_t positions = scan_.grid.cols();
    if (options_.size > kMostVoxelsPerPosition * positions) {
      throw Error(complete ? ErrorKind::kUsage : ErrorKind::kInput, "`size`",
                  fmt::format("{} voxels are too many for {} positions", options_.size, positions),
                  fmt::format("give {} or fewer", kMostVoxelsPerPosition * positions));
    }
    if (options_.stripe_width > positions) {
      throw Error(
          complete ? ErrorKind::kUsage : ErrorKind::kInput, "`stripe_width`",
          fmt::format("{} positions are more than the {} of the scan", *options_.stripe_width, positions),
          "give the width of the widest stripe, a few positions");
    }
    if (options_.method == TomoMethod::kSirt && options_.size > 0 && options_.size < positions) {
      throw Error(ErrorKind::kUsage, "`size`",
                  fmt::format("SIRT needs room for all that was measured, and {} voxels are less than {} "
                              "positions",
                              options_.size, positions),
                  fmt::format("give {} or more, or choose `method` fbp", positions));
    }
  }

  BlockMemory memory_for(std::size_t channels, const std::string& name) const {
    const ScanGeometry likely{radians(scan_.angle.positions), scan_.grid.cols(),
                              static_cast<double>(scan_.grid.cols() - 1) / 2};
    const BlockMemory memory = Reconstructor::memory(likely, options_);
    const std::uint64_t least = memory.fixed + channels * memory.per_bin;
    if (options_.memory << 20U < least) {
      throw Error(ErrorKind::kUsage, "`memory`",
                  fmt::format("{} MiB are not enough to reconstruct {}", options_.memory, name),
                  fmt::format("give {} or more", (least >> 20U) + 1));
    }
    return memory;
  }

  // Where the axis is not in the middle, lines beyond the shorter side are measured from one side only, in a
  // scan of more than half a turn.
  void weigh_sides(const ScanGeometry& geometry) {
    const double last = static_cast<double>(geometry.positions - 1);
    const double shorter = std::min(geometry.axis, last - geometry.axis), longer = last - shorter;
    if (longer - shorter <= 1) return;
    std::vector<double> halves = geometry.angles;  // a full turn of them is half a turn
    for (double& angle : halves) angle /= 2;
    const double turn =
        weigh_angles(halves, AngleWeighting::kSpacing).covered / std::numbers::pi;  // part of a full one
    const bool fbp = options_.method == TomoMethod::kFbp;
    const auto needed = static_cast<std::size_t>(2 * std::floor(longer) + 1);
    if (turn >= kCovered) {
      if (fbp) position_weights_ = weigh_positions(geometry.positions, geometry.axis);
      const std::size_t half = reconstructor_->size() / 2;
      const auto radius = static_cast<double>(half);
      const double outside = longer - radius;
      if ((options_.size == 0 || !fbp) && outside > std::max(1.0, kOffCentre * last)) {
        report_.warnings.push_back(
            fmt::format("the scan reaches {} from the axis of rotation, the tomogram {}: what lies beyond is "
                        "left out{}; give {} for `size`",
                        in_unit(longer * scan_.step), in_unit(radius * scan_.step),
                        fbp ? "" : " and makes values wrong", needed));
      }
    } else if (fbp && turn > kMoreThanHalf) {
      report_.warnings.push_back(
          fmt::format("voxels further than {} from the axis of rotation are seen from one side only, and not "
                      "at all angles: their values are too low; scan a full turn, or take `method` sirt with "
                      "{} for `size`",
                      in_unit(shorter * scan_.step), needed));
    }
  }

  BinRange whole_pattern() const { return {0, file_.bins()}; }

  template <typename Take>
  void read(BinRange bins, const Take& take) {
    const Stopwatch watch(report_.seconds.reading);
    reader_.read_patterns(bins, take, stop_, [this](std::uint64_t frames) {
      if (on_progress_) on_progress_(frames, file_.frames());
    });
  }

  void finish_totals() {
    if (!totals_.need_another_reading()) return;
    read(whole_pattern(),
         [this](std::size_t cell, std::span<const double> values) { totals_.take_again(cell, values); });
    const std::size_t counting = totals_.bins_that_count(), all = totals_.bins_with_values();
    if (2 * counting >= all) return;
    report_.warnings.push_back(
        counting > 0
            ? fmt::format("{} of {} bins have a value in every cell: the axis of rotation and factors of "
                          "air come from these alone",
                          counting, all)
            : std::string(
                  "no bin has a value in every cell: the axis of rotation and factors of air come from "
                  "what each cell has, relative to the mean pattern"));
  }

  double axis_in(const Sinogram& sums) {
    const std::vector<double>& places = scan_.translation.positions;
    const auto last = static_cast<double>(places.size() - 1);
    if (options_.centre) {
      const double axis = (*options_.centre - places.front()) / scan_.step;
      if (!(axis >= 0 && axis <= last)) {
        throw Error(ErrorKind::kUsage, "`centre`",
                    fmt::format("{} lies outside the scan", in_unit(*options_.centre)),
                    fmt::format("the translation goes from {} to {}", in_unit(places.front()),
                                in_unit(places.back())));
      }
      report_.centre = *options_.centre;
      return axis;
    }
    try {
      const AxisEstimate found = find_rotation_axis(sums.view(), radians(degrees_)).best;
      report_.centre = places.front() + found.position * scan_.step;
      report_.centre_uncertainty = found.uncertainty * scan_.step;
      return found.position;
    } catch (const Error& error) {
      throw Error(error.kind(), file_.path().string(), error.fault(),
                  fmt::format("give its position with `centre`, from {} to {}", in_unit(places.front()),
                              in_unit(places.back())));
    }
  }

  std::string in_unit(double place) const {
    return fmt::format("{:g}{}{}", place, scan_.translation.unit.empty() ? "" : " ", scan_.translation.unit);
  }

  // What leaves at the shorter side of a full turn is seen from the other side; an axis is not found like
  // that.
  bool leaves_scan() const {
    if (position_weights_.empty() || report_.centre_uncertainty)
      return leaves_scan_.at_first || leaves_scan_.at_last;
    return position_weights_.front() > 1 ? leaves_scan_.at_first : leaves_scan_.at_last;
  }

  void add_warnings() {
    std::vector<std::string>& warnings = report_.warnings;
    if (report_.left_out > 0) {
      warnings.push_back(
          fmt::format("{} of {} projections have values at less than half of their positions and are "
                      "left out",
                      report_.left_out, scan_.grid.rows()));
    }
    if (report_.centre_uncertainty && *report_.centre_uncertainty > kUncertain * scan_.step) {
      warnings.push_back(fmt::format("the axis of rotation was found at {}, uncertain by {:.2f} steps",
                                     in_unit(report_.centre), *report_.centre_uncertainty / scan_.step));
    }
    if (leaves_scan()) {
      warnings.push_back(fmt::format(
          "the sample leaves the scan: its outermost positions change with the angle; {}",
          report_.centre_uncertainty
              ? "the axis of rotation that was found may be wrong: give its position with `centre`, or scan "
                "a wider range"
              : "what lies outside makes values wrong, most of all towards the edge: scan a wider range"));
    }
    const double covered =
        weigh_angles(radians(degrees_), AngleWeighting::kSpacing).covered / std::numbers::pi;
    if (covered < kCovered)
      warnings.push_back(fmt::format("the directions cover {:.0f} of 180 degrees", 180 * covered));
  }

  const PatternFile& file_;
  const TomoOptions& options_;
  std::stop_token stop_;
  const TomoProgress& on_progress_;
  MeasuredScan scan_;
  CellReader reader_;
  CellTotals totals_;
  LeavesScan leaves_scan_;
  std::optional<Resampling> resampling_;
  std::vector<double> degrees_;  // of the projections that remain
  Cleaning cleaning_;
  std::optional<Reconstructor> reconstructor_;
  std::vector<double> position_weights_;  // none: all count the same
  TomoReport report_;
};

GridImage image_of(const Window& window, const char* what, const ImageAxis& rows, const ImageAxis& columns,
                   std::span<const float> values, std::size_t stride) {
  GridImage image{window.name + "_" + what, fmt::format("{}: {}", window.name, what), "", rows, columns, {}};
  image.values.reserve(values.size() / stride);
  for (std::size_t i = 0; i < values.size(); i += stride) image.values.push_back(values[i]);
  return image;
}

// Frames that are not at the angle of the last one.
std::size_t settled_frames(const MeasuredScan& scan) {
  std::size_t frames = 0;
  for (std::size_t row = 0; row < scan.grid.rows(); ++row) {
    if (row == scan.unfinished_row) continue;
    for (std::size_t col = 0; col < scan.grid.cols(); ++col) frames += scan.grid.frames_in(row, col).size();
  }
  return frames;
}

// All that the file of a volume holds.
TomoReport write_bins(const PatternFile& file, const TomoOptions& options, std::stop_token stop,
                      const TomoProgress& on_progress, hid_t output) {
  Tomography tomography(file, options, true, std::move(stop), on_progress);
  TomoReport& report = tomography.report();
  const std::size_t bins = file.header().radial().bins();
  const std::size_t at_once = tomography.bins_at_once(bins);
  std::optional<Block> block;
  if (at_once == bins) {
    block.emplace(tomography.read_bins({0, bins}, true));
  } else {
    tomography.read_totals();
  }
  tomography.settle();
  report.channels = bins;
  VolumeDescription description{
      options.input,          file.header().plan_hash,    as_text(options),
      file.header().radial(), tomography.voxel_axis("y"), tomography.voxel_axis("x")};
  if (options.keep_sinogram)
    description.sinogram = std::pair(tomography.angle_axis(), tomography.translation_axis());
  VolumeWriter writer(output, description, options.threads);
  for (std::size_t first = 0; first < bins; first += at_once) {
    const std::size_t count = std::min(at_once, bins - first);
    if (!block) block.emplace(tomography.read_bins({first, first + count}, false));
    tomography.clean(*block, first);
    if (options.keep_sinogram) {
      const Stopwatch watch(report.seconds.writing);
      writer.write_sinogram(first, block->sinogram);
    }
    const Tomogram tomogram = tomography.reconstruct(block->sinogram);
    block.reset();
    const Stopwatch watch(report.seconds.writing);
    writer.write_tomogram(first, tomogram);
    ++report.blocks;
  }
  writer.write_facts(facts_of(report));
  return report;
}

}  // namespace

TomoReport reconstruct_bins(const TomoOptions& options, std::stop_token stop,
                            const TomoProgress& on_progress) {
  check_options(options);
  const PatternFile file(options.input);
  TomoReport report;
  Clock::time_point end_of_work;
  write_volume(options.output, options.overwrite, [&](hid_t output) {
    report = write_bins(file, options, std::move(stop), on_progress, output);
    end_of_work = Clock::now();
  });
  report.seconds.writing += seconds_since(end_of_work);
  return report;
}

WindowTomograms reconstruct_windows(const PatternFile& file, const TomoOptions& options, bool complete,
                                    std::stop_token stop, const TomoProgress& on_progress) {
  check_options(options);
  Tomography tomography(file, options, complete, stop, on_progress);
  tomography.check_memory_of_windows();
  Block block = tomography.read_windows();
  tomography.read_totals();
  tomography.settle();
  tomography.clean(block, 0);
  WindowTomograms result;
  Sinogram sinogram = block.sinogram;
  ImageAxis angles = tomography.angle_axis();
  if (angles.positions.front() > angles.positions.back()) {  // rows of images ascend
    std::ranges::reverse(angles.positions);
    for (std::size_t row = 0; row < sinogram.angles / 2; ++row) {
      const std::size_t values = sinogram.positions * sinogram.bins;
      std::swap_ranges(sinogram.at(row, 0), sinogram.at(row, 0) + values,
                       sinogram.at(sinogram.angles - 1 - row, 0));
    }
  }
  const Tomogram tomogram = tomography.reconstruct(block.sinogram);
  const ImageAxis y = tomography.voxel_axis("y"), x = tomography.voxel_axis("x");
  for (std::size_t i = 0; i < options.windows.size(); ++i) {
    const auto values = [i](const auto& of_all) { return std::span(of_all.values).subspan(i); };
    result.images.push_back(image_of(options.windows[i], "sinogram", angles, tomography.translation_axis(),
                                     values(sinogram), options.windows.size()));
    result.images.push_back(
        image_of(options.windows[i], "tomogram", y, x, values(tomogram), options.windows.size()));
  }
  result.report = tomography.report();
  result.report.channels = options.windows.size();
  result.report.blocks = 1;
  return result;
}

void follow_windows(FollowedOutput& output, const TomoOptions& options, const FollowActions& actions,
                    std::stop_token stop) {
  check_options(options);
  std::size_t seen = 0;
  while (true) {
    const FollowedOutput::State state = output.next(stop);
    std::optional<WindowTomograms> tomograms;
    try {
      if (!state.complete) {
        const std::size_t settled = settled_frames(find_scan(*state.file, options, false));
        if (settled == seen) continue;
        seen = settled;
      }
      tomograms = reconstruct_windows(*state.file, options, state.complete, stop);
    } catch (const Error& error) {
      if (state.complete || error.kind() != ErrorKind::kInput) throw;
      if (actions.wait) actions.wait(state.file->frames(), error.fault());
    }
    if (tomograms) actions.take(*tomograms, *state.file, state.complete);
    if (state.complete) return;
  }
}

}  // namespace annulus
