// The streams of the library: frames of files, of a folder that grows, and from memory.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/frame_stream.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

// A number in the header of each frame, by its key (header_number.hpp).
struct HeaderColumn {
  ColumnInfo column;
  std::string key;
};

struct FileStreamSettings {
  OpenOptions open = {};
  std::vector<HeaderColumn> columns = {};  // what frames have as their point
  unsigned threads = 2;
  // Bytes of frames that were read and are not gone yet, wherever they are, and of unpacked archives. A
  // single frame is always read, whatever its size.
  std::uint64_t memory = std::numeric_limits<std::uint64_t>::max();
  // Runs in the reading thread on every file but the one that info() speaks of; may throw Error to refuse it.
  std::function<void(const FrameSource&, const std::string& url)> check_file = {};
  // The same for every frame.
  std::function<void(const Frame&)> check_frame = {};
};

// One file after the other, read ahead of use by several threads. With open.follow each is waited for, and
// until its series ends. The first file that can be read is opened by info() and stays open for next(). The
// threads that read begin with the first next(). A frame that cannot be read is a BadFrame, and so is a file
// that cannot be opened.
std::unique_ptr<FrameStream> stream_files(std::vector<std::string> urls, FileStreamSettings settings = {});

struct FolderSettings {
  OpenOptions open = {};
  double timeout = 60;        // seconds without anything new that end the scan, or the waiting for a file
  bool use_inotify = true;    // off: the folder is only listed, as for network file systems
  double poll_seconds = 0.5;  // between two listings; longer for folders that take long to list
  double settle_seconds = 1;  // after which a file that nobody closed, as far as we know, is complete
};

// The same for the files of a folder into which somebody writes CBF, EDF, TIFF or NPY files, as they are
// completed.
std::unique_ptr<FrameStream> stream_folder(std::string folder, const FolderSettings& watch,
                                           FileStreamSettings settings = {});

// Frames that are in memory. All have the shape and type of the first, and a value for every column. Frames
// without a source are called `name`, with their number.
std::unique_ptr<FrameStream> stream_memory(std::vector<Frame> frames, std::string name = "memory",
                                           std::vector<std::string> columns = {});

}  // namespace annulus
