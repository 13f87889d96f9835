// NeXus files of correlations: written whole, read back, described, verified (docs/correlation.md).
#pragma once

#include <annulus/fxs/correlation.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

// The file appears under its name complete, or not at all. One that is there is replaced only if `overwrite`
// is set and it is such a file. Throws kOutput.
void write_correlation(const std::filesystem::path& path, const Correlation& correlation, bool overwrite,
                       unsigned threads = 0);

// What write_correlation() would refuse for its name, before there is anything to write.
void check_correlation_place(const std::filesystem::path& path, bool overwrite);

// False for what is not there or is no HDF5 file, too. Throws kInput if nobody can say, as probe_output()
// does.
bool is_correlation_file(const std::filesystem::path& path);

// For those who add to it: with its sums. Throws kInput.
Correlation read_correlation_sums(const std::filesystem::path& path);

// For those who look at it.
struct StoredCorrelation {
  std::filesystem::path file;
  CorrelationSetup setup;
  bool preview = false;                              // made of float sums: titles say so
  bool finished = false;                             // else its run goes on, or was ended
  std::uint64_t counted = 0, rejected = 0, bad = 0;  // images
  LargeVector<double> c2;                            // [q][q' >= q][d]: correlation_at()
  std::optional<LegendreChoice> legendre;            // how these were made
  LegendreCoefficients coefficients;                 // empty without
};
StoredCorrelation read_correlation(const std::filesystem::path& path);

// What it says about itself.
nlohmann::json describe_correlation(const std::filesystem::path& path);

// Checks a file against itself: C2 and what follows from it must be what the sums give, bit for bit, sums
// must be possible ones, and everything must have the checksum that was stored with it. Throws kInput if it
// cannot be read.
struct CorrelationCheck {
  std::uint64_t images = 0;             // all that it has a row for
  std::uint64_t rejected = 0, bad = 0;  // of them
  std::vector<std::string> faults, notes;
};
CorrelationCheck verify_correlation(const std::filesystem::path& path);

// What a probe does (outputs/reader.hpp): reads everything but the values, and nothing of another file.
void touch_correlation(const std::filesystem::path& path);

}  // namespace annulus
