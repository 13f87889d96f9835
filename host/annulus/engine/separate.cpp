#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/engine/separate.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/open_output.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/version.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace annulus {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

void check(const IntegrateConfig& config, const std::filesystem::path& images) {
  const auto refuse = [](const char* option, const char* fault) {
    throw Error(ErrorKind::kUsage, option, fault, "leave it out");
  };
  if (config.append) refuse("`append`", "images are made of all frames of the output");
  if (!config.part.empty()) refuse("`part`", "images are made of all frames of the scan");
  if (config.follow) refuse("`follow`", "frames are read twice");
  if (output_format(config) != OutputFormat::kNexus)
    throw Error(ErrorKind::kUsage, "`output`", "text files hold no outliers",
                "name a NeXus file, for example .nxs");
  check_image_place(images, config.overwrite);
}

ImageAxis pixels_of(const char* name, std::uint32_t count) {
  ImageAxis axis;
  axis.name = name;
  axis.positions.resize(count);
  std::iota(axis.positions.begin(), axis.positions.end(), 0.0);
  return axis;
}

GridImage image_of(const Plan& plan, std::string name, std::string title) {
  GridImage image;
  image.name = std::move(name);
  image.title = std::move(title);
  image.unit = "counts";
  image.rows = pixels_of("row", plan.shape.rows);
  image.columns = pixels_of("column", plan.shape.cols);
  image.values.assign(plan.pixels(), kNothing);
  return image;
}

bool is_valid(const Plan& plan, double value) {
  if (!std::isfinite(value)) return false;
  if (std::abs(value) > static_cast<double>(plan.validity.max_count)) return false;
  return !(value >= static_cast<double>(plan.validity.dummy_low) &&
           value <= static_cast<double>(plan.validity.dummy_high));
}

// What a pixel would have of this pattern, in counts.
double powder_at(const Plan& plan, std::span<const double> intensity, double factor, std::size_t pixel) {
  const std::uint32_t first = plan.matrix.first[pixel], end = plan.matrix.first[pixel + 1];
  if (first == end) return kNothing;
  double shared = 0;
  for (std::uint32_t entry = first; entry < end; ++entry)
    shared += plan.matrix.weight[entry] * intensity[plan.matrix.bin[entry]];
  const double norm = std::ldexp(static_cast<double>(plan.normalization[pixel]), -plan.normalization_bits);
  const double dark =
      plan.dark.empty() ? 0 : std::ldexp(static_cast<double>(plan.dark[pixel]), -plan.dark_bits);
  return std::ldexp(shared, -plan.weight_bits) * norm * factor + dark;
}

struct Separated {
  GridImage powder, spots;
};

Separated separate_frame(const Plan& plan, const Image<double>& frame, std::span<const double> intensity,
                         double factor, const std::vector<std::uint32_t>& outliers, const std::string& suffix,
                         const std::string& name) {
  Separated made{image_of(plan, "powder" + suffix, "powder of " + name),
                 image_of(plan, "spots" + suffix, "spots of " + name)};
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    const double powder = powder_at(plan, intensity, factor, pixel);
    if (std::isnan(powder) || !is_valid(plan, frame.pixels[pixel])) continue;
    made.powder.values[pixel] = powder;
    made.spots.values[pixel] = 0;
  }
  for (const std::uint32_t pixel : outliers) {
    if (!std::isnan(made.powder.values[pixel]))
      made.spots.values[pixel] = frame.pixels[pixel] - made.powder.values[pixel];
  }
  return made;
}

// What the clip left, of all frames.
struct Clipped {
  std::vector<FrameRecord> records;
  std::vector<double> intensities;
  std::vector<std::vector<std::uint32_t>> outliers;
};

// At once: frames are read by other threads, which need HDF5 as well.
Clipped read_clipped(const std::filesystem::path& output) {
  const Hdf5Session scope;
  const PatternFile patterns(output);
  const Hdf5Handle file = open_output(output);
  Clipped clipped;
  clipped.records = patterns.read_records(0, patterns.frames());
  clipped.intensities.resize(patterns.frames() * patterns.bins());
  patterns.read_intensities(0, patterns.frames(), clipped.intensities);
  clipped.outliers = read_outlier_lists(file.get(), 0, patterns.frames());
  return clipped;
}

}  // namespace

SeparateReport separate(IntegrateConfig config, const std::filesystem::path& images, const RunHooks& hooks,
                        std::stop_token stop) {
  if (!config.recipe.has_clip()) config.recipe.clip.method = ClipMethod::kSigma;
  config.outliers = Outliers::kLists;
  check(config, images);
  const ScanPlan scan = make_scan_plan(config, stop);
  const std::uint64_t expected = scan.stream->expected();
  if (expected > kMostFramesToSeparate) {
    throw Error(
        ErrorKind::kUsage, "`inputs`",
        fmt::format("{} frames would make {} images, which are held together", expected, 2 * expected),
        fmt::format("name at most {} frames; `outliers` of integrate has no such limit",
                    kMostFramesToSeparate));
  }
  SeparateReport report;
  report.images = images;
  report.run = run(config, hooks, stop);
  if (report.run.failed || report.run.summary.interrupted) return report;

  const Plan& plan = *scan.plan;
  const Clipped clipped = read_clipped(report.run.output);
  const std::vector<FrameRecord>& records = clipped.records;
  std::vector<GridImage> made;
  for (std::uint64_t row = 0; row < records.size();) {
    const auto item = scan.stream->next(stop);
    if (!item) break;
    if (std::holds_alternative<Pause>(*item)) continue;
    const std::uint64_t number = row++;
    const auto* const frame = std::get_if<Frame>(&*item);
    if (frame == nullptr || records[number].bad) continue;
    const std::span intensity = std::span(clipped.intensities).subspan(number * plan.bins(), plan.bins());
    const std::vector<std::uint32_t>& outliers = clipped.outliers[number];
    const std::string suffix = records.size() == 1 ? "" : fmt::format("_{}", number);
    Separated images_of_frame =
        separate_frame(plan, decode_frame(*frame), intensity, records[number].normalization, outliers, suffix,
                       describe(*frame));
    made.push_back(std::move(images_of_frame.spots));
    made.push_back(std::move(images_of_frame.powder));
    report.outliers += outliers.size();
    ++report.frames;
  }
  if (made.empty())
    throw Error(ErrorKind::kInput, report.run.output.string(), "has no good frame to make images of");
  ImageFileInfo info;
  info.version = kVersion;
  info.date = iso_time();
  info.title = "spots and powder";
  info.kind = "separation";
  info.facts = {{"patterns", report.run.output.string()},
                {"plan_hash", plan.hash},
                {"frames", static_cast<double>(report.frames)},
                {"outliers", static_cast<double>(report.outliers)}};
  write_images(info, made, images, config.overwrite);
  return report;
}

}  // namespace annulus
