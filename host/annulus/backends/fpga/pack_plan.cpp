#include <annulus/backends/fpga/pack_plan.hpp>
#include <annulus/core/error.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>

namespace annulus {
namespace {

using kernels::kLanes;
using kernels::TableEntry;

static_assert(kMaxWeightBits == kernels::kMaxWeightBits && kMaxVarianceBits == kernels::kMaxVarianceBits);

struct BinWeight {
  std::uint32_t bin = 0;
  std::uint32_t weight = 0;
};

void check_limits(const Plan& plan, const Recipe& recipe, const std::string& backend) {
  if (plan.bins() > kernels::kMaxBins) {
    throw Error(
        ErrorKind::kBackend, backend,
        fmt::format("the plan has {} bins, these kernels hold {}", bins_in_words(plan), kernels::kMaxBins),
        fmt::format("ask for fewer bins{}, use the cpu backend, or build with a larger "
                    "ANNULUS_KERNEL_BINS",
                    plan.axes.size() > 1 ? " (`npt` times `npt_azim`)" : ""));
  }
  if (recipe.has_variance() && !kernels::kVariance) {
    throw Error(ErrorKind::kBackend, backend, "these kernels were built without variance",
                "use `error_model` no, the cpu backend, or build with ANNULUS_KERNEL_VARIANCE=1");
  }
  if (plan.pixels() > std::numeric_limits<std::uint32_t>::max() - kLanes) {
    throw Error(ErrorKind::kBackend, backend, fmt::format("{} pixels are too many", plan.pixels()),
                "use the cpu backend");
  }
}

TableEntry make_entry(std::uint32_t first_bin, std::uint32_t second, std::uint32_t third) {
  return TableEntry{first_bin} | TableEntry{second} << kernels::kBinBits |
         TableEntry{third} << (kernels::kBinBits + kernels::kShareBits);
}

// The weight of `bin`, which is taken out of the front of `rest` if it is there; else 0.
std::uint32_t take(std::span<const BinWeight>& rest, std::uint32_t bin) {
  if (rest.empty() || rest.front().bin != bin) return 0;
  const std::uint32_t weight = rest.front().weight;
  rest = rest.subspan(1);
  return weight;
}

// A pixel's entries, one a beat. The last closes the pixel: it has its lowest bin, whose weight is implied,
// and the two above. Those before have two bins each and leave their first, one below, without weight.
void make_entries(std::span<const BinWeight> shares, std::vector<TableEntry>& entries) {
  entries.clear();
  if (shares.empty()) return;
  const std::uint32_t lowest = shares.front().bin;
  shares = shares.subspan(1);
  const std::uint32_t second = take(shares, lowest + 1);
  const std::uint32_t third = take(shares, lowest + 2);
  while (!shares.empty()) {
    const std::uint32_t bin = shares.front().bin;
    const std::uint32_t weight = take(shares, bin);
    entries.push_back(make_entry(bin - 1, weight, take(shares, bin + 1)));
  }
  entries.push_back(make_entry(lowest, second, third) | kernels::kCloses);
}

std::vector<BinWeight> shares_of(const SparseMatrix& matrix, std::size_t pixel) {
  std::vector<BinWeight> shares;
  for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
    shares.push_back({matrix.bin[entry], matrix.weight[entry]});
  }
  std::sort(shares.begin(), shares.end(), [](auto a, auto b) { return a.bin < b.bin; });
  return shares;
}

void pack_table(const Plan& plan, DevicePlan& packed) {
  std::array<std::vector<TableEntry>, kLanes> entries;
  for (std::size_t first = 0; first < plan.pixels(); first += kLanes) {
    std::size_t beats = 1;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t pixel = first + lane;
      make_entries(pixel < plan.pixels() ? shares_of(plan.matrix, pixel) : std::vector<BinWeight>(),
                   entries[lane]);
      beats = std::max(beats, entries[lane].size());
    }
    for (std::size_t beat = 0; beat < beats; ++beat) {
      for (auto& port : packed.table) port.emplace_back();
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        TableEntry entry = beat < entries[lane].size() ? entries[lane][beat] : 0;
        if (lane == 0 && beat + 1 == beats) entry |= kernels::kLastBeat;
        packed.table[lane / kernels::kEntriesAPort].back().entry[lane % kernels::kEntriesAPort] = entry;
      }
    }
  }
  packed.beats = static_cast<std::uint32_t>(packed.table[0].size());
}

}  // namespace

DevicePlan pack_plan(const Plan& plan, const Recipe& recipe, const std::string& backend) {
  check_limits(plan, recipe, backend);
  DevicePlan packed;
  packed.pixels = static_cast<std::uint32_t>(plan.pixels());
  packed.bins = plan.bins();
  packed.weight_bits = static_cast<std::uint32_t>(plan.weight_bits);
  packed.variance_bits = recipe.has_variance() ? static_cast<std::uint32_t>(plan.variance_bits) : 0;
  packed.lowest = -plan.validity.max_count;
  packed.highest = plan.validity.max_count;
  packed.dummy_lowest = plan.validity.dummy_low;
  packed.dummy_highest = plan.validity.dummy_high;
  pack_table(plan, packed);
  packed.bounds = sum_bounds(plan, recipe);
  packed.corrections.resize(plan.pixels());
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    packed.corrections[pixel] = {plan.normalization[pixel], plan.dark.empty() ? 0 : plan.dark[pixel]};
  }
  return packed;
}

}  // namespace annulus
