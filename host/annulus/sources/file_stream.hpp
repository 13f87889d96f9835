// The frames of many files, or of a folder that grows, read ahead of use by several threads.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/sources/dealt_blocks.hpp>
#include <annulus/sources/folder_watch.hpp>
#include <annulus/sources/streams.hpp>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace annulus {

// What stream_files() and stream_folder() make.
class FileStream final : public FrameStream {
 public:
  FileStream(std::vector<std::string> urls, FileStreamSettings settings);
  FileStream(std::unique_ptr<FolderWatch> folder, FileStreamSettings settings);

  ~FileStream() override;

  const ScanInfo& info(std::stop_token stop) override;
  std::optional<StreamItem> next(std::stop_token stop) override;
  std::optional<Mask> pixel_mask() override;
  std::uint64_t expected() override;
  void read_ahead(std::size_t frames) override { ahead_ = frames; }
  void leave_out(const std::function<bool(const FrameId&)>& is_known) override { is_known_ = is_known; }
  void share(std::shared_ptr<FrameDealer> dealer) override;
  std::uint64_t left_out() const override;
  double busy_seconds() const override;

 private:
  // A file that was opened ahead of its turn.
  struct OpenedFile {
    std::string url;
    std::shared_ptr<FrameSource> source;
    std::optional<Error> fault;

    std::uint64_t frames = 0;  // that can be read
    bool ended = true;         // otherwise there will be more
    bool looking = false;      // some thread looks whether there are

    std::vector<bool> known = {};  // of each frame, whether it is left out; empty: none is
    bool is_known(std::uint64_t frame) const { return frame < known.size() && known[frame]; }
    std::uint64_t places() const { return frames + (fault ? 1 : 0); }  // that it takes in the scan
  };
  // What one reading thread does next, outside the lock.
  struct Task {
    enum class Kind { kOpen, kRead, kLook, kAsk, kEnd } kind = Kind::kEnd;
    std::size_t file = 0;
    std::string url = {};             // but for kOpen
    std::uint64_t index = 0;          // for kRead: of the frame in the scan
    std::uint64_t frame_in_file = 0;  // likewise
    std::uint64_t bytes = 0;          // likewise
    std::shared_ptr<FrameSource> source = nullptr;
    std::optional<std::uint64_t> left_out = 0;  // likewise: frames of the scan before it that have no index
  };
  // A frame, or why there is none, and what it takes.
  struct ReadItem {
    StreamItem item;
    std::uint64_t bytes = 0;
  };
  // The lock, and what frames take: shared with the frames, which may outlive the stream.
  struct Ledger;

  void start_reading();
  std::vector<bool> known_frames(const OpenedFile& file, std::uint64_t first, std::uint64_t end) const;
  void note_known(OpenedFile& file, std::uint64_t frames) const;
  void note_known_before_fault(OpenedFile& file) const;
  bool is_known_archive(const std::string& url) const;
  void work(const std::stop_token& stop);
  void take_opened(std::size_t file, std::optional<OpenedFile> opened);
  void look(const Task& task);
  void ask();
  void check_one_frame(const OpenedFile& file) const;
  Task next_task();
  void advance_file();
  void leave_frames(const OpenedFile& file);
  bool waits_for_owner(const OpenedFile& file) const;
  bool places_are_lost();
  bool holds_one_by_name(std::size_t file) const;
  bool may_open() const { return next_to_open_ == current_file_ || may_open_ahead(); }
  DealtBlocks::Owner owner_of_next_file() const;
  bool leave_unopened();
  std::uint64_t place() const { return numbered_ + left_out_; }  // of the next frame
  bool fits(std::uint64_t bytes) const;
  bool may_open_ahead() const;
  bool starved() const;
  bool waits_for_growth() const;
  bool waits_for_block() const;
  std::optional<OpenedFile> open(std::size_t file, const std::stop_token& stop, bool check) const;
  ReadItem read(const Task& task) const;
  std::vector<ColumnInfo> columns_in(const FrameSource& first, const std::string& url) const;
  std::vector<double> point_of(const FrameSource& source, std::uint64_t frame) const;
  std::optional<std::uint64_t> left_out_before() const;
  void note_fault(const OpenedFile& file);

  const std::vector<std::string> urls_;
  const std::unique_ptr<FolderWatch> folder_;  // or none
  const FileStreamSettings settings_;
  const bool growing_;      // files, or the folder, may still be written
  std::size_t ahead_ = 32;  // frames that wait to be handed out, at most
  std::optional<ScanInfo> info_;
  std::shared_ptr<const FrameSource> first_;  // of which info_ speaks
  bool paused_ = false;                       // the last call of next() said so
  std::function<bool(const FrameId&)> is_known_;

  // From here on with the lock held.
  const std::shared_ptr<Ledger> ledger_;
  std::map<std::uint64_t, StreamItem> ready_;  // by frame index
  std::uint64_t handed_out_ = 0;               // items that next() returned
  std::uint64_t numbered_ = 0;                 // frames that have an index
  bool exhausted_ = false;                     // every frame has its index
  bool stopping_ = false;
  std::uint64_t left_out_ = 0;
  std::uint64_t of_others_ = 0;     // of these
  bool one_frame_per_file_ = true;  // as far as files were opened, and their names say
  bool any_fault_ = false;          // a file was left behind that could not be opened, or ended early
  std::string first_fault_;         // its name
  std::string first_reason_;        // and what is wrong with it
  double busy_seconds_ = 0;

  // Files are opened by several threads ahead of their turn, but frames are numbered file by file.
  std::optional<std::size_t> files_;  // how many there are, once that is known
  std::size_t next_to_open_ = 0;
  std::map<std::size_t, OpenedFile> opened_;
  std::size_t current_file_ = 0;
  std::uint64_t next_frame_ = 0;  // of the current file
  std::uint64_t frames_opened_ = 0;
  bool count_unknown_ = false;  // a series that grows does not say how long it will be

  // Where several processes share the scan, files that hold one frame of others are not opened. The place of
  // the next file to open is known if no file of unknown length is being opened.
  std::optional<DealtBlocks> blocks_;
  std::exception_ptr failure_;         // of the dealer, or of places that cannot be told
  std::uint64_t places_opened_ = 0;    // of files that were opened, or left out unopened
  std::uint64_t opening_ = 0;          // files
  std::uint64_t opening_unknown_ = 0;  // of these, whose name does not say that they hold one frame

  std::uint64_t file_bytes_ = 0;    // that opened files hold
  std::uint64_t last_archive_ = 0;  // what the file opened last holds: a guess for the next
  unsigned reading_ = 0;            // frames that are being read

  std::vector<std::jthread> readers_;  // last: they use all of the above
};

}  // namespace annulus
