#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/build_steps.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace annulus {
namespace {

// Plans of fewer bins are not worth another look at every pixel: compile_matrix counts as it goes.
constexpr std::uint32_t kFewBins = 1u << 14;

constexpr std::uint64_t kEntriesOfASmallDetector = 1u << 26;
constexpr std::uint64_t kEntriesAPixel = 32;

}  // namespace

std::uint64_t max_entries(const Plan& plan) {
  const std::uint64_t most = std::max(kEntriesOfASmallDetector, kEntriesAPixel * plan.pixels());
  return std::min<std::uint64_t>(most, std::numeric_limits<std::uint32_t>::max());  // they are numbered
}

void refuse_entries(const Plan& plan, std::uint64_t entries) {
  throw Error(
      ErrorKind::kPlan, plan.axes.size() > 1 ? "`npt`, `npt_azim`" : "`npt`",
      fmt::format("with {} bins the plan would have {} entries or so, more than the {} that it may hold",
                  bins_in_words(plan), entries, max_entries(plan)),
      "ask for fewer bins, or use `split` no");
}

void check_entries(const Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                   unsigned threads) {
  if (plan.bins() <= kFewBins || plan.pixels() * std::uint64_t{plan.bins()} <= max_entries(plan)) return;
  std::atomic<std::uint64_t> entries = 0;
  parallel_ranges(plan.shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      std::uint64_t in_row = 0;
      for (std::uint32_t col = 0; col < plan.shape.cols; ++col) {
        if (!excluded[row * plan.shape.cols + col])
          in_row += splitter.most_shares(static_cast<std::uint32_t>(row), col);
      }
      entries += in_row;
    }
  });
  if (entries > max_entries(plan)) refuse_entries(plan, entries);
}

}  // namespace annulus
