#include <annulus/core/text.hpp>
#include <annulus/correlation/legendre.hpp>
#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_layout.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/whole_file.hpp>
#include <annulus/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;
namespace layout_of = correlation_layout;

// Values of C2 that are made and written at once.
constexpr std::size_t kValuesAtOnce = std::size_t{1} << 20;

bool is_correlation(hid_t file) {
  return derived_file(file) == DerivedFile::kCorrelation &&
         read_text(file, std::string(layout_of::kProcess) + "/program", TextLength::kFixed) ==
             layout::kProgram;
}

constexpr WholeFileKind kKind{"correlation", "`output`", is_correlation};

Hdf5Handle create_dataset(hid_t group, const char* name, hid_t type, const std::vector<hsize_t>& extent) {
  const Hdf5Handle space(extent.empty()
                             ? H5Screate(H5S_SCALAR)
                             : H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                         H5Sclose);
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  Hdf5Handle dataset(H5Dcreate2(group, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                     H5Dclose);
  if (!dataset) throw_hdf5(ErrorKind::kOutput, group, fmt::format("cannot create the field \"{}\"", name));
  return dataset;
}

template <typename T>
Hdf5Handle write_values(hid_t group, const char* name, std::span<const T> values,
                        const std::vector<hsize_t>& extent) {
  Hdf5Handle dataset = create_dataset(group, name, layout_of::type_of<T>(), extent);
  if (!values.empty() &&
      H5Dwrite(dataset.get(), layout_of::type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    throw_hdf5(ErrorKind::kOutput, group, fmt::format("cannot write the field \"{}\"", name));
  return dataset;
}

template <typename T>
Hdf5Handle write_column(hid_t group, const char* name, const std::vector<T>& values) {
  return write_values<T>(group, name, values, {values.size()});
}

template <typename T, typename Get>
void write_column_of(hid_t group, const char* name, const std::vector<Snapshot>& rows, Get get) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Snapshot& row : rows) values.push_back(get(row));
  write_column(group, name, values);
}

// Texts of one length, padded with zeros.
void write_texts(hid_t group, const char* name, const std::vector<std::string>& texts) {
  std::vector<std::string> copies;
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, copies.emplace_back(to_utf8(text)).size());
  std::string bytes;
  for (const std::string& copy : copies) bytes.append(copy).append(width - copy.size(), '\0');
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), width);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  const Hdf5Handle dataset = create_dataset(group, name, type.get(), {texts.size()});
  if (!texts.empty() && H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    throw_hdf5(ErrorKind::kOutput, group, fmt::format("cannot write the field \"{}\"", name));
}

void write_process(hid_t entry, const CorrelationRecord& record, bool preview, const std::string& now) {
  const auto& [setup, origin, snapshots, legendre, finished] = record;
  const Hdf5Handle process = create_group(entry, "process", "NXprocess");
  write_text(process.get(), "program", FixedText{layout::kProgram});
  write_text(process.get(), "version", FixedText{kVersion});
  write_text(process.get(), "date", FixedText{now});
  write_flag(process.get(), "finished", finished);
  write_flag(process.get(), "preview", preview);
  write_text(process.get(), "backend", FixedText{origin.backend});
  write_text(process.get(), "plan_hash", FixedText{setup.plan_hash});
  write_text(process.get(), "poni", FixedText{origin.poni_text});
  write_text(process.get(), "configuration", FixedText{origin.config_json});
  write_text(process.get(), "working_directory", FixedText{origin.working_directory});
  const std::int64_t scale = setup.scale;
  write_values<std::int64_t>(process.get(), "scale", {&scale, 1}, {});
  write_flag(process.get(), "mean_subtracted", setup.polar.subtract_mean);
  if (setup.polar.least_mean) write_number(process.get(), "least_mean", *setup.polar.least_mean, nullptr);
  if (setup.polar.most_mean) write_number(process.get(), "most_mean", *setup.polar.most_mean, nullptr);
  write_number(process.get(), "normalization_factor", setup.normalization_factor, nullptr);
  write_text(process.get(), "monitor", FixedText{setup.monitor});
  write_number(process.get(), "counted", snapshots.count(SnapshotStatus::kCounted));
  write_number(process.get(), "rejected", snapshots.count(SnapshotStatus::kRejected));
  write_number(process.get(), "bad", snapshots.count(SnapshotStatus::kBad));
  const Hdf5Handle options = create_ordered_group(process.get(), "options", "NXparameters");
  for (const auto& [key, text] : origin.options) write_text(options.get(), key, FixedText{text});
}

Hdf5Handle create_data(hid_t entry, const char* name, const char* signal, const std::vector<FixedText>& axes,
                       const char* title) {
  Hdf5Handle group = create_group(entry, name, "NXdata");
  write_attribute(group.get(), "signal", FixedText{signal});
  write_attribute(group.get(), "axes", axes);
  write_text(group.get(), "title", FixedText{title});
  return group;
}

void write_rings(hid_t group, const char* name, const Axis& radial) {
  const Hdf5Handle q = write_column(group, name, radial.centres);
  if (!radial.units.empty()) write_attribute(q.get(), "units", FixedText{radial.units});
  write_attribute(q.get(), "long_name", FixedText{radial.name});
}

void write_angles(hid_t group, std::size_t angles) {
  std::vector<double> degrees(angles);
  for (std::size_t d = 0; d < angles; ++d)
    degrees[d] = 360.0 * static_cast<double>(d) / static_cast<double>(angles);
  const Hdf5Handle angle = write_column(group, "angle", degrees);
  write_attribute(angle.get(), "units", FixedText{"degrees"});
  write_attribute(angle.get(), "long_name", FixedText{"angle between the two points"});
}

// One value of C2.
template <typename Sums>
double c2_at(const Sums& sums, std::size_t place) {
  double value = 0;
  sums.normalize(place, {&value, 1});
  return value;
}

template <typename Sums>
void write_c2(hid_t group, const Sums& sums) {
  const PolarShape& shape = sums.shape;
  const Hdf5Handle dataset = create_dataset(group, "c2", H5T_NATIVE_DOUBLE, {shape.pairs(), shape.angles});
  write_attribute(dataset.get(), "long_name", FixedText{"C2(q, q', angle)"});
  const std::size_t at_once = std::max<std::size_t>(kValuesAtOnce / shape.angles, 1);
  std::vector<double> values;
  for (std::size_t first = 0; first < shape.pairs(); first += at_once) {
    const std::size_t pairs = std::min(at_once, shape.pairs() - first);
    values.resize(pairs * shape.angles);
    sums.normalize(first * shape.angles, values);
    const hsize_t start[] = {first, 0}, count[] = {pairs, shape.angles};
    const Hdf5Handle memory(H5Screate_simple(2, count, nullptr), H5Sclose);
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
        H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT, values.data()) < 0)
      throw_hdf5(ErrorKind::kOutput, group, "cannot write C2");
  }
}

template <typename Sums>
void write_sums(hid_t entry, const Sums& sums) {
  using Signal = typename decltype(sums.signal)::value_type;
  const PolarShape& shape = sums.shape;
  const Hdf5Handle group =
      create_data(entry, "correlation", "c2", {{"pair"}, {"angle"}}, "C2 of all pairs of rings");
  write_values<Signal>(group.get(), "signal", sums.signal, {shape.pairs(), shape.angles});
  write_values<std::int64_t>(group.get(), "mask", sums.mask, {shape.pairs(), shape.angles});
  write_c2(group.get(), sums);
  std::vector<std::uint32_t> ring, other, pair;
  for (std::size_t q = 0; q < shape.rings; ++q) {
    for (std::size_t to = q; to < shape.rings; ++to) {
      pair.push_back(static_cast<std::uint32_t>(pair.size()));
      ring.push_back(static_cast<std::uint32_t>(q));
      other.push_back(static_cast<std::uint32_t>(to));
    }
  }
  write_column(group.get(), "pair", pair);
  write_column(group.get(), "ring", ring);
  write_column(group.get(), "other_ring", other);
  write_angles(group.get(), shape.angles);
  write_attribute(group.get(), "description",
                  FixedText{"c2 = signal / mask / 2^(2 scale). Pairs are those of ring and other_ring >= "
                            "ring; C2(q', q, angle) = C2(q, q', -angle)."});
}

template <typename Sums>
void write_views(hid_t entry, const CorrelationSetup& setup, const Sums& sums, bool preview) {
  const PolarShape& shape = setup.shape;
  const std::string mark = preview ? " (preview in single precision)" : "";
  {
    std::vector<double> values(shape.values());
    for (std::size_t q = 0; q < shape.rings; ++q) {
      sums.normalize(shape.pair(q, q) * shape.angles,
                     std::span(values).subspan(q * shape.angles, shape.angles));
    }
    const Hdf5Handle group =
        create_data(entry, "c2_on_ring", "data", {{"q"}, {"angle"}}, ("C2(q, q, angle)" + mark).c_str());
    const Hdf5Handle data = write_values<double>(group.get(), "data", values, {shape.rings, shape.angles});
    write_attribute(data.get(), "interpretation", FixedText{"image"});
    write_attribute(data.get(), "long_name", FixedText{"C2(q, q, angle)"});
    write_rings(group.get(), "q", setup.radial);
    if (!setup.radial.edges.empty()) write_column(group.get(), "q_edges", setup.radial.edges);
    write_angles(group.get(), shape.angles);
  }
  std::vector<double> values;
  for (std::size_t q = 0; q < shape.rings; ++q) {
    for (std::size_t other = 0; other < shape.rings; ++other)
      values.push_back(c2_at(sums, shape.pair(std::min(q, other), std::max(q, other)) * shape.angles));
  }
  const Hdf5Handle group =
      create_data(entry, "c2_at_zero", "data", {{"q"}, {"other_q"}}, ("C2(q, q', 0)" + mark).c_str());
  const Hdf5Handle data = write_values<double>(group.get(), "data", values, {shape.rings, shape.rings});
  write_attribute(data.get(), "interpretation", FixedText{"image"});
  write_attribute(data.get(), "long_name", FixedText{"C2(q, q', 0)"});
  write_rings(group.get(), "q", setup.radial);
  write_rings(group.get(), "other_q", setup.radial);
}

// What was asked for is stored at once, the coefficients when all snapshots are there.
template <typename Sums>
void write_legendre(hid_t entry, const CorrelationRecord& record, const Sums& sums, unsigned threads) {
  if (!record.legendre) return;
  const LegendreChoice& choice = *record.legendre;
  const PolarShape& shape = record.setup.shape;
  const Hdf5Handle group =
      create_data(entry, "legendre", "data", {{"pair"}, {"order"}}, "Legendre coefficients of C2");
  write_number(group.get(), "highest", std::uint64_t{choice.highest});
  write_number(group.get(), "wavelength", choice.wavelength, nullptr);
  write_column(group.get(), "q", choice.q);
  if (!record.finished) return;
  LargeVector<double> values(shape.correlations());
  sums.normalize(0, values);
  LegendreOptions options;
  options.highest = choice.highest;
  options.wavelength = choice.wavelength;
  options.q = choice.q;
  options.threads = threads;
  const LegendreCoefficients found = legendre_coefficients(shape, values, options);
  write_column(group.get(), "order", std::vector<std::uint64_t>(found.orders.begin(), found.orders.end()));
  write_values<double>(group.get(), "data", found.values, {shape.pairs(), found.orders.size()});
  write_values<double>(group.get(), "condition", found.conditions, {shape.pairs()});
}

void write_snapshots(hid_t entry, const SnapshotTable& snapshots) {
  const Hdf5Handle group = create_group(entry, "snapshots", "NXcollection");
  const std::vector<Snapshot>& rows = snapshots.rows();
  const hid_t id = group.get();
  write_column_of<std::uint64_t>(id, "frame_index", rows, [](const Snapshot& row) { return row.index; });
  write_column_of<std::uint64_t>(id, "frame_in_source", rows,
                                 [](const Snapshot& row) { return row.in_source; });
  write_column_of<std::uint32_t>(id, "source", rows, [](const Snapshot& row) { return row.source; });
  write_column_of<double>(id, "mean", rows, [](const Snapshot& row) { return row.mean; });
  write_column_of<std::uint8_t>(id, "status", rows,
                                [](const Snapshot& row) { return static_cast<std::uint8_t>(row.status); });
  write_column_of<std::uint32_t>(id, "reason", rows, [](const Snapshot& row) { return row.reason; });
  std::vector<std::uint64_t> ids;
  ids.reserve(2 * rows.size());
  for (const Snapshot& row : rows) ids.insert(ids.end(), row.source_id.begin(), row.source_id.end());
  write_values<std::uint64_t>(id, "source_id", ids, {rows.size(), 2});
  write_texts(id, "sources", snapshots.sources());
  write_texts(id, "reasons", snapshots.reasons());
  write_attribute(id, "description",
                  FixedText{"A row per snapshot. source is its place in sources, reason that in reasons, "
                            "from 1 (0: none). status: 0 counted, 1 rejected, 2 bad."});
}

template <typename Sums>
void fill(hid_t file, const CorrelationRecord& record, const Sums& sums, unsigned threads) {
  const bool preview = std::is_same_v<Sums, PreviewSums>;
  const std::string now = iso_time();
  write_root(file, kVersion, now);
  const Hdf5Handle entry = create_group(file, "entry", "NXentry");
  write_attribute(entry.get(), "default", FixedText{"c2_on_ring"});
  write_text(entry.get(), "title",
             FixedText{preview ? "angular correlation of snapshots: preview in single precision"
                               : "angular correlation of snapshots"});
  write_process(entry.get(), record, preview, now);
  write_sums(entry.get(), sums);
  write_views(entry.get(), record.setup, sums, preview);
  write_legendre(entry.get(), record, sums, threads);
  write_snapshots(entry.get(), record.snapshots);
  {
    const Hdf5Handle checksums = create_group(entry.get(), "checksums", "NXcollection");
    write_number(checksums.get(), "signal",
                 row_checksum(checksum_seed(layout_of::kSignal), std::as_bytes(std::span(sums.signal))));
    write_number(checksums.get(), "mask",
                 row_checksum(checksum_seed(layout_of::kMask), std::as_bytes(std::span(sums.mask))));
    write_number(checksums.get(), "header", std::uint64_t{0});
  }
  overwrite_number(file, layout_of::kHeaderChecksum, header_checksum(file, layout_of::kWithoutHeader));
}

}  // namespace

void write_correlation(const fs::path& path, const CorrelationRecord& record, const CorrelationSums& sums,
                       bool overwrite, unsigned threads, const std::optional<FileStamp>& known) {
  write_whole_file(
      path, overwrite, kKind, [&](hid_t file) { fill(file, record, sums, threads); }, known);
}

void write_correlation(const fs::path& path, const CorrelationRecord& record, const PreviewSums& sums,
                       bool overwrite, unsigned threads, const std::optional<FileStamp>& known) {
  write_whole_file(
      path, overwrite, kKind, [&](hid_t file) { fill(file, record, sums, threads); }, known);
}

bool check_correlation_place(const fs::path& path, bool overwrite) {
  return check_place(path, overwrite, kKind);
}

void check_correlation_is_free(const fs::path& path) { check_replacing(path, kKind); }

}  // namespace annulus
