// A simulated scan as an Eiger detector leaves it: a master file with metadata and links, and data files with
// frames packed by bitshuffle and LZ4.
#pragma once

#include <annulus/core/image.hpp>

#include <tools/simulate/simulated_scan.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace annulus {

struct EigerLayout {
  std::filesystem::path folder;
  std::string prefix;
  PixelType type = PixelType::kU32;  // or kU16, kU8: higher counts read as overloaded
  std::uint64_t images_per_file = 1000;

  std::filesystem::path master() const;               // <prefix>_master.h5
  std::string data_name(std::uint64_t number) const;  // <prefix>_data_000001.h5 and on, from 1
  std::filesystem::path data_file(std::uint64_t number) const;
  std::uint64_t data_files(std::uint64_t frames) const;
};

// The highest count that is not taken for one of the marks at the top of the type, nor above the scan's
// limit.
std::int64_t eiger_cutoff(const SimulatedScan& scan, PixelType type);

// A frame as a chunk of the HDF5 filter 32008. Gaps and dead pixels have the type's top value, pixels that
// are overloaded the cutoff and one more. Any thread may call this.
std::vector<std::byte> pack_eiger_frame(const SimulatedScan& scan, std::uint64_t frame, PixelType type);

// The master is complete when this is made, so that others can follow the scan; data files have another name
// until they are complete. HDF5 calls are made under lock_hdf5(); one thread at a time uses a writer.
class EigerWriter {
 public:
  EigerWriter(EigerLayout layout, const SimulatedScan& scan);  // throws kOutput
  ~EigerWriter();                                              // removes an incomplete file

  // Frames in order; the last one closes the last file.
  void append(std::uint64_t frame, std::span<const std::byte> chunk);

 private:
  struct DataFile;
  void write_master() const;
  void open_data_file(std::uint64_t number);

  EigerLayout layout_;
  const SimulatedScan& scan_;
  std::unique_ptr<DataFile> file_;
};

}  // namespace annulus
