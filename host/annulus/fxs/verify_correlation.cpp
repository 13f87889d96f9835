#include <annulus/core/error.hpp>
#include <annulus/fxs/correlation_content.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/outputs/checksums.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

namespace annulus {
namespace {

namespace layout_of = correlation_layout;

class Checker {
 public:
  Checker(const CorrelationContent& content, const std::filesystem::path& path, CorrelationCheck& result)
      : content_(content), path_(path), result_(result) {}

  void check() {
    const CorrelationRecord record = content_.record();
    const SnapshotTable& snapshots = record.snapshots;
    result_.snapshots = snapshots.rows().size();
    result_.rejected = snapshots.count(SnapshotStatus::kRejected);
    result_.bad = snapshots.count(SnapshotStatus::kBad);
    for (const auto& [name, status] :
         {std::pair{"counted", SnapshotStatus::kCounted}, std::pair{"rejected", SnapshotStatus::kRejected},
          std::pair{"bad", SnapshotStatus::kBad}}) {
      if (content_.number(std::string(layout_of::kProcess) + "/" + name) != snapshots.count(status))
        fault(fmt::format("{} does not say how many rows of snapshots are so", name));
    }
    if (content_.number(layout_of::kHeaderChecksum) !=
        header_checksum(content_.file(), layout_of::kWithoutHeader))
      fault("what is stored beside the sums does not have its checksum");
    if (!record.finished)
      result_.notes.push_back(
          fmt::format("{}: is not finished: its run goes on, or was ended", path_.string()));
    const std::uint64_t images = snapshots.count(SnapshotStatus::kCounted);
    if (content_.is_preview()) {
      PreviewSums sums;
      sums.shape = content_.shape();
      sums.scale = record.setup.scale;
      sums.images = images;
      const std::vector<std::size_t> extent = {sums.shape.pairs(), sums.shape.angles};
      sums.signal = content_.large_values<float>(layout_of::kSignal, extent);
      sums.mask = content_.large_values<std::int64_t>(layout_of::kMask, extent);
      check_sums(sums);
    } else {
      const CorrelationSums sums = content_.sums(images);
      check_sums(sums);
      check_signal(sums);
    }
  }

 private:
  void fault(const std::string& what) {
    result_.faults.push_back(fmt::format("{}: {}", path_.string(), what));
  }

  template <typename Sums>
  void check_sums(const Sums& sums) {
    check_checksum("signal", layout_of::kSignal, std::as_bytes(std::span(sums.signal)));
    check_checksum("mask", layout_of::kMask, std::as_bytes(std::span(sums.mask)));
    check_mask(sums.shape, sums.mask, sums.images);
    check_c2(sums);
  }

  void check_checksum(const char* name, const char* path, std::span<const std::byte> bytes) {
    if (content_.number(std::string(layout_of::kChecksums) + "/" + name) !=
        row_checksum(checksum_seed(path), bytes))
      fault(fmt::format("{} does not have its checksum", path));
  }

  // No ring has more products of valid values than images x angles, nor two rings more than each has itself.
  void check_mask(const PolarShape& shape, const LargeVector<std::int64_t>& mask, std::uint64_t images) {
    const auto own = [&](std::size_t q) { return mask[shape.pair(q, q) * shape.angles]; };
    for (std::size_t q = 0; q < shape.rings; ++q) {
      for (std::size_t other = q; other < shape.rings; ++other) {
        const std::int64_t most = std::min(own(q), own(other));
        for (std::size_t d = 0; d < shape.angles; ++d) {
          const std::int64_t value = mask[shape.pair(q, other) * shape.angles + d];
          if (value >= 0 && value <= most && static_cast<std::uint64_t>(value) <= images * shape.angles)
            continue;
          return fault(fmt::format("mask({}, {}, {}) = {} cannot be a sum over {} snapshots", q, other, d,
                                   value, images));
        }
      }
    }
  }

  // A ring with itself: sums of squares, the same forwards and backwards.
  void check_signal(const CorrelationSums& sums) {
    const PolarShape& shape = sums.shape;
    for (std::size_t q = 0; q < shape.rings; ++q) {
      const std::int64_t* const ring = sums.signal.data() + shape.pair(q, q) * shape.angles;
      for (std::size_t d = 0; d < shape.angles; ++d) {
        if (ring[d] == ring[(shape.angles - d) % shape.angles] && ring[d] <= ring[0] && ring[d] >= -ring[0])
          continue;
        return fault(fmt::format("signal({}, {}, {}) = {} cannot be a sum of products", q, q, d, ring[d]));
      }
    }
  }

  template <typename Sums>
  void check_c2(const Sums& sums) {
    const PolarShape& shape = sums.shape;
    LargeVector<double> c2(shape.correlations());
    sums.normalize(0, c2);
    const auto compare = [&](const char* path, std::span<const double> expected,
                             std::span<const double> stored) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (std::bit_cast<std::uint64_t>(expected[i]) == std::bit_cast<std::uint64_t>(stored[i])) continue;
        return fault(
            fmt::format("{}: value {} is {}, and the sums give {}", path, i, stored[i], expected[i]));
      }
    };
    compare(layout_of::kC2, c2, content_.large_values<double>(layout_of::kC2, {shape.pairs(), shape.angles}));
    std::vector<double> on_ring, at_zero;
    for (std::size_t q = 0; q < shape.rings; ++q) {
      const double* const ring = c2.data() + shape.pair(q, q) * shape.angles;
      on_ring.insert(on_ring.end(), ring, ring + shape.angles);
      for (std::size_t other = 0; other < shape.rings; ++other)
        at_zero.push_back(c2[shape.pair(std::min(q, other), std::max(q, other)) * shape.angles]);
    }
    compare(layout_of::kOnRing, on_ring,
            content_.values<double>(layout_of::kOnRing, {shape.rings, shape.angles}));
    compare(layout_of::kAtZero, at_zero,
            content_.values<double>(layout_of::kAtZero, {shape.rings, shape.rings}));
  }

  const CorrelationContent& content_;
  const std::filesystem::path& path_;
  CorrelationCheck& result_;
};

}  // namespace

CorrelationCheck verify_correlation(const std::filesystem::path& path) {
  CorrelationCheck result;
  const CorrelationContent content(path);
  const Hdf5Session scope;
  Checker(content, path, result).check();
  return result;
}

}  // namespace annulus
