#include "wrong_numbers.hpp"

#include <algorithm>
#include <random>
#include <span>

namespace annulus_sim {
namespace {

using kernels::SumBeat;

// Calls change(rows) with the rows of `results` of each frame, and with its rows of `missing`.
template <typename Change>
void for_each_rows(const WrittenSums& written, Change&& change) {
  const uint32_t result_beats = kernels::result_beats_of(written.bins);
  const uint32_t missing_beats = kernels::missing_beats_of(written.bins);
  for (uint64_t frame = 0; frame < written.frame_count; ++frame) {
    change(std::span(written.results + frame * result_beats + 1, result_beats - 1));
    change(std::span(written.missing + frame * missing_beats, missing_beats));
  }
}

void swap_frames(SumBeat* beats, uint32_t beats_per_frame, uint32_t frame_count) {
  std::swap_ranges(beats, beats + beats_per_frame, beats + uint64_t{frame_count - 1} * beats_per_frame);
}

}  // namespace

void falsify(RunFault fault, const WrittenSums& written) {
  if (written.frame_count == 0) return;
  if (fault == RunFault::kZero) {
    for_each_rows(written, [](std::span<SumBeat> rows) { std::ranges::fill(rows, SumBeat{}); });
  } else if (fault == RunFault::kGarbage) {
    std::mt19937_64 random(1);
    for_each_rows(written, [&](std::span<SumBeat> rows) {
      for (SumBeat& row : rows) {
        for (int64_t& sum : row.sum) sum = static_cast<int64_t>(random() >> 16);
      }
    });
  } else if (fault == RunFault::kFlip) {
    // In the middle of the first frame, and low enough that the sum is still one that a frame could have.
    constexpr int64_t kBit = int64_t{1} << 24;
    written.results[1 + kernels::rows_of(written.bins) / 2].sum[0] ^= kBit;
  } else if (fault == RunFault::kSwap && written.frame_count > 1) {
    swap_frames(written.results, kernels::result_beats_of(written.bins), written.frame_count);
    swap_frames(written.missing, kernels::missing_beats_of(written.bins), written.frame_count);
  }
}

}  // namespace annulus_sim
