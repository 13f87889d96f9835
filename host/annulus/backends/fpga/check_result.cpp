#include <annulus/backends/fpga/check_result.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace annulus {
namespace {

using kernels::kBanks;
using kernels::SumBeat;

constexpr std::size_t kWords = 2 * kBanks;  // of a beat
constexpr std::size_t kUpper = kBanks;      // the first word of a beat's second half

// By its definition in hls/checksum.hpp, not by its code: two that agree are right.
class Checksum {
 public:
  explicit Checksum(std::size_t beats) : left_(beats) {}

  void add(const SumBeat& beat) {
    for (std::size_t i = 0; i < kWords; ++i) {
      value_ += (16 * std::uint64_t{left_} + 15 - 2 * i) * static_cast<std::uint64_t>(beat.sum[i]);
    }
    --left_;
  }
  std::int64_t value() const { return static_cast<std::int64_t>(value_); }

 private:
  std::size_t left_;
  std::uint64_t value_ = 0;
};

std::int64_t result_checksum(const SumBeat* results, std::uint32_t bins) {
  Checksum checksum(kernels::result_beats_of(bins));
  for (std::uint32_t row = 0; row < kernels::rows_of(bins); ++row) checksum.add(results[1 + row]);
  SumBeat header = results[0];
  header.sum[kernels::kHeaderCheck] = 0;
  checksum.add(header);
  return checksum.value();
}

std::int64_t missing_checksum(const SumBeat* missing, std::uint32_t bins) {
  const std::uint32_t beats = kernels::missing_beats_of(bins);
  Checksum checksum(beats);
  for (std::uint32_t beat = 0; beat < beats; ++beat) checksum.add(missing[beat]);
  return checksum.value();
}

// The sums of one frame, by bin.
struct FrameSums {
  const SumBeat* results;
  const SumBeat* missing;  // null: no pixel was invalid

  std::int64_t signal(std::size_t bin) const { return results[1 + bin / kBanks].sum[bin % kBanks]; }
  std::int64_t variance(std::size_t bin) const {
    return results[1 + bin / kBanks].sum[kUpper + bin % kBanks];
  }
  std::int64_t count(std::size_t bin) const { return missing[2 * (bin / kBanks)].sum[bin % kBanks]; }
  std::int64_t normalization(std::size_t bin) const {
    return missing[2 * (bin / kBanks)].sum[kUpper + bin % kBanks];
  }
  std::int64_t dark(std::size_t bin) const { return missing[2 * (bin / kBanks) + 1].sum[bin % kBanks]; }
};

std::string outside(const char* what, std::size_t bin, std::int64_t value, std::int64_t low,
                    std::int64_t high) {
  if (value >= low && value <= high) return {};
  return fmt::format("the {} of bin {} is {}, which no frame of this plan can have ({} to {})", what, bin,
                     value, low, high);
}

std::string missing_bounds_fault(const SumBounds& bounds, const FrameSums& sums, std::size_t bin) {
  std::string fault = outside("missing count", bin, sums.count(bin), 0, bounds.count[bin]);
  if (fault.empty()) {
    const std::int64_t most = bounds.normalization[bin];
    fault = outside("missing normalisation", bin, sums.normalization(bin), -most, most);
  }
  if (fault.empty() && !bounds.dark.empty()) {
    fault = outside("missing dark", bin, sums.dark(bin), -bounds.dark[bin], bounds.dark[bin]);
  }
  return fault;
}

// A bound that does not fit bounds nothing, on either side.
std::int64_t lowest(std::int64_t bound) {
  return bound == std::numeric_limits<std::int64_t>::max() ? std::numeric_limits<std::int64_t>::min()
                                                           : -bound;
}

std::string bounds_fault(const SumBounds& bounds, const FrameSums& sums, std::int64_t one_count) {
  const std::int64_t largest = std::max(bounds.max_count, one_count);
  for (std::size_t bin = 0; bin < bounds.count.size(); ++bin) {
    const std::int64_t most = saturating_product(bounds.count[bin], bounds.max_count);
    std::string fault = outside("signal", bin, sums.signal(bin), lowest(most), most);
    if (fault.empty() && !bounds.squares.empty()) {
      const std::int64_t square = saturating_product(bounds.squares[bin], largest);
      const bool bounded = lowest(square) == -square;
      fault = outside("variance", bin, sums.variance(bin), bounded ? 0 : lowest(square), square);
    }
    if (fault.empty() && sums.missing != nullptr) fault = missing_bounds_fault(bounds, sums, bin);
    if (!fault.empty()) return fault;
  }
  return {};
}

// Every pixel has a weight of 2^weight_bits, over all bins.
std::string invalid_fault(const DevicePlan& plan, const FrameSums& sums, std::uint64_t invalid) {
  if (invalid > plan.bounds.pixels) {
    return fmt::format("it says that {} pixels are invalid, and the plan uses {}", invalid,
                       plan.bounds.pixels);
  }
  if (sums.missing == nullptr) return {};
  std::uint64_t missing = 0;
  for (std::size_t bin = 0; bin < plan.bins; ++bin) missing += static_cast<std::uint64_t>(sums.count(bin));
  if (missing == invalid << plan.weight_bits) return {};
  return fmt::format("the bins miss {} units of weight, and {} invalid pixels have {}", missing, invalid,
                     invalid << plan.weight_bits);
}

std::string frame_fault(const DevicePlan& plan, const kernels::FrameDescriptor& descriptor,
                        const SumBeat* results, const SumBeat* missing) {
  if (std::string fault = result_fault(results, plan.bins, descriptor.number); !fault.empty()) return fault;
  const SumBeat& header = results[0];
  const auto invalid = static_cast<std::uint64_t>(header.sum[kernels::kHeaderInvalid]);
  if (missing != nullptr && missing_checksum(missing, plan.bins) != header.sum[kernels::kHeaderMissing]) {
    return "the checksum of its missing sums is wrong: they are not what the kernel wrote";
  }
  if (header.sum[kernels::kHeaderStatus] != kernels::kGood) return {};
  const FrameSums sums{results, invalid > 0 ? missing : nullptr};
  std::string fault = invalid_fault(plan, sums, invalid);
  return fault.empty() ? bounds_fault(plan.bounds, sums, descriptor.one_count) : fault;
}

}  // namespace

std::string result_fault(const SumBeat* results, std::uint32_t bins, std::uint32_t number) {
  const SumBeat& header = results[0];
  const auto build = static_cast<std::uint64_t>(header.sum[kernels::kHeaderBuild]);
  if (build != kernels::kBuildWord) {
    return fmt::format("its result has no header of these kernels: the build is {:#x}, not {:#x}", build,
                       kernels::kBuildWord);
  }
  if (header.sum[kernels::kHeaderNumber] != number) {
    return fmt::format(
        "its result has the number {}, not {}: it is that of an earlier run or of another frame",
        header.sum[kernels::kHeaderNumber], number);
  }
  if (header.sum[kernels::kHeaderCheck] != result_checksum(results, bins)) {
    return "the checksum of its result is wrong: the sums are not what the kernel wrote";
  }
  return {};
}

std::string launch_fault(const DevicePlan& plan, std::span<const Frame* const> frames,
                         std::span<const kernels::FrameDescriptor> descriptors, const LaunchSums& sums) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const SumBeat* const results = sums.results.data() + i * kernels::result_beats_of(plan.bins);
    const SumBeat* const missing =
        sums.missing.empty() ? nullptr : sums.missing.data() + i * kernels::missing_beats_of(plan.bins);
    const std::string fault = frame_fault(plan, descriptors[i], results, missing);
    if (!fault.empty()) return fmt::format("{}: {}", describe(*frames[i]), fault);
  }
  return {};
}

}  // namespace annulus
