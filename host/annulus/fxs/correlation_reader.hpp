// Reading files of correlations back: to add to them, to look at them, to check them.
#pragma once

#include <annulus/correlation/legendre.hpp>
#include <annulus/fxs/correlation.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// False for what is not there or is no HDF5 file, too. Throws kInput if nobody can say, as probe_output()
// does.
bool is_correlation_file(const std::filesystem::path& path);

// For those who add to it. Throws kInput, also for a preview.
Correlation read_correlation_sums(const std::filesystem::path& path);

// The same without the sums.
CorrelationRecord read_correlation_record(const std::filesystem::path& path);

// For those who look at it.
struct StoredCorrelation {
  std::filesystem::path file;
  CorrelationSetup setup;
  bool preview = false;                              // made of float sums: titles say so
  bool finished = false;                             // else its run goes on, or was ended
  std::uint64_t counted = 0, rejected = 0, bad = 0;  // snapshots
  LargeVector<double> c2;                            // [q][q' >= q][d]: correlation_at()
  std::optional<LegendreChoice> legendre;            // what was asked for
  LegendreCoefficients coefficients;                 // empty without, and until it is finished
};
StoredCorrelation read_correlation(const std::filesystem::path& path);

// What it says about itself.
nlohmann::json describe_correlation(const std::filesystem::path& path);

// Checks a file against itself: C2 must be what the sums give, bit for bit, sums must be possible ones, and
// everything must have the checksum that was stored with it. Throws kInput if it cannot be read.
struct CorrelationCheck {
  std::uint64_t snapshots = 0;
  std::uint64_t rejected = 0, bad = 0;  // of them
  std::vector<std::string> faults, notes;
};
CorrelationCheck verify_correlation(const std::filesystem::path& path);

// What a probe does (outputs/reader.hpp): reads everything but the values, and nothing of another file.
void touch_correlation(const std::filesystem::path& path);

}  // namespace annulus
