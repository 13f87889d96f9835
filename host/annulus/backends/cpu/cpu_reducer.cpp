#include <annulus/backends/cpu/cpu_reducer.hpp>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

// Pixels decoded at a time: with 16 lanes they stay in the first-level cache until they are interleaved.
constexpr std::size_t kRowPixels = 256;
constexpr std::size_t kRowStride = kRowPixels + 16;  // so that rows do not fall on each other in the cache
static_assert(kBandPixels % kRowPixels == 0 && kRowPixels % 8 == 0);

constexpr std::size_t kMostLanes = 16;

// Of a thread; its results, twice, take as much again. A cake of 360 x 1000 bins has 23 MB for 8 frames.
constexpr std::size_t kMostSumsBytes = std::size_t{32} << 20;

// A vector of which only a quarter is filled takes longer than its frames one by one.
bool worth_a_vector(std::size_t frames, std::size_t lanes) { return 4 * frames > lanes; }

}  // namespace

std::shared_ptr<const CpuPlan> make_cpu_plan(const Job& job, unsigned threads) {
  return std::make_shared<const CpuPlan>(CpuPlan{job.plan, make_banded_plan(job, threads)});
}

std::size_t cpu_batch_size(InstructionSet set) { return std::max<std::size_t>(16, lane_kernels(set).lanes); }

std::size_t cpu_batch_size(InstructionSet set, const Job& job) {
  const std::size_t frame = job.plan->bins() * sizeof(std::int64_t) * (job.recipe.has_variance() ? 2 : 1);
  std::size_t batch = cpu_batch_size(set);
  // Halved, so that vectors stay full.
  while (batch > 1 && batch * frame > kMostSumsBytes) batch /= 2;
  return batch;
}

CpuReducer::CpuReducer(std::shared_ptr<const CpuPlan> plan, InstructionSet set)
    : plan_(std::move(plan)), set_(set), kernels_(lane_kernels(set)), rows_(kernels_.lanes * kRowStride) {}

std::vector<FrameResult> CpuReducer::reduce(const std::vector<Frame>& frames) {
  std::vector<FrameResult> results(frames.size());
  decoders_.clear();
  decoders_.resize(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    results[i].id = frames[i].id;
    decoders_[i].emplace(frames[i], set_);
  }
  const std::vector<Group> groups = make_groups(frames.size());
  for (const Group& group : groups) {
    std::array<std::uint32_t, kMostLanes> one;
    for (std::size_t lane = 0; lane < group.count; ++lane) one[lane] = one_count(frames[group.first + lane]);
    group.sums->start(std::span(one).first(group.count));
  }
  for (std::size_t band = 0; band < plan_->banded.band_count(); ++band) {
    for (const Group& group : groups) {
      decode_band(band, group, frames, results);
      group.sums->add_band(band, values_.data());
    }
  }
  for (const Group& group : groups) {
    std::array<int, kMostLanes> fraction_bits;
    for (std::size_t lane = 0; lane < group.count; ++lane) {
      fraction_bits[lane] = frames[group.first + lane].fraction_bits;
    }
    std::vector<Sums> sums = group.sums->take(std::span(fraction_bits).first(group.count));
    for (std::size_t lane = 0; lane < group.count; ++lane) {
      const std::size_t i = group.first + lane;
      if (decoders_[i] && !decoders_[i]->finish()) fail(frames[i], i, results);
      if (decoders_[i]) results[i].outcome = std::move(sums[lane]);
    }
  }
  return results;
}

std::vector<CpuReducer::Group> CpuReducer::make_groups(std::size_t frames) {
  std::vector<Group> groups;
  std::map<const LaneKernels*, std::size_t> used;
  for (std::size_t first = 0; first < frames;) {
    const LaneKernels& kernels = kernels_for(frames - first);
    auto& made = sums_[&kernels];
    const std::size_t index = used[&kernels]++;
    if (index == made.size()) {
      made.push_back(std::make_unique<LaneSums>(*plan_->plan, plan_->banded, kernels));
    }
    const std::size_t count = std::min(frames - first, kernels.lanes);
    groups.push_back({made[index].get(), first, count});
    first += count;
  }
  return groups;
}

const LaneKernels& CpuReducer::kernels_for(std::size_t frames) const {
  const LaneKernels& half = lane_kernels(set_ == InstructionSet::kAvx512 ? InstructionSet::kAvx2 : set_);
  const LaneKernels& vector = frames <= half.lanes ? half : kernels_;
  return worth_a_vector(frames, vector.lanes) ? vector : single_lane_kernels(set_);
}

void CpuReducer::decode_band(std::size_t band, const Group& group, const std::vector<Frame>& frames,
                             std::vector<FrameResult>& results) {
  const std::size_t lanes = group.sums->lanes();
  const std::size_t start = band * kBandPixels;
  const std::size_t length = std::min<std::size_t>(kBandPixels, plan_->plan->pixels() - start);
  values_.resize((kBandPixels + 1) * kernels_.lanes);
  for (std::size_t done = 0; done < length; done += kRowPixels) {
    const std::size_t count = std::min(kRowPixels, length - done);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::span row = std::span(rows_).subspan(lane * kRowStride, kRowPixels);
      const std::size_t frame = group.first + lane;
      const bool present = lane < group.count && decoders_[frame];
      if (present && decoders_[frame]->next(row.first(count))) continue;
      if (present) fail(frames[frame], frame, results);
      std::fill(row.begin(), row.end(), 0);
    }
    group.sums->kernels().interleave(rows_.data(), kRowStride, (count + 7) / 8 * 8, &values_[done * lanes]);
  }
  std::fill_n(&values_[kNoPixel * lanes], lanes, 0);
}

void CpuReducer::fail(const Frame& frame, std::size_t place, std::vector<FrameResult>& results) {
  results[place].outcome = damaged_frame(frame, decoders_[place]->fault());
  decoders_[place].reset();
}

}  // namespace annulus
