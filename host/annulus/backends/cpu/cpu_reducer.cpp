#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/cpu/rank_sums.hpp>
#include <annulus/backends/cpu/robust_sums.hpp>

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

// What the recipe asks for.
std::unique_ptr<BandOperator> make_sums(const CpuPlan& plan, const LaneKernels& kernels) {
  const Job& job = plan.job;
  if (job.recipe.clip.by_rank()) return std::make_unique<RankSums>(job);
  if (!job.recipe.beyond_sums().empty()) return std::make_unique<RobustSums>(job, plan.banded, kernels);
  return std::make_unique<LaneSums>(*job.plan, plan.banded, kernels);
}

// Bytes that a thread holds per bin and frame: the sums, and of a clip what it takes off and its windows.
std::size_t bytes_per_bin(const Recipe& recipe) {
  constexpr std::size_t kOfSum = sizeof(std::int64_t);
  if (recipe.beyond_sums().empty()) return kOfSum * (recipe.has_variance() ? 2 : 1);
  return kOfSum * (recipe.clip.by_sigma() ? 28 : 10);
}

}  // namespace

std::shared_ptr<const CpuPlan> make_cpu_plan(const Job& job, unsigned threads) {
  return std::make_shared<const CpuPlan>(CpuPlan{job, make_banded_plan(job, threads)});
}

std::size_t cpu_batch_size(InstructionSet set) { return std::max<std::size_t>(16, lane_kernels(set).lanes); }

std::size_t cpu_batch_size(InstructionSet set, const Job& job) {
  if (job.recipe.clip.by_rank()) return 1;  // the values of all pixels are held
  const std::size_t frame = job.plan->bins() * bytes_per_bin(job.recipe);
  std::size_t batch = cpu_batch_size(set);
  // Halved, so that vectors stay full.
  while (batch > 1 && batch * frame > kMostSumsBytes) batch /= 2;
  return batch;
}

CpuReducer::CpuReducer(std::shared_ptr<const CpuPlan> plan, InstructionSet set, MakeOperator make_operator)
    : plan_(std::move(plan)),
      set_(set),
      kernels_(lane_kernels(set)),
      make_operator_(make_operator ? std::move(make_operator) : make_sums),
      rows_(kernels_.lanes * kRowStride) {}

std::vector<FrameResult> CpuReducer::reduce(const std::vector<Frame>& frames) {
  std::vector<FrameResult> results(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) results[i].id = frames[i].id;
  const std::vector<Group> groups = make_groups(frames.size());
  for (const Group& group : groups) {
    std::array<const Frame*, kMostLanes> lanes;
    for (std::size_t lane = 0; lane < group.count; ++lane) lanes[lane] = &frames[group.first + lane];
    group.bands->begin(std::span(lanes).first(group.count));
  }
  std::vector<Group> left = groups;  // those that want another pass
  while (!left.empty()) {
    pass(left, frames, results);
    std::erase_if(left, [](const Group& group) { return !group.bands->again(); });
  }
  for (const Group& group : groups) {
    std::vector<Sums> sums = group.bands->take();
    for (std::size_t lane = 0; lane < group.count; ++lane) {
      FrameResult& result = results[group.first + lane];
      if (result.good()) result.outcome = std::move(sums[lane]);
    }
  }
  return results;
}

// Decodes the frames of these groups once, and hands all of their bands on.
void CpuReducer::pass(const std::vector<Group>& groups, const std::vector<Frame>& frames,
                      std::vector<FrameResult>& results) {
  decoders_.clear();
  decoders_.resize(frames.size());
  for (const Group& group : groups) {
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
      if (results[i].good()) decoders_[i].emplace(frames[i], set_);
    }
  }
  for (std::size_t band = 0; band < plan_->banded.band_count(); ++band) {
    for (const Group& group : groups) {
      decode_band(band, group, frames, results);
      group.bands->add_band(band, values_.data());
    }
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (decoders_[i] && !decoders_[i]->finish()) fail(frames[i], i, results);
  }
}

std::vector<CpuReducer::Group> CpuReducer::make_groups(std::size_t frames) {
  std::vector<Group> groups;
  std::map<const LaneKernels*, std::size_t> used;
  for (std::size_t first = 0; first < frames;) {
    const LaneKernels& kernels = kernels_for(frames - first);
    auto& made = operators_[&kernels];
    const std::size_t index = used[&kernels]++;
    if (index == made.size()) made.push_back(make_operator_(*plan_, kernels));
    const std::size_t count = std::min(frames - first, kernels.lanes);
    groups.push_back({made[index].get(), &kernels, first, count});
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
  const std::size_t lanes = group.kernels->lanes;
  const std::size_t start = band * kBandPixels;
  const std::size_t length = std::min<std::size_t>(kBandPixels, plan_->job.plan->pixels() - start);
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
    group.kernels->interleave(rows_.data(), kRowStride, (count + 7) / 8 * 8, &values_[done * lanes]);
  }
  std::fill_n(&values_[kNoPixel * lanes], lanes, 0);
}

void CpuReducer::fail(const Frame& frame, std::size_t place, std::vector<FrameResult>& results) {
  results[place].outcome = damaged_frame(frame, decoders_[place]->fault());
  decoders_[place].reset();
}

}  // namespace annulus
