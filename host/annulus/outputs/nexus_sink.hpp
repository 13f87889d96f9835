// The growing NeXus file. open_nexus of sink.hpp makes one; this header is for its parts and its tests.
#pragma once

#include <annulus/outputs/guarded_file.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/place_set.hpp>
#include <annulus/outputs/row_dataset.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// Where an output goes, and what is there.
struct OutputPlace {
  enum class Holds { kNothing, kNoBytes, kOutput };
  std::filesystem::path path;  // not a link
  Holds holds;
};

// Throws kOutput for a place where there may be no output, or that holds what is not ours.
OutputPlace find_place(const std::filesystem::path& path, IfExists if_exists);

// Creates the file, or opens an existing one to be continued, as `if_exists` says; readers may open it from
// then on. In a file that a killed writer left behind, datasets may be longer than what is stored.
Hdf5Handle open_nexus_file(const std::filesystem::path& path, const Job& job, const RunDescription& run,
                           IfExists if_exists, const std::shared_ptr<WriteFault>& fault);

// The number of frames that have a status.
std::uint64_t stored_frames(hid_t file);

// Makes every dataset of rows at most this long.
void cut_to(hid_t file, std::uint64_t frames, WriteFault& fault);

// Cuts every dataset back to the frames that are stored and clears the mark of an unfinished writer. Returns
// the number of frames.
std::uint64_t repair_nexus(const std::filesystem::path& path, const std::shared_ptr<WriteFault>& fault);

// Throws kOutput unless frames of this job and run can follow those in an output, or stand beside them as
// another part of the same scan.
void check_same_job(const std::filesystem::path& output, const Job& job, const RunDescription& run);

// Closes an output that a killed program left, with the frames that are stored. One that is closed stays as
// it is. Throws kOutput, also if another program writes it.
void close_left(const std::filesystem::path& output);

// Writes in two steps, so that no reader, no crash and no power failure can leave half a frame: append()
// writes all of a frame but its status; flush() waits until that is on the disk, and only then writes the
// status of those frames.
class NexusSink : public Sink {
 public:
  NexusSink(std::filesystem::path path, Job job, const RunDescription& run, IfExists if_exists,
            std::shared_ptr<WriteFault> fault = std::make_shared<WriteFault>());
  ~NexusSink() override;

  void append(const std::vector<ReducedFrame>& frames) override;
  void flush() override;
  void close() override;
  Held holds(const FrameId& frame) const override { return stored_frames_.find(frame); }

 private:
  struct Rows;
  struct Batch;

  void write_bins(Batch& batch);
  void write_sparse(Batch& batch);
  void write_frames(Batch& batch);
  void write_checksums(const Batch& batch);
  void read_stored_frames(const RunDescription& run);
  std::uint64_t number_of(const FrameId& frame) const;
  void take_numbers(const std::vector<ReducedFrame>& frames);
  void note_monitor();
  void mark_open();
  void seal();
  void flush_file();
  void flush_rows();
  void flush_status();
  void step(const std::function<void()>& work);
  [[noreturn]] void give_up(const std::string& reason);
  void release();

  std::filesystem::path path_;
  Job job_;
  std::vector<ColumnInfo> columns_;
  std::shared_ptr<WriteFault> fault_;
  Hdf5Handle file_;
  std::unique_ptr<Rows> rows_;
  std::optional<OutlierLog> outliers_;
  std::uint64_t written_ = 0;              // rows appended
  std::uint64_t stored_ = 0;               // rows whose status is on disk
  bool numbered_by_place_;                 // otherwise frames are counted
  PlaceSet numbers_;                       // of all rows
  std::shared_ptr<const PlaceSet> taken_;  // that other parts hold
  std::uint64_t index_offset_ = 0;         // of this run's frames in the scan, not 0 after `append`
  std::uint64_t header_checksum_ = 0;      // as the file states it
  std::vector<std::uint8_t> statuses_;     // of rows [stored_, written_)
  std::vector<std::byte> staging_;
  StoredFrames stored_frames_;         // when the file was opened
  std::filesystem::path name_folder_;  // not empty: names of sources that are relative mean this one
  std::optional<Error> failure_;
  bool monitor_applied_ = false;  // a frame of this run had a factor that is not 1
  bool monitor_noted_ = false;    // and the file says so
  bool named_ = true;             // when it was closed, the name was still this file's
  bool closed_ = false;
};

}  // namespace annulus
