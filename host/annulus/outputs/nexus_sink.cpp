#include <annulus/core/text.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>
#include <annulus/outputs/stored_rows.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace annulus {

struct NexusSink::Rows {
  Rows(hid_t file, const Job& job, const std::vector<ColumnInfo>& of_point)
      : fraction_bits(file, layout::kFractionBits, {}),
        invalid_pixels(file, layout::kInvalidPixels, {}),
        index(file, layout::kFrameIndex, {}),
        source(file, layout::kSource, layout::kTextRow),
        source_id(file, layout::kSourceId, layout::kSourceIdRow),
        frame_in_source(file, layout::kFrameInSource, {}),
        normalization(file, layout::kNormalizationFactor, {}),
        fault(file, layout::kFault, layout::kTextRow),
        checksum(file, layout::kFrameChecksums, {}),
        status(file, layout::kStatus, {}) {
    const RowExtent bins = layout::extent_of(job.plan->axes);
    for (const layout::Curve& curve : layout::kCurves) {
      if (curve.is_made(job.recipe)) curves.push_back({curve.values, RowDataset(file, curve.path, bins)});
    }
    for (const ColumnInfo& column : of_point)
      columns.emplace_back(file, layout::column_path(column.name).c_str(), RowExtent{});
    for (const Quantity quantity : job.quantities()) {
      for (std::size_t word = 0; word < most_words(job.plan->pixel_type, quantity); ++word) {
        sums.push_back({quantity, word, RowDataset(file, layout::sums_of(quantity, word).c_str(), bins)});
      }
    }
  }

  // Never shorter: those who read along rely on it, and so does whoever comes after a power failure.
  static void grow(RowDataset& dataset, std::uint64_t rows) {
    if (dataset.rows() < rows) dataset.resize(rows);
  }

  void grow_all_but_status(std::uint64_t rows) {
    for (RowDataset* dataset : {&fraction_bits, &invalid_pixels, &index, &source, &source_id,
                                &frame_in_source, &normalization, &fault, &checksum}) {
      grow(*dataset, rows);
    }
    for (Curve& curve : curves) grow(curve.dataset, rows);
    for (Plane& plane : sums) grow(plane.dataset, rows);
    for (RowDataset& column : columns) grow(column, rows);
  }

  bool longer_than(std::uint64_t rows) const {
    const auto longer = [rows](const RowDataset& dataset) { return dataset.rows() > rows; };
    return longer(fraction_bits) || longer(invalid_pixels) || longer(index) || longer(source) ||
           longer(source_id) || longer(frame_in_source) || longer(normalization) || longer(fault) ||
           longer(checksum) || longer(status) ||
           std::any_of(curves.begin(), curves.end(),
                       [&](const Curve& curve) { return longer(curve.dataset); }) ||
           std::any_of(columns.begin(), columns.end(), longer) ||
           std::any_of(sums.begin(), sums.end(), [&](const Plane& plane) { return longer(plane.dataset); });
  }

  struct Curve {
    PooledArray<double> Pattern::*values;
    RowDataset dataset;
  };

  // One word of one quantity.
  struct Plane {
    Quantity quantity;
    std::size_t word;
    RowDataset dataset;
    bool is_sparse() const { return layout::is_sparse(quantity, word); }
    std::span<const std::int64_t> of(const ReducedFrame& frame) const {
      return frame.sums.word(quantity, word);
    }
  };

  std::vector<Curve> curves;
  std::vector<Plane> sums;
  std::vector<RowDataset> columns;
  RowDataset fraction_bits, invalid_pixels;
  RowDataset index, source, source_id, frame_in_source, normalization, fault, checksum, status;
};

// Frames that are being appended.
struct NexusSink::Batch {
  // Writes the rows of frames [at, at + count).
  void put(RowDataset& dataset, std::size_t at, std::size_t count, const void* values) {
    dataset.write(first + at, count, values);
    const auto* row = static_cast<const std::byte*>(values);
    for (std::size_t i = 0; i < count; ++i, row += dataset.row_bytes())
      checksums[at + i] += dataset.checksum(row);
  }
  void leave_unwritten(const RowDataset& dataset) {
    for (std::uint64_t& checksum : checksums) checksum += dataset.checksum_of_unwritten();
  }

  const std::vector<ReducedFrame>& frames;
  std::uint64_t first;  // row of the first of them
  std::vector<std::byte>& staging;
  std::vector<std::uint64_t> checksums =
      std::vector<std::uint64_t>(frames.size());  // sums, while rows are added
};

namespace {

// One value a frame, taken from each frame in turn.
template <typename T, typename Batch, typename Get>
void write_column(RowDataset& dataset, Batch& batch, Get get) {
  std::vector<T> column;
  column.reserve(batch.frames.size());
  for (const ReducedFrame& frame : batch.frames) column.push_back(get(frame));
  batch.put(dataset, 0, column.size(), column.data());
}

// One row of bins a frame; `absent` stands for frames that have none.
template <typename T, typename Batch, typename Get>
void write_rows(RowDataset& dataset, Batch& batch, RowExtent extent, T absent, Get get) {
  const std::size_t bins = extent.values();
  if (layout::is_large(extent)) {
    for (std::size_t i = 0; i < batch.frames.size(); ++i) {
      const std::span<const T> values = get(batch.frames[i]);
      batch.put(dataset, i, 1, values.empty() ? std::vector<T>(bins, absent).data() : values.data());
    }
    return;
  }
  batch.staging.resize(batch.frames.size() * bins * sizeof(T));
  T* row = reinterpret_cast<T*>(batch.staging.data());
  for (const ReducedFrame& frame : batch.frames) {
    const std::span<const T> values = get(frame);
    if (values.empty()) {
      std::fill_n(row, bins, absent);
    } else {
      std::copy(values.begin(), values.end(), row);
    }
    row += bins;
  }
  batch.put(dataset, 0, batch.frames.size(), batch.staging.data());
}

template <typename Batch, typename Get>
void write_texts(RowDataset& dataset, Batch& batch, Get get) {
  const std::size_t length = dataset.value_bytes();
  batch.staging.assign(batch.frames.size() * length, std::byte{0});
  std::byte* target = batch.staging.data();
  for (const ReducedFrame& frame : batch.frames) {
    const std::string text = get(frame, length);
    std::memcpy(target, text.data(), std::min(text.size(), length));
    target += length;
  }
  batch.put(dataset, 0, batch.frames.size(), batch.staging.data());
}

std::uint8_t status_of(const ReducedFrame& frame) {
  return static_cast<std::uint8_t>(frame.fault.empty() ? layout::Status::kGood : layout::Status::kBad);
}

}  // namespace

NexusSink::NexusSink(std::filesystem::path path, Job job, const RunDescription& run, IfExists if_exists,
                     std::shared_ptr<WriteFault> fault)
    : path_(std::move(path)),
      job_(std::move(job)),
      columns_(run.columns),
      fault_(std::move(fault)),
      numbered_by_place_(run.numbered_by_place),
      taken_(run.taken),
      stored_frames_(run.working_directory) {
  check_columns(path_, columns_);
  const Hdf5Session scope;
  file_ = open_nexus_file(path_, job_, run, if_exists, fault_);
  step([&] {
    rows_ = std::make_unique<Rows>(file_.get(), job_, columns_);
    stored_ = written_ = stored_frames(file_.get());
    outliers_.emplace(file_.get(), run, stored_);
    header_checksum_ = read_whole_number(file_.get(), layout::kHeaderChecksum).value_or(0);
    mark_open();
    read_stored_frames(run);
    index_offset_ = numbers_.end();
  });
}

NexusSink::~NexusSink() {
  try {
    close();
  } catch (...) {  // the destructor has nobody to tell; close() is there for that
  }
}

void NexusSink::append(const std::vector<ReducedFrame>& frames) {
  if (frames.empty()) return;
  for (const ReducedFrame& frame : frames) check_frame(job_, frame, columns_.size());
  take_numbers(frames);
  const Hdf5Session scope;
  step([&] {
    rows_->grow_all_but_status(written_ + frames.size());
    Batch batch{frames, written_, staging_};
    write_bins(batch);
    write_sparse(batch);
    write_frames(batch);
    write_checksums(batch);
    for (const ReducedFrame& frame : frames) outliers_->add(frame);
  });
  written_ += frames.size();
  for (const ReducedFrame& frame : frames) statuses_.push_back(status_of(frame));
}

// What waits for the disk does not keep HDF5 from others.
void NexusSink::flush() {
  step([&] { check_presence(*fault_); });
  if (statuses_.empty()) return;
  step([&] { flush_rows(); });
  step([&] { commit(*fault_); });
  step([&] { flush_status(); });
  step([&] { commit(*fault_, LastSync::kLater); });
  stored_ = written_;
  statuses_.clear();
}

void NexusSink::close() {
  if (closed_ || failure_) return;
  flush();
  step([&] { commit(*fault_); });  // the last marks, too, before anything says that the file is complete
  step([&] {
    const Hdf5Session scope;
    // What a killed writer left, or an append that ended early.
    const bool has_tail = rows_->longer_than(written_);
    rows_.reset();
    if (has_tail) cut_to(file_.get(), written_, *fault_);
    outliers_->write_counts();
    seal();
    check_presence(*fault_);
    release();
  });
  closed_ = true;
  if (named_) return;
  throw Error(ErrorKind::kOutput, path_.string(),
              fmt::format("was moved away or replaced while it was being written; {} {} in the file that was "
                          "moved, if it still exists",
                          frame_count(written_), written_ == 1 ? "is" : "are"),
              "find that file, or repeat with another `output`");
}

void NexusSink::write_bins(Batch& batch) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  const auto put = [&](RowDataset& dataset, auto absent, auto get) {
    write_rows(dataset, batch, layout::extent_of(job_.plan->axes), absent, get);
  };
  for (Rows::Curve& curve : rows_->curves)
    put(curve.dataset, kNothing, [&](const ReducedFrame& f) { return std::span(f.pattern.*curve.values); });
  for (Rows::Plane& plane : rows_->sums) {
    if (plane.is_sparse()) continue;
    put(plane.dataset, std::int64_t{0}, [&](const ReducedFrame& f) { return plane.of(f); });
  }
}

// Most frames lack no pixel, and few sums take many words: chunks of zeros are never written, and take no
// room in the file.
void NexusSink::write_sparse(Batch& batch) {
  const RowExtent bins = layout::extent_of(job_.plan->axes);
  const auto is_zero = [](std::int64_t value) { return value == 0; };
  for (Rows::Plane& plane : rows_->sums) {
    if (!plane.is_sparse()) continue;
    const auto holds_any = [&](const ReducedFrame& f) { return !std::ranges::all_of(plane.of(f), is_zero); };
    if (std::ranges::none_of(batch.frames, holds_any)) {
      batch.leave_unwritten(plane.dataset);
      continue;
    }
    if (!layout::is_large(bins)) {
      write_rows(plane.dataset, batch, bins, std::int64_t{0},
                 [&](const ReducedFrame& f) { return plane.of(f); });
      continue;
    }
    for (std::size_t i = 0; i < batch.frames.size(); ++i) {
      if (!holds_any(batch.frames[i])) {
        batch.checksums[i] += plane.dataset.checksum_of_unwritten();
        continue;
      }
      const std::span<const std::int64_t> values = plane.of(batch.frames[i]);
      plane.dataset.write_nonzero(batch.first + i, values.data());
      batch.checksums[i] += plane.dataset.checksum(values.data());
    }
  }
}

void NexusSink::write_frames(Batch& batch) {
  write_column<std::uint64_t>(rows_->index, batch, [this](const ReducedFrame& f) { return number_of(f.id); });
  write_column<SourceId>(rows_->source_id, batch, [this](const ReducedFrame& f) {
    return f.source_id ? *f.source_id : stored_frames_.source_id(f.id);
  });
  write_column<std::uint64_t>(rows_->frame_in_source, batch,
                              [](const ReducedFrame& f) { return f.id.in_source; });
  write_column<std::uint64_t>(rows_->invalid_pixels, batch,
                              [](const ReducedFrame& f) { return f.sums.invalid_pixels; });
  write_column<std::int32_t>(rows_->fraction_bits, batch,
                             [](const ReducedFrame& f) { return f.sums.fraction_bits; });
  write_column<double>(rows_->normalization, batch, [](const ReducedFrame& f) { return f.normalization; });
  for (std::size_t i = 0; i < rows_->columns.size(); ++i) {
    write_column<double>(rows_->columns[i], batch, [i](const ReducedFrame& f) {
      return f.point.empty() ? std::numeric_limits<double>::quiet_NaN() : f.point[i];
    });
  }
  const auto& frames = batch.frames;
  const auto has_factor = [](const ReducedFrame& f) { return f.normalization != 1; };
  monitor_applied_ = monitor_applied_ || std::any_of(frames.begin(), frames.end(), has_factor);
  write_texts(rows_->source, batch, [this](const ReducedFrame& f, std::size_t length) {
    return keep_tail(to_utf8((name_folder_ / f.id.source).string()), length);
  });
  if (std::any_of(frames.begin(), frames.end(), [](const ReducedFrame& f) { return !f.fault.empty(); })) {
    write_texts(rows_->fault, batch, [](const ReducedFrame& f, std::size_t length) {
      return keep_head(to_utf8(f.fault), length);
    });
  } else {
    batch.leave_unwritten(rows_->fault);
  }
}

std::uint64_t NexusSink::number_of(const FrameId& frame) const {
  return numbered_by_place_ ? place_in_scan(frame).value_or(0) : frame.index + index_offset_;
}

// No two frames have the same number.
void NexusSink::take_numbers(const std::vector<ReducedFrame>& frames) {
  for (const ReducedFrame& frame : frames) {
    if (numbered_by_place_ && !place_in_scan(frame.id)) {
      throw Error(ErrorKind::kInput, describe(frame.id), "its place in the scan cannot be told",
                  "let one process reduce the scan");
    }
    const bool taken = taken_ && taken_->contains(number_of(frame.id));
    if (taken || !numbers_.add(number_of(frame.id))) {
      throw Error(ErrorKind::kOutput, path_.string(),
                  fmt::format("{} frame {} of the scan already, and it is not {}",
                              taken ? "another part has" : "has", number_of(frame.id), describe(frame.id)),
                  "continue it with the inputs that it was made of, or choose another `output`");
    }
  }
}

// The names in the file are relative to the folder of the run that made it.
void NexusSink::read_stored_frames(const RunDescription& run) {
  const std::string here = to_utf8(run.working_directory.string());
  if (read_text(file_.get(), layout::kWorkingDirectory).value_or(here) != here)
    name_folder_ = run.working_directory;
  for_each_stored_row(file_.get(), stored_, ErrorKind::kOutput, [this](const StoredRow& row) {
    stored_frames_.add(row.source, row.in_source, row.bad);
    numbers_.add(row.number);
  });
}

// The status has a part in it, although it is written later.
void NexusSink::write_checksums(const Batch& batch) {
  std::vector<std::uint64_t> checksums = batch.checksums;
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    const std::uint8_t status = status_of(batch.frames[i]);
    checksums[i] =
        frame_checksum(checksums[i] + rows_->status.checksum(&status), number_of(batch.frames[i].id));
  }
  rows_->checksum.write(batch.first, checksums.size(), checksums.data());
}

// Before the first new frame: while this mark is in the file, nobody takes it for complete.
void NexusSink::mark_open() {
  if (read_whole_number(file_.get(), layout::kClosingChecksum) == open_mark(header_checksum_)) return;
  overwrite_number(file_.get(), layout::kClosingChecksum, open_mark(header_checksum_));
  flush_file();
}

void NexusSink::seal() {
  overwrite_number(file_.get(), layout::kClosingChecksum,
                   closing_checksum(file_.get(), header_checksum_, stored_));
}

// SWMR allows it for a field of fixed size.
void NexusSink::note_monitor() {
  const Hdf5Handle flag(H5Dopen2(file_.get(), layout::kMonitorApplied, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(flag.get()), H5Tclose);
  const std::int8_t yes = 1;
  if (!flag || H5Dwrite(flag.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &yes) < 0) {
    throw_hdf5(ErrorKind::kOutput, file_.get(), "cannot note that a monitor was applied");
  }
  monitor_noted_ = true;
}

void NexusSink::flush_file() {
  if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0) throw_hdf5(ErrorKind::kOutput, file_.get(), "cannot flush");
}

void NexusSink::flush_rows() {
  const Hdf5Session scope;
  std::string now = iso_time();
  now.resize(layout::kTimeLength);
  const Hdf5Handle end_time(H5Dopen2(file_.get(), layout::kEndTime, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type = fixed_text_type(layout::kTimeLength);
  if (end_time) H5Dwrite(end_time.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, now.data());
  if (monitor_applied_ && !monitor_noted_) note_monitor();
  outliers_->write_lists();
  flush_file();
}

void NexusSink::flush_status() {
  const Hdf5Session scope;
  Rows::grow(rows_->status, written_);
  rows_->status.write(stored_, statuses_.size(), statuses_.data());
  flush_file();
}

// Runs one step of writing, and gives the file up if anything in it did not reach the disk.
void NexusSink::step(const std::function<void()>& work) {
  if (failure_) throw *failure_;
  if (closed_) throw Error(ErrorKind::kOutput, path_.string(), "is closed already");
  std::string reason;
  try {
    work();
  } catch (const Error& error) {
    reason = error.fault();
  }
  if (fault_->failed()) give_up(fault_->reason());
  if (!reason.empty()) give_up(reason);
}

void NexusSink::release() {
  if (fault_->file != nullptr) named_ = is_named(*fault_, path_);
  rows_.reset();
  file_.reset();
}

// From here on nothing reaches the disk through the old handle, so it closes without harm; the file is then
// put in order as after a crash.
void NexusSink::give_up(const std::string& reason) {
  const Hdf5Session scope;
  if (!fault_->failed()) fault_->error_number = EIO;
  release();
  std::string kept;
  std::string cure = "make room or choose another disk, then repeat with `append` for the remaining frames";
  if (fault_->deleted || fault_->cut_short) {
    failure_.emplace(
        ErrorKind::kOutput, path_.string(),
        reason + (fault_->deleted ? "; its frames are lost" : "; what is left is not to be trusted"),
        "repeat the run, and see that no other program changes its output meanwhile");
    throw *failure_;
  }
  if (!named_) {  // what has the name now is somebody else's
    failure_.emplace(
        ErrorKind::kOutput, path_.string(),
        fmt::format("{}; and it was moved away or replaced while it was being written; {} had been "
                    "stored before in the file that was moved",
                    reason, frame_count(stored_)),
        "find that file: h5clear -s makes it readable; or repeat with another `output`");
    throw *failure_;
  }
  try {
    const std::uint64_t frames = repair_nexus(path_, std::make_shared<WriteFault>());
    kept = fmt::format("; {} {} stored and readable", frame_count(frames), frames == 1 ? "is" : "are");
  } catch (const Error& error) {
    kept = fmt::format("; {} had been stored before", frame_count(stored_));
    cure = fmt::format("the file could not be closed properly ({}): h5clear -s makes it readable",
                       error.fault());
  }
  failure_.emplace(ErrorKind::kOutput, path_.string(), reason + kept, cure);
  throw *failure_;
}

std::unique_ptr<Sink> open_nexus(const std::filesystem::path& path, const Job& job, const RunDescription& run,
                                 IfExists if_exists) {
  return std::make_unique<NexusSink>(path, job, run, if_exists);
}

}  // namespace annulus
