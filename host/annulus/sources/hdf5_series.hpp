// The frames of an HDF5 file: one dataset, or the numbered ones of a master file, which may be in many files
// and may still be growing. Used with the HDF5 lock held.
#pragma once

#include <annulus/sources/hdf5_dataset.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

class Hdf5Series {
 public:
  // An empty dataset means the default of the file (hdf5_find.hpp). The frames of a numbered dataset that
  // cannot be read are bad ones among the others; if there is none that can be read, throws kInput.
  Hdf5Series(std::string path, std::string dataset, bool growing, Fence fence);

  const std::string& path() const { return path_; }
  const std::string& first_dataset() const { return parts_.front().path; }
  std::vector<std::string> datasets() const;  // with the file's name

  PixelType type() const { return type_; }
  Shape shape() const { return shape_; }
  std::uint64_t frames() const;  // that can be read now

  // The points of the scan, where one dataset has more dimensions than a stack; empty otherwise.
  std::vector<std::uint64_t> grid() const;

  // How many frames the datasets that cannot be read have, or 1 each where that cannot be told: so that the
  // frames behind them keep their places. `promised`: frames of the whole series.
  void reckon_missing(std::optional<std::uint64_t> promised);

  // What a frame takes in the file, on average.
  std::uint64_t average_bytes() const { return average_bytes_; }

  // What is kept of chunks that hold several frames.
  std::uint64_t held_bytes() const { return held_bytes_; }

  // Frame i of all. Its number in its dataset is fetched.frame.
  FetchedFrame fetch(std::uint64_t i);

  // The dataset that holds frame i, by the file that it is in, and the frame's number in there. Where that
  // file was never seen, the name in the master file.
  FrameId locate(std::uint64_t i);

  // Growing series: false as long as the file of frame i, which was there, cannot be opened because its
  // writer has it.
  bool can_open(std::uint64_t i);

  // For a probe: reads all of the structure that fetch() will use.
  void touch();

  // Growing series: looks again at what is not complete. A frame counts when all of its chunks are there, and
  // all frames before it.
  void look();

  // Growing series: what is stored of the parts that are not complete, whatever is missing in between. None
  // if they cannot be opened.
  std::optional<std::uint64_t> bytes_written() const;

  // Growing series, once nobody waits any longer: frames up to the last that was written can be read, those
  // missing in between being bad ones. Returns how many were laid out beyond it, and why a part that comes
  // after it is not there.
  struct Rest {
    std::uint64_t frames = 0;
    std::optional<Error> fault = std::nullopt;
  };
  Rest give_up(std::optional<std::uint64_t> promised);

 private:
  struct Part {
    std::string path;                                      // in the file
    std::string url = {};                                  // where that leads to, once it was opened
    std::unique_ptr<const Hdf5Dataset> dataset = nullptr;  // if it is open
    std::uint64_t extent = 0;                              // frames laid out
    std::uint64_t frames = 0;                              // that can be read
    std::optional<Error> fault = std::nullopt;             // why it is not there
    bool complete = false;                                 // will not grow any more
  };

  std::vector<std::string> find_paths() const;
  std::unique_ptr<const Hdf5Dataset> open(const std::string& path) const;
  void describe(const Hdf5Dataset& dataset);
  void take_over(const std::vector<std::string>& paths);
  void add_complete(const std::string& path);
  bool examine(Part& part);
  void examine_to_the_end(Part& part);
  std::uint64_t full_length(std::optional<std::uint64_t> promised) const;
  Part& part_of(std::uint64_t& i);  // i becomes the number in it
  const Hdf5Dataset& use(Part& part);
  void close(Part& part);

  std::string path_;
  std::string dataset_;
  bool growing_;
  Fence fence_;
  bool described_ = false;
  PixelType type_ = PixelType::kI32;
  Shape shape_;
  GridPoint grid_;  // of the first dataset
  std::uint64_t average_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::vector<Part> parts_;
  std::optional<Error> moved_;           // the file names other datasets than those that were read
  std::vector<std::size_t> open_parts_;  // the one used last at the end
};

}  // namespace annulus
