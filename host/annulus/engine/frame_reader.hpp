// Reads the frames of many files ahead of use, with several threads, and hands them out in scan order.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/formats/frame_source.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace annulus {

// A frame, or why there is none; in both cases the frame's index and source are set.
struct ReadItem {
  Frame frame;
  std::optional<Error> fault;
};

class FrameReader {
 public:
  struct Settings {
    OpenOptions open;
    unsigned threads = 2;
    std::size_t ahead = 32;  // frames held at most
    // Runs in the reading thread on every frame; may replace it or throw Error to refuse it.
    std::function<Frame(Frame)> prepare;
  };

  FrameReader(std::vector<std::string> urls, Settings settings);
  ~FrameReader();

  // The next frame; none after the last. One thread calls this.
  std::optional<ReadItem> next();

  // Ends the sequence after what was handed out; next() then returns none.
  void stop();

  // Frames in the files opened so far, and a guess for the others: for a progress bar.
  std::uint64_t frames_expected() const;
  double busy_seconds() const;

 private:
  struct Ticket {
    std::uint64_t index = 0;
    std::string url;
    std::uint64_t frame_in_source = 0;
    std::shared_ptr<const FrameSource> source;
    std::optional<Error> fault;  // the file could not be opened
  };

  void work();
  std::optional<Ticket> take_ticket();
  void open_next_file(Ticket& ticket);
  ReadItem read(Ticket ticket) const;

  const std::vector<std::string> urls_;
  const Settings settings_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, ReadItem> ready_;
  std::uint64_t handed_out_ = 0;  // items that next() returned
  std::uint64_t taken_ = 0;       // tickets given to readers
  bool exhausted_ = false;        // no ticket is left
  bool stopping_ = false;
  double busy_seconds_ = 0;

  // The cursor: which file is open, and what comes next in it. Files are opened in order, one at a time.
  std::mutex cursor_mutex_;
  std::size_t next_url_ = 0;
  std::shared_ptr<const FrameSource> current_;
  std::uint64_t next_frame_ = 0;
  std::atomic<std::uint64_t> frames_opened_ = 0;
  std::atomic<std::uint64_t> files_opened_ = 0;

  std::vector<std::jthread> readers_;  // last: they use all of the above
};

}  // namespace annulus
