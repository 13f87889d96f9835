// Reads the frames of many files ahead of use, with several threads, and hands them out in scan order.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/sources/frame_source.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace annulus {

// As open_source, but a file that is followed is waited for until it can be opened, as long as for a new
// frame of it.
std::unique_ptr<FrameSource> open_when_there(const std::string& url, const OpenOptions& open,
                                             const std::function<bool()>& give_up = {});

// A frame, or why there is none; in both cases the frame's index and source are set.
struct ReadItem {
  Frame frame;
  std::optional<Error> fault;
  std::uint64_t bytes = 0;  // counted as held until release()
};

class FrameReader {
 public:
  struct Settings {
    OpenOptions open;
    unsigned threads = 2;
    std::size_t ahead = 32;  // frames that wait to be handed out, at most
    // Runs in the reading thread on every frame; may replace it or throw Error to refuse it.
    std::function<Frame(Frame)> prepare = {};
    // Bytes of frames that were read and not yet released, and of unpacked archives. A single frame is always
    // read, whatever its size. Where this is set, release() has to be called.
    std::uint64_t memory = std::numeric_limits<std::uint64_t>::max();
    // Runs in the reading thread on every file that was opened; may throw Error to refuse it.
    std::function<void(const FrameSource&, const std::string& url)> check_file = {};
    // Files that are followed (open.follow) are waited for until this is set.
    const std::atomic<bool>* stop_requested = nullptr;
  };

  FrameReader(std::vector<std::string> urls, Settings settings);
  ~FrameReader();

  // The next frame; none after the last. One thread calls this. If the memory is used up by frames that were
  // handed out, calls `when_starved`, which has to see to it that they are released, also by other threads.
  // It is also called when the next frame of a file that is followed is not written yet.
  std::optional<ReadItem> next(const std::function<void()>& when_starved = {});

  // A frame that was handed out, of so many bytes, is gone. Any thread calls this.
  void release(std::uint64_t bytes);

  // Ends the sequence after what was handed out; next() then returns none.
  void stop();

  // Frames in the files opened so far, and a guess for the others: for a progress bar.
  std::uint64_t frames_expected() const;
  double busy_seconds() const;

 private:
  // A file that was opened ahead of its turn.
  struct OpenedFile {
    std::shared_ptr<FrameSource> source;
    std::optional<Error> fault;

    std::uint64_t frames = 0;  // that can be read
    bool ended = true;         // otherwise there will be more
    bool looking = false;      // some thread looks whether there are
  };
  // What one reading thread does next, outside the lock.
  struct Task {
    enum class Kind { kOpen, kRead, kLook, kEnd } kind = Kind::kEnd;
    std::size_t file = 0;
    std::uint64_t index = 0;            // for kRead: of the frame in the scan
    std::uint64_t frame_in_source = 0;  // likewise
    std::uint64_t bytes = 0;            // likewise
    std::shared_ptr<FrameSource> source;
  };

  void work();
  void look(const Task& task);
  Task next_task();
  void advance_file();
  bool fits(std::uint64_t bytes) const;
  bool may_open_ahead() const;
  bool starved() const;
  bool waits_for_growth() const;
  bool asked_to_stop() const;
  OpenedFile open(std::size_t file) const;
  ReadItem read(const Task& task) const;

  const std::vector<std::string> urls_;
  const Settings settings_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, ReadItem> ready_;  // by frame index
  std::uint64_t handed_out_ = 0;             // items that next() returned
  std::uint64_t numbered_ = 0;               // frames that have an index
  bool exhausted_ = false;                   // every frame has its index
  bool stopping_ = false;
  double busy_seconds_ = 0;

  // Files are opened by several threads ahead of their turn, but frames are numbered file by file.
  std::size_t next_to_open_ = 0;
  std::map<std::size_t, OpenedFile> opened_;
  std::size_t current_file_ = 0;
  std::uint64_t next_frame_ = 0;  // of the current file
  std::uint64_t frames_opened_ = 0;

  std::uint64_t frame_bytes_ = 0;   // of frames that are being read, wait, or were handed out
  std::uint64_t file_bytes_ = 0;    // that opened files hold
  std::uint64_t last_archive_ = 0;  // what the file opened last holds: a guess for the next
  unsigned reading_ = 0;            // frames that are being read

  std::vector<std::jthread> readers_;  // last: they use all of the above
};

}  // namespace annulus
