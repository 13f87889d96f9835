// Snapshots as they come, one batch after the other, into a correlation and the table of what became of each.
#pragma once

#include <annulus/correlation/correlator.hpp>
#include <annulus/correlation/fast_correlator.hpp>
#include <annulus/correlation/polar_image.hpp>
#include <annulus/fxs/correlation.hpp>
#include <annulus/fxs/correlation_file.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace annulus {

// One of them: a polar image, or the reason why there is none.
struct PolarSnapshot {
  Snapshot row;  // its place, source and frame; what became of it is found here
  std::string source;
  std::string fault;
  std::span<const double> values = {};  // as the correlator's order says; none with a fault
};

struct SnapshotOptions {
  unsigned threads = 0;   // 0: all
  std::size_t block = 0;  // as of CorrelatorOptions
  bool preview = false;   // in single precision
};

class SnapshotCorrelator {
 public:
  // Begins with nothing. Throws kUsage for a setup that makes no sense, or that this machine has no memory
  // for.
  SnapshotCorrelator(CorrelationRecord record, PolarOrder order, SnapshotOptions options);
  // Goes on with what there is. Throws kInput if it cannot be sums of images.
  SnapshotCorrelator(Correlation begun, PolarOrder order, SnapshotOptions options);

  // Throws kInput for the first snapshot that the sums have no room for: those before it are counted, it and
  // those after it are not there at all.
  void add(std::span<const PolarSnapshot> snapshots);

  const CorrelationRecord& record() const { return record_; }

  // As a file (write_correlation()), of what there is so far.
  void write(const std::filesystem::path& path, bool overwrite, bool finished,
             const std::optional<FileStamp>& known = {});

  // All that there is; nothing may follow. Previews have no sums.
  Correlation take();

 private:
  void reserve(std::size_t images);
  void count(const IntegerImage& image);

  CorrelationRecord record_;
  PolarOrder order_;
  SnapshotOptions options_;
  PolarQuantizer quantizer_;
  std::unique_ptr<Correlator> exact_;  // one of these
  std::unique_ptr<FastCorrelator> fast_;
  std::vector<IntegerImage> integers_;  // of a batch
  std::vector<std::string> reasons_;
};

// Bytes that one takes, beside rows of snapshots.
std::size_t bytes_of(const PolarShape& shape, const SnapshotOptions& options);

// Throws kUsage if it takes more memory than the machine has, with its coefficients if there will be some.
void check_memory(const PolarShape& shape, const SnapshotOptions& options, bool with_coefficients);

}  // namespace annulus
