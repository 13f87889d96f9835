// A folder into which somebody writes images, one file after the other.
//
// The system tells of new files at once where the folder is on this machine (inotify); for network file
// systems, which do not tell, the folder is listed now and then. A file counts when it is complete: all bytes
// that its headers announce are there, and its writer has closed it or renamed it into the folder, or, where
// nobody tells of that, it has not changed for a second. Files come in natural order: one that is not
// complete holds back those behind it. One that arrives after its successors were handed out comes after
// them.
#pragma once

#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/streams.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

namespace annulus {

class FolderWatch {
 public:
  FolderWatch(std::string folder, const FolderSettings& settings);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  const std::string& path() const { return folder_; }

  // A complete file, or why it never became one.
  struct Arrival {
    std::string path;
    std::unique_ptr<FrameSource> source = nullptr;
    std::optional<Error> fault = std::nullopt;
  };

  // Waits for the next file. None if nothing came for too long, or a stop is requested. One thread at a time.
  std::optional<Arrival> next(const std::stop_token& stop);

 private:
  // What changes with a file. The inode, because a file may be replaced by another of the same size.
  struct Stamp {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified = 0;  // nanoseconds
    bool operator==(const Stamp&) const = default;
  };
  enum class Writer { kUnknown, kAtWork, kDone };
  struct File {
    Stamp stamp;
    Clock::time_point changed;  // when we saw it
    Writer writer = Writer::kUnknown;
    std::optional<Clock::time_point> tried = std::nullopt;
    std::unique_ptr<FrameSource> source = nullptr;  // as it was then, if all of it was there
    std::optional<Error> fault = std::nullopt;      // otherwise
  };
  struct NaturalOrder {
    bool operator()(const std::string& a, const std::string& b) const;
  };

  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  static std::optional<Stamp> stamp_of(const std::string& path);
  void take_events();
  void take_event(std::uint32_t mask, const std::string& name);
  void list();
  File* note(const std::string& name);
  bool refresh(const std::string& path, File& file);
  std::optional<Arrival> take_first();
  bool is_complete(const std::string& path, File& file);
  void try_to_open(const std::string& path, File& file);
  bool nothing_came() const;
  std::optional<Arrival> refusal() const;
  void wait() const;

  const std::string folder_;
  const FolderSettings settings_;
  int events_ = -1;  // inotify, if there is one
  Clock::time_point next_listing_ = Clock::now();
  Clock::time_point last_news_ = Clock::now();
  std::map<std::string, File, NaturalOrder> waiting_;
  std::set<std::string> handed_out_;
  std::string hdf5_name_;  // of a file that does not belong here
};

}  // namespace annulus
