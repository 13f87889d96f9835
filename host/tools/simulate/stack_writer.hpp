// A stack of simulated frames in one NeXus HDF5 file, laid out as detectors of the Eiger family do.
#pragma once

#include <tools/simulate/simulated_scan.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace annulus {

// /entry/data/data [frames, rows, cols], one chunk a frame, shuffle and deflate. The file has another name
// until it is complete (PartialFile). HDF5 calls are made under lock_hdf5(); one thread at a time uses a
// writer.
class StackWriter {
 public:
  StackWriter(const std::filesystem::path& path, const SimulatedScan& scan);  // throws kOutput
  ~StackWriter();                                                             // removes an incomplete file

  // What HDF5's shuffle and deflate filters would make of a frame, but on any thread.
  static std::vector<std::byte> compress(std::span<const std::int32_t> pixels);

  void append(std::uint64_t frame, std::span<const std::byte> chunk);
  void close();  // the file gets its name

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace annulus
