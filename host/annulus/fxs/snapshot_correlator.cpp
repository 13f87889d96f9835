#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/fxs/snapshot_correlator.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace annulus {
namespace {

// Less is not worth a thread.
constexpr std::size_t kValuesPerThread = std::size_t{1} << 16;

double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

CorrelatorOptions correlator_options(const SnapshotOptions& options) {
  return {options.threads, options.block};
}

}  // namespace

std::size_t bytes_of(const PolarShape& shape, const SnapshotOptions& options) {
  const CorrelatorOptions wanted = correlator_options(options);
  if (!options.preview) return Correlator::bytes(shape, wanted);
  return FastCorrelator::bytes(shape, wanted) + FastCorrelator::mask_bytes(shape, wanted);
}

void check_memory(const PolarShape& shape, const SnapshotOptions& options, bool with_coefficients) {
  shape.check();
  const auto machine = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                       static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
  // Coefficients are made of all of C2 at once.
  const std::uint64_t c2 = with_coefficients ? shape.correlations() * sizeof(double) : 0;
  const std::uint64_t needed = bytes_of(shape, options) + c2;
  if (machine == 0 || needed <= machine) return;
  throw Error(
      ErrorKind::kUsage, "`npt`, `npt_azim`",
      fmt::format("correlations of {} rings over {} angles take {:.1f} GB, and this machine has {:.1f}",
                  shape.rings, shape.angles, gigabytes(needed), gigabytes(machine)),
      "take fewer rings or angles: memory grows with the square of the rings");
}

SnapshotCorrelator::SnapshotCorrelator(CorrelationRecord record, PolarOrder order, SnapshotOptions options)
    : record_(std::move(record)),
      order_(order),
      options_(options),
      quantizer_(record_.setup.shape, record_.setup.scale, record_.setup.polar) {
  const CorrelationSetup& setup = record_.setup;
  check_memory(setup.shape, options_, record_.legendre.has_value());
  if (options_.preview) {
    fast_ = std::make_unique<FastCorrelator>(setup.shape, setup.scale, correlator_options(options_));
  } else {
    exact_ = std::make_unique<Correlator>(setup.shape, setup.scale, correlator_options(options_));
  }
}

SnapshotCorrelator::SnapshotCorrelator(Correlation begun, PolarOrder order, SnapshotOptions options)
    : record_(std::move(begun.record)),
      order_(order),
      options_(options),
      quantizer_(record_.setup.shape, record_.setup.scale, record_.setup.polar) {
  check_memory(record_.setup.shape, options_, record_.legendre.has_value());
  exact_ = std::make_unique<Correlator>(std::move(begun.sums), correlator_options(options_));
}

void SnapshotCorrelator::add(std::span<const PolarSnapshot> snapshots) {
  reserve(snapshots.size());
  const std::size_t values = snapshots.size() * record_.setup.shape.values();
  const auto threads = static_cast<unsigned>(
      std::min<std::size_t>(resolve_threads(options_.threads), values / kValuesPerThread + 1));
  parallel_ranges(snapshots.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      integers_[i].mean = std::numeric_limits<double>::quiet_NaN();
      reasons_[i] = snapshots[i].fault.empty()
                        ? quantizer_.quantize(snapshots[i].values, integers_[i], order_).value_or("")
                        : snapshots[i].fault;
    }
  });
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    Snapshot row = snapshots[i].row;
    row.mean = integers_[i].mean;
    row.status = !snapshots[i].fault.empty() ? SnapshotStatus::kBad
                 : !reasons_[i].empty()      ? SnapshotStatus::kRejected
                                             : SnapshotStatus::kCounted;
    if (row.status == SnapshotStatus::kCounted) {
      try {
        count(integers_[i]);
      } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}, image {}", snapshots[i].source, row.in_source),
                    error.fault(), error.cure());
      }
    }
    record_.snapshots.add(row, snapshots[i].source, reasons_[i]);
  }
}

void SnapshotCorrelator::reserve(std::size_t images) {
  if (integers_.size() >= images) return;
  integers_.resize(images);
  reasons_.resize(images);
}

void SnapshotCorrelator::count(const IntegerImage& image) {
  if (exact_) {
    exact_->add(image.values, image.valid);
  } else {
    fast_->add(image.values, image.valid);
  }
}

void SnapshotCorrelator::write(const std::filesystem::path& path, bool overwrite, bool finished,
                               const std::optional<FileStamp>& known) {
  record_.finished = finished;
  // Shares of a scan that are taken up again, and images that waited for the scale, come in any order. No
  // image may count twice: a master file and the file that it leads to may both be named.
  if (finished) record_.snapshots = join({&record_.snapshots});
  if (exact_) {
    write_correlation(path, record_, exact_->sums(), overwrite, options_.threads, known);
  } else {
    write_correlation(path, record_, fast_->sums(), overwrite, options_.threads, known);
  }
}

Correlation SnapshotCorrelator::take() {
  Correlation all{std::move(record_), {}};
  if (exact_) all.sums = exact_->take_sums();
  return all;
}

}  // namespace annulus
