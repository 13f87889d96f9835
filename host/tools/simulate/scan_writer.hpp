// A simulated scan as files: what a beamline would have left on the disk.
#pragma once

#include <annulus/core/image.hpp>

#include <tools/simulate/simulated_scan.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// CBF: one file a frame, <prefix>_00001.cbf and on. HDF5: one file <prefix>.h5 with /entry/data/data. Eiger:
// <prefix>_master.h5 with <prefix>_data_000001.h5 and on (eiger_writer.hpp).
enum class ScanFormat { kCbf, kHdf5, kEiger };

std::string_view name_of(ScanFormat format);  // "cbf", "hdf5", "eiger"
std::optional<ScanFormat> scan_format_from_name(std::string_view name);

struct ScanOutput {
  std::filesystem::path folder;  // made if it is not there
  std::string prefix = "scan";
  ScanFormat format = ScanFormat::kCbf;
  PixelType eiger_type = PixelType::kU32;  // of Eiger files: kU32, kU16 or kU8
  std::uint64_t images_per_file = 1000;    // of Eiger data files
  bool overwrite = false;
  unsigned threads = 0;  // 0: all of the machine; the files do not depend on it

  // Called after each frame, by one thread at a time. What it throws stops the scan.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

struct ScanFiles {
  std::filesystem::path poni;
  std::vector<std::filesystem::path> frames;     // one, or as many as frames, in order; of Eiger the master
  std::vector<std::filesystem::path> data;       // of Eiger the data files
  std::optional<std::filesystem::path> columns;  // of a phantom: <prefix>.csv (scan_columns.hpp)
  std::optional<std::filesystem::path> truth;    // what is known of the sample
};

// The names write_scan will use.
ScanFiles scan_files(const SimulatedScan& scan, const ScanOutput& output);

// Throws kOutput with the file's name, before anything is written if a file is there and overwrite is false.
// Throws kUsage for a type or a number of images that no Eiger file has.
// After an error complete CBF files and Eiger data files stay; an HDF5 file appears under its name only when
// it is complete.
ScanFiles write_scan(const SimulatedScan& scan, const ScanOutput& output);

}  // namespace annulus
