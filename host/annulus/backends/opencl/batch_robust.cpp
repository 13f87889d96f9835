// Recipes beyond sums: passes over pixels that stay on the device, between which the host makes the windows
// of clips.
#include <annulus/backends/opencl/batch.hpp>
#include <annulus/plan/rank_clip.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/spread_table.hpp>

#include <algorithm>
#include <bit>
#include <optional>

namespace annulus::opencl {
namespace {

static_assert(sizeof(ClipWindow) == sizeof(cl_int4));
constexpr cl_int4 kOpenWindow = {{0, 0, 0, 1}};
constexpr std::int32_t kAsBefore = 2;  // as in kernels/robust.cl

constexpr std::size_t kRankedBytes = 32;  // likewise
constexpr std::size_t kRobustGroup = 64;
constexpr std::uint32_t kWordBits = 32;  // pixels in a word of outliers

// From the halves of numbers in two's complement: words that are signed.
void store_wide(Sums& sums, Quantity quantity, const std::int64_t* low, std::size_t bins) {
  const auto words = sums.make(quantity, bins, 2);
  const std::int64_t* const high = low + bins;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    words[bin] = low[bin];
    words[bins + bin] = high[bin] + (low[bin] < 0 ? 1 : 0);
  }
}

}  // namespace

std::vector<LaneResult> Batch::reduce_robust(std::span<const Frame* const> frames) {
  const Job& job = session_->job();
  const std::size_t count = frames.size();
  RobustNumbers robust = session_->robust();
  robust.stride = stride_;
  robust.frames = static_cast<cl_uint>(count);
  robust.count_invalid = 1;
  prepare_robust(frames, robust);
  if (robust.by_rank != 0) find_ranks(robust);

  std::vector<LaneResult> results(count);
  std::vector<std::optional<SigmaClip>> clips(count);
  std::vector<cl_uint> active;  // frames whose sums are not yet what they shall be
  const std::vector<cl_uint> faulty = read_numbers(buffers_.faulty, count);
  for (cl_uint lane = 0; lane < count; ++lane) {
    results[lane].faulty = faulty[lane] != 0;
    if (results[lane].faulty) continue;
    active.push_back(lane);
    if (job.recipe.clip.by_sigma()) clips[lane].emplace(job, frames[lane]->fraction_bits);
  }
  std::vector<cl_uint> invalid;
  while (!active.empty()) {
    sum_robust(active, robust);
    if (invalid.empty()) invalid = read_numbers(buffers_.invalid_counts, count);
    robust.count_invalid = 0;
    std::vector<cl_uint> again;
    for (const cl_uint lane : active) {
      Sums& sums = results[lane].sums;
      sums = fetch_robust(*frames[lane], lane, invalid[lane]);
      if (!clips[lane]) continue;
      const std::vector<ClipWindow> before = clips[lane]->windows();
      if (clips[lane]->next(sums)) {
        send_windows(lane, before, clips[lane]->windows());
        again.push_back(lane);
      } else {
        finish_clip(job, *clips[lane], sums);
      }
    }
    active = std::move(again);
  }
  if (job.list_outliers && job.recipe.has_clip()) fetch_outliers(robust, results);
  check_violations();
  queue_.finish();
  stopwatch_.read();
  return results;
}

void Batch::prepare_robust(std::span<const Frame* const> frames, const RobustNumbers& robust) {
  const Job& job = session_->job();
  const std::uint64_t places = std::uint64_t{robust.frames} * session_->numbers().bins;
  ensure(buffers_.results, places * robust.words * sizeof(cl_long),
         CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  ensure(buffers_.invalid_counts, kLanes * sizeof(cl_uint), CL_MEM_READ_WRITE);
  fill_with_zeros(buffers_.invalid_counts, kLanes * sizeof(cl_uint));
  ensure(buffers_.active, kLanes * sizeof(cl_uint), CL_MEM_READ_ONLY);
  ensure(buffers_.windows, robust.by_rank != 0 ? 0 : places * sizeof(cl_int4), CL_MEM_READ_WRITE);
  if (robust.by_rank == 0)
    queue_.enqueueFillBuffer(buffers_.windows.get(), kOpenWindow, 0, places * sizeof(cl_int4));
  ensure(buffers_.keys, robust.by_rank * sizeof(cl_long) * robust.frames * session_->numbers().entries,
         CL_MEM_READ_WRITE);
  ensure(buffers_.ranks, robust.by_rank * sizeof(cl_long2) * places, CL_MEM_READ_WRITE);
  std::vector<cl_int> finer(kLanes);
  for (std::size_t i = 0; i < frames.size(); ++i)
    finer[i] = frames[i]->fraction_bits + job.plan->spread->dark_shift - job.plan->dark_bits;
  ensure(buffers_.finer, finer.size() * sizeof(cl_int), CL_MEM_READ_ONLY);
  queue_.enqueueWriteBuffer(buffers_.finer.get(), CL_TRUE, 0, finer.size() * sizeof(cl_int), finer.data());
}

void Batch::find_ranks(const RobustNumbers& robust) {
  const PlanNumbers& plan = session_->numbers();
  const PlanBuffers& matrix = session_->buffers();
  const Clip& clip = session_->job().recipe.clip;
  const std::size_t plain = kernels_.order_pixels.group(kRobustGroup);
  launch("order pixels", kernels_.order_pixels, cl::NDRange(round_up(plan.entries, plain), robust.frames),
         cl::NDRange(plain, 1), plan, robust, matrix.row_pixels.get(), matrix.row_divisors.get(),
         matrix.dark.get(), buffers_.pixels.get(), cl_ulong{pixel_entries_}, buffers_.finer.get(),
         buffers_.keys.get());
  const Range parts = clip.quantiles.value_or(Range{0.5, 0.5});
  const std::size_t group = kernels_.find_ranks.group(session_->choice().group);
  launch("find ranks", kernels_.find_ranks, cl::NDRange(plan.bins * group, robust.frames),
         cl::NDRange(group, 1), plan, robust, matrix.rows.get(), matrix.row_weights.get(),
         matrix.row_divisors.get(), buffers_.keys.get(), static_cast<cl_uint>(quantile_number(parts.low)),
         static_cast<cl_uint>(quantile_number(parts.high)), buffers_.ranks.get(),
         cl::Local(group * kRankedBytes));
}

void Batch::sum_robust(const std::vector<cl_uint>& active, const RobustNumbers& robust) {
  const PlanNumbers& plan = session_->numbers();
  const PlanBuffers& matrix = session_->buffers();
  queue_.enqueueWriteBuffer(buffers_.active.get(), CL_TRUE, 0, active.size() * sizeof(cl_uint),
                            active.data());
  const std::size_t group = kernels_.sum_robust.group(session_->choice().group);
  launch("integrate", kernels_.sum_robust, cl::NDRange(plan.bins * group, active.size()),
         cl::NDRange(group, 1), plan, robust, matrix.rows.get(), matrix.row_pixels.get(),
         matrix.row_weights.get(), matrix.row_divisors.get(), matrix.normalization.get(), matrix.dark.get(),
         buffers_.pixels.get(), cl_ulong{pixel_entries_}, buffers_.active.get(), buffers_.finer.get(),
         buffers_.one_counts.get(), buffers_.windows.get(), buffers_.keys.get(), buffers_.ranks.get(),
         buffers_.results.get(), buffers_.invalid_counts.get(), cl::Local(group * sizeof(cl_ulong2)));
}

// What a pass found in a frame, as SigmaClip wants it.
Sums Batch::fetch_robust(const Frame& frame, cl_uint lane, cl_uint invalid) {
  const RobustNumbers& robust = session_->robust();
  const std::size_t bins = session_->numbers().bins;
  const std::size_t bytes = bins * robust.words * sizeof(cl_long);
  auto* const words = static_cast<std::int64_t*>(
      queue_.enqueueMapBuffer(buffers_.results.get(), CL_TRUE, CL_MAP_READ, lane * bytes, bytes, nullptr,
                              stopwatch_.time("fetch", bytes)));
  const auto numbers = [&](Quantity quantity) {
    return std::span(words + robust.place_of(quantity) * bins, bins);
  };
  const bool has_clip = session_->job().recipe.has_clip();
  const bool is_whole =
      invalid == 0 &&
      (!has_clip || std::ranges::all_of(numbers(Quantity::kClipped), [](std::int64_t n) { return n == 0; }));
  Sums sums;
  sums.fraction_bits = frame.fraction_bits;
  sums.invalid_pixels = invalid;
  for (const Quantity quantity : session_->job().quantities_of_passes()) {
    if (is_whole && is_missing(quantity)) continue;
    if (quantity == Quantity::kEmptied) {
      sums.make(quantity, bins);
    } else if (has_two_words(quantity)) {
      store_wide(sums, quantity, numbers(quantity).data(), bins);
    } else {
      sums.set(quantity, PooledArray<std::int64_t>(numbers(quantity)));
    }
  }
  queue_.enqueueUnmapMemObject(buffers_.results.get(), words);
  return sums;
}

// The device keeps the sums of bins whose window stays.
void Batch::send_windows(cl_uint lane, const std::vector<ClipWindow>& before,
                         const std::vector<ClipWindow>& windows) {
  std::vector<ClipWindow> sent = windows;
  for (std::size_t bin = 0; bin < sent.size(); ++bin) {
    if (windows[bin] == before[bin]) sent[bin].open |= kAsBefore;
  }
  const std::size_t bytes = sent.size() * sizeof(ClipWindow);
  queue_.enqueueWriteBuffer(buffers_.windows.get(), CL_TRUE, lane * bytes, bytes, sent.data());
}

void Batch::fetch_outliers(const RobustNumbers& robust, std::vector<LaneResult>& results) {
  const PlanNumbers& plan = session_->numbers();
  const PlanBuffers& matrix = session_->buffers();
  const std::size_t words = (plan.pixels + kWordBits - 1) / kWordBits;
  ensure(buffers_.outliers, results.size() * words * sizeof(cl_uint), CL_MEM_READ_WRITE);
  fill_with_zeros(buffers_.outliers, results.size() * words * sizeof(cl_uint));
  const std::size_t group = kernels_.mark_outliers.group(session_->choice().group);
  launch("mark outliers", kernels_.mark_outliers, cl::NDRange(plan.bins * group, robust.frames),
         cl::NDRange(group, 1), plan, robust, matrix.rows.get(), matrix.row_pixels.get(),
         matrix.row_divisors.get(), matrix.dark.get(), buffers_.pixels.get(), cl_ulong{pixel_entries_},
         buffers_.finer.get(), buffers_.windows.get(), buffers_.keys.get(), buffers_.ranks.get(),
         buffers_.outliers.get());
  const std::vector<cl_uint> marks = read_numbers(buffers_.outliers, results.size() * words);
  for (std::size_t lane = 0; lane < results.size(); ++lane) {
    if (results[lane].faulty) continue;
    for (std::size_t word = 0; word < words; ++word) {
      for (cl_uint left = marks[lane * words + word]; left != 0; left &= left - 1) {
        const auto pixel = word * kWordBits + static_cast<std::size_t>(std::countr_zero(left));
        results[lane].sums.outliers.push_back(static_cast<std::uint32_t>(pixel));
      }
    }
  }
}

}  // namespace annulus::opencl
