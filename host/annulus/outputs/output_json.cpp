#include <annulus/core/text.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/output_json.hpp>
#include <annulus/outputs/reader.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace annulus {
namespace {

constexpr std::uint64_t kBlock = 4096;              // frames read at once
constexpr std::size_t kMostBadFramesListed = 1000;  // the rest is only counted

// What is in a column, as far as a few numbers tell.
nlohmann::json describe_column(const PatternFile& file, std::size_t column) {
  const ColumnInfo& info = file.header().columns[column];
  std::uint64_t missing = 0;
  std::optional<double> low, high;
  std::vector<double> values;
  for (std::uint64_t first = 0; first < file.frames(); first += kBlock) {
    values.resize(std::min(kBlock, file.frames() - first));
    file.read_column(column, first, values.size(), values);
    for (const double value : values) {
      if (std::isnan(value)) {
        ++missing;
        continue;
      }
      low = std::min(low.value_or(value), value);
      high = std::max(high.value_or(value), value);
    }
  }
  nlohmann::json description = {
      {"unit", to_utf8(info.unit)}, {"origin", to_utf8(info.origin)}, {"missing", missing}};
  if (low) description["range"] = {*low, *high};
  return description;
}

nlohmann::json describe_image(const GridImage& image) {
  std::size_t missing = 0;
  std::optional<double> low, high;
  for (const double value : image.values) {
    if (std::isnan(value)) {
      ++missing;
      continue;
    }
    low = std::min(low.value_or(value), value);
    high = std::max(high.value_or(value), value);
  }
  nlohmann::json description = {{"title", to_utf8(image.title)},
                                {"unit", to_utf8(image.unit)},
                                {"shape", {image.rows.positions.size(), image.columns.positions.size()}},
                                {"y", describe_axis(image.rows)},
                                {"x", describe_axis(image.columns)},
                                {"missing", missing}};
  if (low) description["range"] = {*low, *high};
  return description;
}

nlohmann::json describe_clip(const Clip& clip) {
  nlohmann::json description = {{"method", name_of(clip.method)}};
  if (clip.by_sigma()) {
    description["threshold"] = clip.threshold;
    description["cycles"] = clip.cycles;
  }
  if (clip.quantiles) description["quantiles"] = {clip.quantiles->low, clip.quantiles->high};
  return description;
}

}  // namespace

nlohmann::json describe_axis(const ImageAxis& axis) {
  return {{"name", to_utf8(axis.name)},
          {"unit", to_utf8(axis.unit)},
          {"range", {axis.positions.front(), axis.positions.back()}}};
}

nlohmann::json describe_images(const std::filesystem::path& path) {
  const StoredImages stored = read_images(path);
  nlohmann::json images = nlohmann::json::object(), input = nlohmann::json::object();
  for (const GridImage& image : stored.images) images[to_utf8(image.name)] = describe_image(image);
  for (const auto& [name, value] : stored.info.facts) {
    if (const auto* const number = std::get_if<double>(&value)) {
      input[to_utf8(name)] = *number;
    } else {
      input[to_utf8(name)] = to_utf8(std::get<std::string>(value));
    }
  }
  return {{"format", "images"},
          {"kind", to_utf8(stored.info.kind)},
          {"title", to_utf8(stored.info.title)},
          {"program", to_utf8(stored.info.program)},
          {"version", to_utf8(stored.info.version)},
          {"date", to_utf8(stored.info.date)},
          {"images", images},
          {"input", input}};
}

nlohmann::json describe_output(const std::filesystem::path& path) {
  const PatternFile file(path);
  const OutputHeader& header = file.header();
  nlohmann::json bad = nlohmann::json::array();
  std::uint64_t bad_count = 0;
  for (std::uint64_t first = 0; first < file.frames(); first += kBlock) {
    for (const FrameRecord& record : file.read_records(first, std::min(kBlock, file.frames() - first))) {
      if (!record.bad) continue;
      if (++bad_count > kMostBadFramesListed) continue;
      bad.push_back({{"frame", record.index},
                     {"source", to_utf8(record.source)},
                     {"frame_in_source", record.frame_in_source},
                     {"reason", to_utf8(record.fault)}});
    }
  }
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [name, value] : header.options) options[to_utf8(name)] = to_utf8(value);
  const Axis& radial = header.radial();
  nlohmann::json description = {{"format", layout::kind_of(header.axes).definition},
                                {"program", to_utf8(header.program)},
                                {"version", to_utf8(header.program_version)},
                                {"date", to_utf8(header.date)},
                                {"backend", to_utf8(header.backend)},
                                {"frames", file.frames()},
                                {"good", file.frames() - bad_count},
                                {"bad", bad_count},
                                {"bad_frames", bad},
                                {"bins", file.bins()},
                                {"axis", to_utf8(radial.name)},
                                {"unit", to_utf8(radial.units)},
                                {"range", {radial.low(), radial.high()}},
                                {"errors", header.has_errors},
                                {"error_model", name_of(header.recipe.error_model)},
                                {"clip", describe_clip(header.recipe.clip)},
                                {"spottiness", header.recipe.spottiness},
                                {"plan_hash", to_utf8(header.plan_hash)},
                                {"options", options}};
  if (!header.scan_shape.empty()) description["scan_shape"] = header.scan_shape;
  for (const std::string& part : header.parts) description["parts"].push_back(to_utf8(part));
  for (std::size_t i = 0; i < header.columns.size(); ++i)
    description["columns"][to_utf8(header.columns[i].name)] = describe_column(file, i);
  if (header.axes.size() > 1) {
    const Axis& azimuths = header.axes[1];
    description["shape"] = {azimuths.bins(), radial.bins()};
    description["azimuth_range"] = {azimuths.low(), azimuths.high()};
  }
  return description;
}

}  // namespace annulus
