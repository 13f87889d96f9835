#include <annulus/core/text.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/row_dataset.hpp>
#include <annulus/outputs/stored_recipe.hpp>
#include <annulus/plan/spread_table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

namespace annulus {
namespace {

constexpr double kHcKeVAngstrom = 12.398419843320026;  // exact since the SI of 2019
constexpr std::size_t kScalarChunkRows = 1024;         // of datasets with one small value a frame

constexpr std::string_view kReference =
    "Azimuthal integration with pixel splitting, quantities as in pyFAI (Ashiotis et al., "
    "J. Appl. Cryst. 48, 510 (2015), doi:10.1107/S1600576715004306), summed exactly in fixed point.";

constexpr std::string_view kAccumulatorsDescription =
    "Exact integer sums of each frame, from which data/I and data/I_errors follow. With "
    "C = count - missing_count[frame], "
    "N = (normalization - missing_normalization[frame]) * 2^-(weight_bits + normalization_bits) "
    "* frames/normalization_factor[frame], "
    "S = signal[frame] * 2^-(weight_bits + fraction_bits[frame]), "
    "D = (dark - missing_dark[frame]) * 2^-(weight_bits + dark_bits), 0 where there is no dark, and "
    "V = variance[frame] * 2^-(variance_bits + fraction_bits[frame]): "
    "I = (S - D) / N and I_errors = sqrt(V) / N, evaluated in double precision in this order; "
    "NaN where C or N is 0. If there are signal_word1 and so on, signal is the sum of signal_word<w> * 2^(64 "
    "w), "
    "with signal as word 0, rounded once to double; the same is true for the other sums. Frames of one "
    "plan_hash "
    "and equal fraction_bits may be merged by adding "
    "these integers, the totals of the plan once a frame.";

// Added for recipes that need a spread table.
constexpr std::string_view kSpreadDescription =
    " Pixels that a clip left out are missing in all of these sums, clipped counts them, and emptied is 1 "
    "where "
    "the next step of the clip would have left nothing. A pixel's value s is its count less its dark, in "
    "units of "
    "2^-v, v = fraction_bits[frame] + dark_shift; its divisor n is its normalization in units of "
    "2^-divisor_bits; q is the square of its weight in units of 2^-square_bits. value_squares sums q s s, "
    "products "
    "q s n, and squares - missing_squares[frame] q n n. With "
    "A = value_squares[frame] * 2^-(square_bits + 2 v), B = products[frame] * 2^-(square_bits + v + "
    "divisor_bits), Q = (squares - missing_squares[frame]) * 2^-(square_bits + 2 divisor_bits), M = N / "
    "normalization_factor and m = (S - D) / M, the spread of the pixels is W = max(0, A - 2 m B + m m Q). "
    "If error_model is azimuthal, W takes the place of V in I_errors, the standard error of the mean. "
    "I_deviation = sqrt(V / Q) / normalization_factor, of the same V or W, is the standard deviation of a "
    "pixel. "
    "spottiness = W / (V (1 - Q / (M M))) - 1, with V of variance.";

}  // namespace

void write_root(hid_t file, std::string_view version, std::string_view now) {
  write_attribute(file, "NX_class", std::string_view("NXroot"));
  write_attribute(file, "default", std::string_view("entry"));
  write_attribute(file, "creator", std::string_view(layout::kProgram));
  write_attribute(file, "creator_version", version);
  write_attribute(file, "file_time", now);
  write_attribute(file, "HDF5_Version", std::string_view(H5_VERS_INFO));
}

namespace {

void write_instrument(hid_t entry, const Geometry& geometry) {
  const Hdf5Handle instrument = create_group(entry, "instrument", "NXinstrument");
  write_text(instrument.get(), "name", "unknown");
  const Hdf5Handle source = create_group(instrument.get(), "source", "NXsource");
  write_text(source.get(), "name", "unknown");
  write_text(source.get(), "type", "unknown");
  write_text(source.get(), "probe", "x-ray");
  if (geometry.wavelength) {
    const double angstrom = *geometry.wavelength * 1e10;
    const Hdf5Handle monochromator = create_group(instrument.get(), "monochromator", "NXmonochromator");
    write_number(monochromator.get(), "wavelength", angstrom, "angstrom");
    write_number(monochromator.get(), "energy", kHcKeVAngstrom / angstrom, "keV");
  }
  const Hdf5Handle detector = create_group(instrument.get(), "detector", "NXdetector");
  write_text(detector.get(), "description", geometry.detector.name);
  write_number(detector.get(), "distance", geometry.distance, "m");
  write_number(detector.get(), "x_pixel_size", geometry.detector.pixel2, "m");
  write_number(detector.get(), "y_pixel_size", geometry.detector.pixel1, "m");
}

std::string field_name(std::string name, std::set<std::string>& taken) {
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.empty() || name == ".") name = "option";
  if (std::find(std::begin(layout::kReservedInputs), std::end(layout::kReservedInputs), name) !=
      std::end(layout::kReservedInputs)) {
    name += "_option";
  }
  while (!taken.insert(name).second) name += "_";
  return name;
}

Hdf5Handle write_reduction(hid_t entry, const Plan& plan, const RunDescription& run, const std::string& now) {
  Hdf5Handle reduction = create_group(entry, "reduction", "NXprocess");
  write_text(reduction.get(), "program", layout::kProgram);
  write_text(reduction.get(), "version", run.program_version);
  write_text(reduction.get(), "date", now);
  write_text(reduction.get(), "reference", kReference);
  // Options keep the order in which the command table has them.
  const Hdf5Handle input = create_ordered_group(reduction.get(), "input", "NXparameters");
  std::set<std::string> taken;
  for (const auto& [name, value] : run.options) write_text(input.get(), field_name(name, taken), value);
  // By the names that NXazint1d has for them: importers look for these.
  const bool degrees = plan.options.unit == Unit::kTwoThetaDeg;
  write_text(input.get(), "unit", degrees ? std::string_view("2th") : name_of(plan.options.unit));
  if (plan.options.polarization)
    write_number(input.get(), "polarization_factor", *plan.options.polarization, nullptr);
  if (plan.axes.size() > 1) write_number(input.get(), "azimuth_bins", std::uint64_t{plan.axes[1].bins()});
  write_text(input.get(), "poni", run.poni_text);
  write_text(input.get(), "configuration", run.config_json);
  write_text(input.get(), "plan_hash", plan.hash);
  write_text(input.get(), "backend", run.backend);
  write_text(input.get(), "working_directory", run.working_directory.string());
  return reduction;
}

std::string description_of(const Recipe& recipe) {
  std::string text(kAccumulatorsDescription);
  if (recipe.needs_spread_table()) text += kSpreadDescription;
  return text;
}

void write_spread_totals(hid_t group, const SpreadTable& table, std::size_t lines) {
  write_attribute(group, "divisor_bits", std::int32_t{table.divisor_bits});
  write_attribute(group, "square_bits", std::int32_t{table.square_bits});
  write_attribute(group, "dark_shift", std::int32_t{table.dark_shift});
  write_array(group, layout::kTotalSquares, table.squares, lines);
  write_array(group, layout::kTotalSquaresWord1, table.squares_word1, lines);
}

void write_totals(hid_t reduction, const Job& job) {
  const Plan& plan = *job.plan;
  const Hdf5Handle group = create_group_of_many_attributes(reduction, "accumulators", "NXcollection");
  write_attribute(group.get(), "weight_bits", std::int32_t{plan.weight_bits});
  write_attribute(group.get(), "variance_bits", std::int32_t{plan.variance_bits});
  write_attribute(group.get(), "normalization_bits", std::int32_t{plan.normalization_bits});
  write_attribute(group.get(), "dark_bits", std::int32_t{plan.dark_bits});
  write_attribute(group.get(), "description", std::string_view(description_of(job.recipe)));
  if (!job.recipe.beyond_sums().empty()) write_recipe(group.get(), job.recipe);
  const std::size_t lines = layout::extent_of(plan.axes).lines;
  write_array(group.get(), "normalization", plan.totals.normalization, lines);
  write_array(group.get(), "count", plan.totals.count, lines);
  if (!plan.totals.dark.empty()) write_array(group.get(), "dark", plan.totals.dark, lines);
  if (job.recipe.needs_spread_table()) write_spread_totals(group.get(), *plan.spread, lines);
}

void write_axis(hid_t data, const Axis& axis) {
  const auto write = [&](const std::string& field, const std::vector<double>& values,
                         const std::string& name) {
    const Hdf5Handle dataset = write_array(data, field.c_str(), values);
    write_attribute(dataset.get(), "units", std::string_view(axis.units));
    write_attribute(dataset.get(), "long_name", std::string_view(name));
  };
  write(layout::axis_field(axis.kind), axis.centres, axis.name);
  write(layout::edges_field(axis.kind), axis.edges, axis.name + " bin edges");
}

void write_data(hid_t entry, const Plan& plan) {
  const Hdf5Handle data = create_group(entry, "data", "NXdata");
  write_attribute(data.get(), "signal", std::string_view("I"));
  std::vector<std::string> dimensions{"."};  // the slowest first: frames, of which NeXus needs no axis
  for (auto axis = plan.axes.rbegin(); axis != plan.axes.rend(); ++axis) {
    dimensions.push_back(layout::axis_field(axis->kind));
  }
  write_attribute(data.get(), "axes", dimensions);
  write_attribute(data.get(), "interpretation", std::string_view(layout::kind_of(plan.axes).interpretation));
  for (const Axis& axis : plan.axes) write_axis(data.get(), axis);

  std::vector<double> values(plan.totals.normalization.size());
  const double unit = std::ldexp(1.0, -(plan.weight_bits + plan.normalization_bits));
  std::transform(plan.totals.normalization.begin(), plan.totals.normalization.end(), values.begin(),
                 [unit](std::int64_t total) { return static_cast<double>(total) * unit; });
  const Hdf5Handle norm = write_array(data.get(), "norm", values, layout::extent_of(plan.axes).lines);
  write_attribute(norm.get(), "units", std::string_view("arbitrary units"));
  write_attribute(norm.get(), "long_name",
                  std::string_view("effective number of pixels contributing to the corresponding bin"));
}

}  // namespace

void create_word_rows(hid_t file, const Job& job, std::uint64_t expected) {
  const RowExtent bins = layout::extent_of(job.plan->axes);
  const RowChunk chunk = layout::chunk_of(bins, expected), sparse = layout::sparse_chunk_of(bins, expected);
  const std::int64_t zero = 0;
  for (const Quantity quantity : job.quantities()) {
    for (std::size_t word = 0; word < most_words(job.plan->pixel_type, quantity); ++word) {
      const std::string path = layout::sums_of(quantity, word);
      if (has_object(file, path)) continue;
      create_rows(file, path.c_str(), H5T_NATIVE_INT64, bins,
                  layout::is_sparse(quantity, word) ? sparse : chunk, &zero);
    }
  }
}

namespace {

struct CurveLabel {
  const char* units;
  const char* long_name;
};
constexpr const char* kArbitrary = "arbitrary units";

CurveLabel label_of(const layout::Curve& curve, const Recipe& recipe) {
  const std::string_view path = curve.path;
  if (path == layout::kSpottiness)
    return {"", "spread of the pixels over that of counting statistics, minus 1"};
  if (path == layout::kDeviation) return {kArbitrary, "standard deviation of a pixel (std)"};
  if (path != layout::kErrors) return {kArbitrary, "intensity"};
  return {kArbitrary,
          recipe.needs_spread_table() ? "standard error of the mean (sem)" : "estimated intensity error"};
}

void create_bin_rows(hid_t file, const Job& job, std::uint64_t expected) {
  const RowExtent bins = layout::extent_of(job.plan->axes);
  const RowChunk chunk = layout::chunk_of(bins, expected);
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  for (const layout::Curve& curve : layout::kCurves) {
    if (!curve.is_made(job.recipe)) continue;
    const Hdf5Handle rows = create_rows(file, curve.path, H5T_NATIVE_DOUBLE, bins, chunk, &nothing);
    const CurveLabel label = label_of(curve, job.recipe);
    write_attribute(rows.get(), "units", std::string_view(label.units));
    write_attribute(rows.get(), "long_name", std::string_view(label.long_name));
  }
  create_word_rows(file, job, expected);
}

RowChunk scalar_chunk(std::uint64_t expected) {
  return {expected == 0 ? kScalarChunkRows : std::min<std::uint64_t>(kScalarChunkRows, expected)};
}

void create_frame_rows(hid_t file, hid_t entry, const RunDescription& run) {
  const Hdf5Handle frames = create_group(entry, "frames", "NXcollection");
  write_attribute(frames.get(), "description",
                  std::string_view("One row per frame. normalization_factor: what divided "
                                   "the pattern. status: 0 good, 1 bad (all NaN, for the reason in "
                                   "fault). status is written after everything else of a frame: its length "
                                   "is the number of frames that are stored."));
  if (!run.scan_shape.empty()) {
    const std::vector<std::int64_t> sides(run.scan_shape.begin(), run.scan_shape.end());
    write_array(file, layout::kScanShape, sides);
  }
  const std::uint64_t expected = run.expected_frames;
  const RowExtent one_value;
  const RowChunk chunk = scalar_chunk(expected);
  const std::uint64_t zero = 0;
  const auto not_stored = static_cast<std::uint8_t>(layout::Status::kNotStored);
  create_rows(file, layout::kFrameIndex, H5T_NATIVE_UINT64, one_value, chunk, &zero);
  create_rows(file, layout::kSourceId, H5T_NATIVE_UINT64, layout::kSourceIdRow, chunk, &zero);
  create_rows(file, layout::kFrameInSource, H5T_NATIVE_UINT64, one_value, chunk, &zero);
  const double one = 1;
  create_rows(file, layout::kNormalizationFactor, H5T_NATIVE_DOUBLE, one_value, chunk, &one);
  create_rows(file, layout::kInvalidPixels, H5T_NATIVE_UINT64, one_value, chunk, &zero);
  create_rows(file, layout::kFractionBits, H5T_NATIVE_INT32, one_value, chunk, &zero);
  create_rows(file, layout::kStatus, H5T_NATIVE_UINT8, one_value, chunk, &not_stored);

  const auto create_texts = [&](const char* path, std::size_t length) {
    const Hdf5Handle type = fixed_text_type(length);
    const std::string empty(length, '\0');
    const RowChunk texts{std::min(layout::chunk_rows(length, expected), chunk.rows)};
    create_rows(file, path, type.get(), layout::kTextRow, texts, empty.data());
  };
  create_texts(layout::kSource, layout::source_length(run.longest_source_name));
  create_texts(layout::kFault, layout::kFaultLength);
}

constexpr std::string_view kColumnsDescription =
    "Values that frames have beside their pixels, one per frame, such as motors and monitors. NaN where a "
    "value is missing. origin: where the values came from.";

}  // namespace

void create_columns(hid_t file, const std::vector<ColumnInfo>& columns, std::uint64_t expected) {
  if (columns.empty()) return;
  const Hdf5Handle group = create_group(file, layout::kColumns, "NXcollection");
  write_attribute(group.get(), "description", kColumnsDescription);
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  for (const ColumnInfo& column : columns) {
    const Hdf5Handle dataset = create_rows(file, layout::column_path(column.name).c_str(), H5T_NATIVE_DOUBLE,
                                           {}, scalar_chunk(expected), &nothing);
    if (!column.unit.empty()) write_attribute(dataset.get(), "units", std::string_view(column.unit));
    if (!column.origin.empty())
      write_attribute(dataset.get(), "origin", std::string_view(to_utf8(column.origin)));
  }
}

namespace {

constexpr std::string_view kChecksumsDescription =
    "XXH3, 64 bits. frames: one per frame, over what every dataset with a row per frame holds for it. "
    "header: over all that is stored once. closing: over the number of frames and the end time, written "
    "when the file is closed; until then a mark.";

}  // namespace

void write_checksums(hid_t file, hid_t entry, std::uint64_t expected) {
  write_checksums(file, entry, [&] {
    const std::uint64_t none = 0;
    create_rows(file, layout::kFrameChecksums, H5T_NATIVE_UINT64, {}, scalar_chunk(expected), &none);
  });
}

void write_checksums(hid_t file, hid_t entry, const std::function<void()>& make_rows) {
  const Hdf5Handle group = create_group(entry, "checksums", "NXcollection");
  write_attribute(group.get(), "description", kChecksumsDescription);
  make_rows();
  const std::uint64_t none = 0;
  write_number(group.get(), "header", none);
  write_number(group.get(), "closing", none);
  const std::uint64_t header = header_checksum(file);
  overwrite_number(file, layout::kHeaderChecksum, header);
  overwrite_number(file, layout::kClosingChecksum, open_mark(header));
}

void write_end_time(hid_t file, std::string now) {
  const Hdf5Handle type = fixed_text_type(layout::kTimeLength);
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle field(
      H5Dcreate2(file, layout::kEndTime, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  now.resize(layout::kTimeLength);
  if (!field || H5Dwrite(field.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, now.data()) < 0) {
    throw_hdf5(ErrorKind::kOutput, file, "cannot write the field \"end_time\"");
  }
}

void write_structure(hid_t file, const std::string& name, const Job& job, const RunDescription& run) {
  const Plan& plan = *job.plan;
  const std::string now = iso_time();
  write_root(file, run.program_version, now);
  write_attribute(file, "file_name", std::string_view(name));
  const Hdf5Handle entry = create_group(file, "entry", "NXentry");
  write_attribute(entry.get(), "default", std::string_view("data"));
  write_text(entry.get(), "definition", layout::kind_of(plan.axes).definition);
  write_text(entry.get(), "title", "Azimuthal integration");
  write_text(entry.get(), "start_time", now);
  write_end_time(file, now);
  write_flag(entry.get(), "solid_angle_applied", plan.options.solid_angle);
  write_flag(entry.get(), "polarization_applied", plan.options.polarization.has_value());
  write_flag(entry.get(), "normalization_applied", true);
  write_flag(entry.get(), "monitor_applied", false);  // until a frame says otherwise
  write_instrument(entry.get(), plan.geometry);
  const Hdf5Handle reduction = write_reduction(entry.get(), plan, run, now);
  write_totals(reduction.get(), job);
  write_data(entry.get(), plan);
  create_bin_rows(file, job, run.expected_frames);
  create_frame_rows(file, entry.get(), run);
  create_columns(file, run.columns, run.expected_frames);
  create_outliers(file, plan.shape, run.outliers);
  write_checksums(file, entry.get(), run.expected_frames);
}

}  // namespace annulus
