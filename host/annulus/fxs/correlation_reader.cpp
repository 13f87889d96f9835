#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/fxs/correlation_content.hpp>
#include <annulus/fxs/correlation_layout.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/reader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

namespace fs = std::filesystem;
namespace layout_of = correlation_layout;

constexpr const char* kNameOne = "name a correlation that annulus wrote";

// What a file may claim and still be believed.
constexpr std::size_t kMostRows = std::size_t{1} << 30;
constexpr std::size_t kLongestText = std::size_t{1} << 16;

std::string in_process(const char* name) { return std::string(layout_of::kProcess) + "/" + name; }
std::string in_snapshots(const char* name) { return std::string(layout_of::kSnapshots) + "/" + name; }

void check_file(const fs::path& path) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  if (is_file && probe_output(path)) return;
  throw Error(ErrorKind::kInput, path.string(),
              is_file ? "is not an HDF5 file" : "does not exist or is not a file", kNameOne);
}

Hdf5Handle open_correlation(const fs::path& path) {
  check_file(path);  // before the lock around HDF5 is taken: others need not wait for the probe
  const Hdf5Session scope;
  Hdf5Handle file = open_to_read(path.string(), ReadFirst::kAsClosed);
  if (!file)
    throw Error(ErrorKind::kInput, path.string(), "cannot be opened: " + hdf5_reason(), "copy it again");
  const DerivedFile kind = derived_file(file.get());
  if (kind == DerivedFile::kCorrelation) return file;
  throw Error(ErrorKind::kInput, path.string(),
              kind == DerivedFile::kNone
                  ? std::string("is not a correlation of snapshots")
                  : fmt::format("is {}, not a correlation of snapshots", noun_of(kind)),
              kNameOne);
}

}  // namespace

CorrelationContent::OpenFile::~OpenFile() {
  const Hdf5Session scope;
  handle.reset();
}

CorrelationContent::CorrelationContent(const fs::path& path)
    : path_(path), file_{open_correlation(path)}, fields_(path_, file()) {
  const Hdf5Session scope;
  read_shape();
}

void CorrelationContent::read_shape() {
  const std::size_t most = std::size_t{1} << 16;
  setup_.radial.centres = fields_.doubles(layout_of::kRings, most);
  setup_.radial.name = fields_.attribute(layout_of::kRings, "long_name");
  setup_.radial.units = fields_.attribute(layout_of::kRings, "units");
  if (has_object(file(), layout_of::kRingEdges))
    setup_.radial.edges = fields_.doubles(layout_of::kRingEdges, most + 1);
  setup_.shape = {setup_.radial.bins(), fields_.doubles(layout_of::kAngles, most).size()};
  if (setup_.shape.rings == 0 || setup_.shape.angles == 0 ||
      (!setup_.radial.edges.empty() && setup_.radial.edges.size() != setup_.shape.rings + 1))
    fields_.refuse("it has no rings or no angles, or edges of others");
  preview_ = flag(layout_of::kPreview);
  const auto scale = values<std::int64_t>(in_process("scale"), {}).front();
  if (scale < kLeastScale || scale > kMostScale) fields_.refuse(fmt::format("its scale, {}, is none", scale));
  setup_.scale = static_cast<int>(scale);
}

bool CorrelationContent::flag(const std::string& path) const {
  const auto value = read_flag(file(), path);
  if (!value) fields_.refuse(path + " is not there, or is neither true nor false");
  return *value;
}

std::uint64_t CorrelationContent::number(const std::string& path) const {
  return values<std::uint64_t>(path, {}).front();
}

void CorrelationContent::check(const std::string& path, hid_t type,
                               const std::vector<std::size_t>& extent) const {
  if (!fields_.holds(path, type) || !fields_.has_extent(path, extent))
    fields_.refuse(path + " is not there, or has another shape or type than it should");
}

void CorrelationContent::read(const std::string& path, hid_t type, void* values) const {
  const Hdf5Handle dataset(H5Dopen2(file(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset || H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    throw_hdf5(ErrorKind::kInput, file(), fmt::format("cannot read {}", path));
}

std::size_t CorrelationContent::length_of(const std::string& path) const {
  if (!has_object(file(), path)) fields_.refuse(path + " is not there");
  const Hdf5Handle dataset(H5Dopen2(file(), path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  hsize_t length = 0;
  if (!dataset || H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Sget_simple_extent_dims(space.get(), &length, nullptr) != 1 || length > kMostRows)
    fields_.refuse(path + " is no column, or longer than it can be");
  return length;
}

std::vector<std::string> CorrelationContent::texts(const std::string& path) const {
  const std::size_t count = length_of(path);
  const Hdf5Handle dataset(H5Dopen2(file(), path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const std::size_t width = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 || width == 0 ||
      width > kLongestText || count > fs::file_size(path_) / width)  // they are stored as they are
    fields_.refuse(path + " holds no texts of fixed length");
  std::vector<std::string> texts;
  if (count == 0) return texts;
  std::string bytes(count * width, '\0');
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    throw_hdf5(ErrorKind::kInput, file(), fmt::format("cannot read {}", path));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string text = bytes.substr(i * width, width);
    texts.push_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

SnapshotTable CorrelationContent::snapshots() const {
  const std::size_t count = length_of(in_snapshots("status"));
  const auto status = values<std::uint8_t>(in_snapshots("status"), {count});
  const auto index = values<std::uint64_t>(in_snapshots("frame_index"), {count});
  const auto in_source = values<std::uint64_t>(in_snapshots("frame_in_source"), {count});
  const auto source = values<std::uint32_t>(in_snapshots("source"), {count});
  const auto reason = values<std::uint32_t>(in_snapshots("reason"), {count});
  const auto mean = values<double>(in_snapshots("mean"), {count});
  const auto ids = values<std::uint64_t>(in_snapshots("source_id"), {count, 2});
  const std::vector<std::string> sources = texts(in_snapshots("sources"));
  const std::vector<std::string> reasons = texts(in_snapshots("reasons"));
  SnapshotTable table;
  for (std::size_t i = 0; i < count; ++i) {
    if (status[i] > static_cast<std::uint8_t>(SnapshotStatus::kBad) || source[i] >= sources.size() ||
        reason[i] > reasons.size())
      fields_.refuse(fmt::format("the row of snapshot {} names what is not there", i));
    Snapshot row;
    row.index = index[i];
    row.source_id = {ids[2 * i], ids[2 * i + 1]};
    row.in_source = in_source[i];
    row.mean = mean[i];
    row.status = static_cast<SnapshotStatus>(status[i]);
    table.add(row, sources[source[i]], reason[i] == 0 ? "" : reasons[reason[i] - 1]);
  }
  return table;
}

std::optional<LegendreChoice> CorrelationContent::legendre() const {
  const std::string group = layout_of::kLegendre;
  if (!has_object(file(), group)) return std::nullopt;
  LegendreChoice choice;
  choice.highest = number(group + "/highest");
  choice.wavelength = values<double>(group + "/wavelength", {}).front();
  const std::size_t rings = length_of(group + "/q");
  if (rings != 0 && rings != setup_.shape.rings) fields_.refuse("its Legendre coefficients have other rings");
  choice.q = values<double>(group + "/q", {rings});
  return choice;
}

LegendreCoefficients CorrelationContent::coefficients() const {
  LegendreCoefficients found;
  if (!has_object(file(), layout_of::kOrders)) return found;
  const std::size_t orders = length_of(layout_of::kOrders), pairs = setup_.shape.pairs();
  if (orders > setup_.shape.angles) fields_.refuse("it has more Legendre coefficients than angles");
  for (const std::uint64_t order : values<std::uint64_t>(layout_of::kOrders, {orders}))
    found.orders.push_back(order);
  found.values = large_values<double>(layout_of::kCoefficients, {pairs, orders});
  found.conditions = large_values<double>(layout_of::kConditions, {pairs});
  return found;
}

CorrelationRecord CorrelationContent::record() const {
  CorrelationRecord record;
  record.setup = setup_;
  CorrelationSetup& setup = record.setup;
  setup.plan_hash = fields_.text(in_process("plan_hash"));
  setup.polar.subtract_mean = flag(in_process("mean_subtracted"));
  const auto limit = [&](const char* name) -> std::optional<double> {
    if (!has_object(file(), in_process(name))) return std::nullopt;
    return values<double>(in_process(name), {}).front();
  };
  setup.polar.least_mean = limit("least_mean");
  setup.polar.most_mean = limit("most_mean");
  setup.normalization_factor = values<double>(in_process("normalization_factor"), {}).front();
  setup.monitor = fields_.text(in_process("monitor"));
  record.origin.backend = fields_.text(in_process("backend"));
  record.origin.poni_text = fields_.text(in_process("poni"));
  record.origin.config_json = fields_.text(in_process("configuration"));
  record.origin.working_directory = fields_.text(in_process("working_directory"));
  for (const std::string& key : names_in_group(file(), layout_of::kOptions, NameOrder::kAsCreated))
    record.origin.options.emplace_back(key, fields_.text(std::string(layout_of::kOptions) + "/" + key));
  record.snapshots = snapshots();
  record.legendre = legendre();
  record.finished = flag(layout_of::kFinished);
  return record;
}

CorrelationSums CorrelationContent::sums(std::uint64_t images) const {
  CorrelationSums sums;
  sums.shape = setup_.shape;
  sums.scale = setup_.scale;
  sums.images = images;
  const std::vector<std::size_t> extent = {setup_.shape.pairs(), setup_.shape.angles};
  sums.signal = large_values<std::int64_t>(layout_of::kSignal, extent);
  sums.mask = large_values<std::int64_t>(layout_of::kMask, extent);
  return sums;
}

std::vector<std::string> CorrelationContent::changed(std::span<const std::byte> signal,
                                                     std::span<const std::byte> mask) const {
  std::vector<std::string> changed;
  const auto stored = [&](const char* name) {
    return number(std::string(layout_of::kChecksums) + "/" + name);
  };
  if (stored("signal") != row_checksum(checksum_seed(layout_of::kSignal), signal))
    changed.emplace_back(layout_of::kSignal);
  if (stored("mask") != row_checksum(checksum_seed(layout_of::kMask), mask))
    changed.emplace_back(layout_of::kMask);
  if (stored("header") != header_checksum(file(), layout_of::kWithoutHeader))
    changed.emplace_back("what is stored beside the sums");
  return changed;
}

bool is_correlation_file(const fs::path& path) {
  if (!probe_output(path)) return false;
  const Hdf5Session scope;
  const Hdf5Handle file = open_to_read(path.string(), ReadFirst::kAsClosed);
  return file && derived_file(file.get()) == DerivedFile::kCorrelation;
}

CorrelationRecord read_correlation_record(const fs::path& path) {
  const CorrelationContent content(path);
  const Hdf5Session scope;
  return content.record();
}

Correlation read_correlation_sums(const fs::path& path) {
  const CorrelationContent content(path);
  if (content.is_preview()) {
    throw Error(ErrorKind::kInput, path.string(),
                "is a preview in single precision: nothing can be added to it exactly",
                "correlate again without `fast`");
  }
  const Hdf5Session scope;
  Correlation correlation{content.record(), {}};
  CorrelationSums& sums = correlation.sums;
  sums = content.sums(correlation.record.snapshots.count(SnapshotStatus::kCounted));
  const auto changed =
      content.changed(std::as_bytes(std::span(sums.signal)), std::as_bytes(std::span(sums.mask)));
  if (!changed.empty())
    content.fields().refuse(fmt::format("{} does not have its checksum", changed.front()));
  return correlation;
}

StoredCorrelation read_correlation(const fs::path& path) {
  const CorrelationContent content(path);
  const Hdf5Session scope;
  const CorrelationRecord record = content.record();
  StoredCorrelation stored;
  stored.file = path;
  stored.setup = record.setup;
  stored.preview = content.is_preview();
  stored.finished = record.finished;
  stored.counted = record.snapshots.count(SnapshotStatus::kCounted);
  stored.rejected = record.snapshots.count(SnapshotStatus::kRejected);
  stored.bad = record.snapshots.count(SnapshotStatus::kBad);
  const PolarShape& shape = record.setup.shape;
  stored.c2 = content.large_values<double>(layout_of::kC2, {shape.pairs(), shape.angles});
  stored.legendre = record.legendre;
  stored.coefficients = content.coefficients();
  return stored;
}

namespace {

nlohmann::json describe_legendre(const LegendreChoice& choice, const LegendreCoefficients& found) {
  nlohmann::json json = {{"highest", choice.highest},
                         {"ewald_sphere", choice.wavelength == 0 ? "flat" : "curved"},
                         {"orders", found.orders}};
  if (choice.wavelength != 0) json["wavelength"] = choice.wavelength;
  std::optional<double> worst;
  std::size_t undetermined = 0;
  for (const double condition : found.conditions) {
    if (std::isfinite(condition)) {
      worst = std::max(worst.value_or(condition), condition);
    } else {
      ++undetermined;
    }
  }
  json["worst_condition"] = worst ? nlohmann::json(*worst) : nlohmann::json();
  json["undetermined_pairs"] = undetermined;
  return json;
}

// The reasons that most snapshots were rejected for.
nlohmann::json describe_reasons(const SnapshotTable& snapshots) {
  constexpr std::size_t kMost = 10;
  std::vector<std::pair<std::uint64_t, std::size_t>> counts(snapshots.reasons().size());
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i].second = i;
  for (const Snapshot& row : snapshots.rows()) {
    if (row.reason != 0) ++counts[row.reason - 1].first;
  }
  std::ranges::stable_sort(counts, std::ranges::greater{}, [](const auto& count) { return count.first; });
  nlohmann::json json = nlohmann::json::object();
  for (std::size_t i = 0; i < std::min(kMost, counts.size()); ++i)
    json[to_utf8(snapshots.reasons()[counts[i].second])] = counts[i].first;
  return json;
}

}  // namespace

nlohmann::json describe_correlation(const fs::path& path) {
  const CorrelationContent content(path);
  const Hdf5Session scope;
  const CorrelationRecord record = content.record();
  const CorrelationSetup& setup = record.setup;
  const auto text = [&](const char* name) { return to_utf8(content.fields().text(in_process(name))); };
  nlohmann::json json = {
      {"kind", "correlation of snapshots"},
      {"program", text("program")},
      {"version", text("version")},
      {"date", text("date")},
      {"finished", record.finished},
      {"precision", content.is_preview() ? "preview in single precision" : "exact integers"},
      {"rings", setup.shape.rings},
      {"angles", setup.shape.angles},
      {"axis", to_utf8(setup.radial.name)},
      {"unit", to_utf8(setup.radial.units)},
      {"range", {setup.radial.low(), setup.radial.high()}},
      {"scale", setup.scale},
      {"mean_subtracted", setup.polar.subtract_mean},
      {"snapshots",
       {{"counted", record.snapshots.count(SnapshotStatus::kCounted)},
        {"rejected", record.snapshots.count(SnapshotStatus::kRejected)},
        {"bad", record.snapshots.count(SnapshotStatus::kBad)},
        {"reasons", describe_reasons(record.snapshots)}}},
      {"plan_hash", to_utf8(setup.plan_hash)},
      {"backend", to_utf8(record.origin.backend)}};
  if (setup.polar.least_mean) json["least_mean"] = *setup.polar.least_mean;
  if (setup.polar.most_mean) json["most_mean"] = *setup.polar.most_mean;
  if (record.legendre) json["legendre"] = describe_legendre(*record.legendre, content.coefficients());
  json["options"] = nlohmann::json::object();
  for (const auto& [key, value] : record.origin.options) json["options"][to_utf8(key)] = to_utf8(value);
  return json;
}

void touch_correlation(const fs::path& path) {
  try {
    if (!is_correlation_file(path)) return;
    {
      const Hdf5Session scope;
      const Hdf5Handle file = open_to_read(path.string(), ReadFirst::kAsClosed);
      touch_objects(file.get());
    }
    describe_correlation(path);
  } catch (const Error&) {
    // Whoever reads it says so in its own words.
  }
}

}  // namespace annulus
