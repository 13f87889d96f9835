#include <annulus/core/text.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace annulus {

struct NexusSink::Rows {
  Rows(hid_t file, const Job& job)
      : intensity(file, layout::kIntensity, layout::extent_of(job.plan->axes)),
        fraction_bits(file, layout::kFractionBits, {}),
        invalid_pixels(file, layout::kInvalidPixels, {}),
        index(file, layout::kFrameIndex, {}),
        source(file, layout::kSource, {}),
        frame_in_source(file, layout::kFrameInSource, {}),
        normalization(file, layout::kNormalizationFactor, {}),
        fault(file, layout::kFault, {}),
        status(file, layout::kStatus, {}) {
    const RowExtent bins = layout::extent_of(job.plan->axes);
    if (job.recipe.has_variance()) errors.emplace(file, layout::kErrors, bins);
    for (const Quantity quantity : job.quantities()) {
      sums.emplace_back(quantity, RowDataset(file, layout::sums_of(quantity), bins));
    }
  }

  void resize_all_but_status(std::uint64_t rows) {
    for (RowDataset* dataset : {&intensity, &fraction_bits, &invalid_pixels, &index, &source,
                                &frame_in_source, &normalization, &fault}) {
      dataset->resize(rows);
    }
    if (errors) errors->resize(rows);
    for (auto& [quantity, dataset] : sums) dataset.resize(rows);
  }

  RowDataset intensity;
  std::optional<RowDataset> errors;
  std::vector<std::pair<Quantity, RowDataset>> sums;
  RowDataset fraction_bits, invalid_pixels;
  RowDataset index, source, frame_in_source, normalization, fault, status;
};

namespace {

// One value a frame, taken from each frame in turn.
template <typename T, typename Get>
void write_column(RowDataset& dataset, std::uint64_t first, const std::vector<ReducedFrame>& frames,
                  Get get) {
  std::vector<T> column;
  column.reserve(frames.size());
  for (const ReducedFrame& frame : frames) column.push_back(get(frame));
  dataset.write(first, column.size(), column.data());
}

// One row of bins a frame; `absent` stands for frames that have none.
template <typename T, typename Get>
void write_rows(RowDataset& dataset, std::uint64_t first, const std::vector<ReducedFrame>& frames,
                RowExtent extent, T absent, std::vector<std::byte>& staging, Get get) {
  const std::size_t bins = extent.values();
  if (layout::is_large(extent)) {
    for (const ReducedFrame& frame : frames) {
      const std::span<const T> values = get(frame);
      dataset.write(first++, 1, values.empty() ? std::vector<T>(bins, absent).data() : values.data());
    }
    return;
  }
  staging.resize(frames.size() * bins * sizeof(T));
  T* row = reinterpret_cast<T*>(staging.data());
  for (const ReducedFrame& frame : frames) {
    const std::span<const T> values = get(frame);
    if (values.empty()) {
      std::fill_n(row, bins, absent);
    } else {
      std::copy(values.begin(), values.end(), row);
    }
    row += bins;
  }
  dataset.write(first, frames.size(), staging.data());
}

template <typename Get>
void write_texts(RowDataset& dataset, std::uint64_t first, const std::vector<ReducedFrame>& frames,
                 std::vector<std::byte>& staging, Get get) {
  const std::size_t length = dataset.value_bytes();
  staging.assign(frames.size() * length, std::byte{0});
  std::byte* target = staging.data();
  for (const ReducedFrame& frame : frames) {
    const std::string text = get(frame, length);
    std::memcpy(target, text.data(), std::min(text.size(), length));
    target += length;
  }
  dataset.write(first, frames.size(), staging.data());
}

std::uint64_t next_index(const RowDataset& index, std::uint64_t rows) {
  if (rows == 0) return 0;
  const hsize_t start = rows - 1;
  const hsize_t one = 1;
  const Hdf5Handle file_space(H5Dget_space(index.id()), H5Sclose);
  const Hdf5Handle memory_space(H5Screate_simple(1, &one, nullptr), H5Sclose);
  H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, &start, nullptr, &one, nullptr);
  std::uint64_t last = 0;
  if (H5Dread(index.id(), H5T_NATIVE_UINT64, memory_space.get(), file_space.get(), H5P_DEFAULT, &last) < 0) {
    throw_hdf5(ErrorKind::kOutput, index.id(), "cannot read the number of the last frame");
  }
  return last + 1;
}

}  // namespace

NexusSink::NexusSink(std::filesystem::path path, Job job, const RunDescription& run, IfExists if_exists,
                     std::shared_ptr<WriteFault> fault)
    : path_(std::move(path)), job_(std::move(job)), fault_(std::move(fault)) {
  const Hdf5Session scope;
  file_ = open_nexus_file(path_, job_, run, if_exists, fault_);
  step([&] {
    rows_ = std::make_unique<Rows>(file_.get(), job_);
    stored_ = written_ = rows_->status.rows();
    index_offset_ = next_index(rows_->index, stored_);
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
  for (const ReducedFrame& frame : frames) check_frame(job_, frame);
  const Hdf5Session scope;
  step([&] {
    rows_->resize_all_but_status(written_ + frames.size());
    write_bins(frames);
    write_missing(frames);
    write_frames(frames);
  });
  written_ += frames.size();
  for (const ReducedFrame& frame : frames) {
    const layout::Status status = frame.fault.empty() ? layout::Status::kGood : layout::Status::kBad;
    statuses_.push_back(static_cast<std::uint8_t>(status));
  }
}

void NexusSink::flush() {
  const Hdf5Session scope;
  step([&] { flush_now(); });
}

void NexusSink::close() {
  if (closed_ || failure_) return;
  const Hdf5Session scope;
  step([&] {
    rows_->resize_all_but_status(written_);  // an append may have ended early
    flush_now();
    sync_to_disk(file_.get(), *fault_);
    release();
  });
  closed_ = true;
}

void NexusSink::write_bins(const std::vector<ReducedFrame>& frames) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  const auto put = [&](RowDataset& dataset, auto absent, auto get) {
    write_rows(dataset, written_, frames, layout::extent_of(job_.plan->axes), absent, staging_, get);
  };
  put(rows_->intensity, kNothing, [](const ReducedFrame& f) { return std::span(f.pattern.intensity); });
  if (rows_->errors)
    put(*rows_->errors, kNothing, [](const ReducedFrame& f) { return std::span(f.pattern.error); });
  for (auto& [quantity, dataset] : rows_->sums) {
    if (is_missing(quantity)) continue;
    put(dataset, std::int64_t{0}, [q = quantity](const ReducedFrame& f) { return f.sums[q]; });
  }
}

// Most frames lack no pixel: chunks of zeros are never written, and take no room in the file.
void NexusSink::write_missing(const std::vector<ReducedFrame>& frames) {
  const auto lacks_pixels = [](const ReducedFrame& f) { return f.sums.has(Quantity::kMissingCount); };
  if (std::none_of(frames.begin(), frames.end(), lacks_pixels)) return;
  const RowExtent bins = layout::extent_of(job_.plan->axes);
  for (auto& [quantity, dataset] : rows_->sums) {
    if (!is_missing(quantity)) continue;
    if (!layout::is_large(bins)) {
      write_rows(dataset, written_, frames, bins, std::int64_t{0}, staging_,
                 [q = quantity](const ReducedFrame& f) { return f.sums[q]; });
      continue;
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].sums.has(quantity)) dataset.write_nonzero(written_ + i, frames[i].sums[quantity].data());
    }
  }
}

void NexusSink::write_frames(const std::vector<ReducedFrame>& frames) {
  write_column<std::uint64_t>(rows_->index, written_, frames,
                              [&](const ReducedFrame& f) { return f.id.index + index_offset_; });
  write_column<std::uint64_t>(rows_->frame_in_source, written_, frames,
                              [](const ReducedFrame& f) { return f.id.in_source; });
  write_column<std::uint64_t>(rows_->invalid_pixels, written_, frames,
                              [](const ReducedFrame& f) { return f.sums.invalid_pixels; });
  write_column<std::int32_t>(rows_->fraction_bits, written_, frames,
                             [](const ReducedFrame& f) { return f.sums.fraction_bits; });
  write_column<double>(rows_->normalization, written_, frames,
                       [](const ReducedFrame& f) { return f.normalization; });
  const auto has_factor = [](const ReducedFrame& f) { return f.normalization != 1; };
  monitor_applied_ = monitor_applied_ || std::any_of(frames.begin(), frames.end(), has_factor);
  write_texts(rows_->source, written_, frames, staging_, [](const ReducedFrame& f, std::size_t length) {
    return keep_tail(to_utf8(f.id.source), length);
  });
  if (std::any_of(frames.begin(), frames.end(), [](const ReducedFrame& f) { return !f.fault.empty(); })) {
    write_texts(rows_->fault, written_, frames, staging_, [](const ReducedFrame& f, std::size_t length) {
      return keep_head(to_utf8(f.fault), length);
    });
  }
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

// The first flush brings the frames to the disk and the size of the file into its superblock; only then may
// their status appear. The second does the same for the status, which may have needed a chunk of its own.
void NexusSink::flush_now() {
  if (statuses_.empty()) return;
  const auto flush_file = [&] {
    if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0)
      throw_hdf5(ErrorKind::kOutput, file_.get(), "cannot flush");
    return !fault_->failed();
  };
  std::string now = iso_time();
  now.resize(layout::kTimeLength);
  const Hdf5Handle end_time(H5Dopen2(file_.get(), layout::kEndTime, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type = fixed_text_type(layout::kTimeLength);
  if (end_time) H5Dwrite(end_time.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, now.data());
  if (monitor_applied_ && !monitor_noted_) note_monitor();
  if (!flush_file()) return;
  rows_->status.resize(written_);
  rows_->status.write(stored_, statuses_.size(), statuses_.data());
  if (!flush_file()) return;
  stored_ = written_;
  statuses_.clear();
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
  if (fault_->failed()) {
    give_up(fmt::format("cannot be written: {}", std::strerror(fault_->error_number)));
  }
  if (!reason.empty()) give_up(reason);
}

void NexusSink::release() {
  rows_.reset();
  file_.reset();
}

// From here on nothing reaches the disk through the old handle, so it closes without harm; the file is then
// put in order as after a crash.
void NexusSink::give_up(const std::string& reason) {
  if (!fault_->failed()) fault_->error_number = EIO;
  release();
  std::string kept;
  std::string cure = "make room or choose another disk, then repeat with `append` for the remaining frames";
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
