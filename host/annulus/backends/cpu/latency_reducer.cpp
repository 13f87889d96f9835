#include <annulus/backends/cpu/latency_reducer.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace annulus {
namespace {

constexpr std::size_t kBandStride = kBandPixels + 1;  // with the 0 at kNoPixel

class LatencyReducer final : public BatchReducer {
 public:
  LatencyReducer(std::shared_ptr<const CpuPlan> plan, InstructionSet set, unsigned threads)
      : plan_(std::move(plan)), set_(set), values_(plan_->banded.band_count() * kBandStride) {
    for (unsigned i = 0; i < std::max(1u, threads); ++i) {
      sums_.push_back(std::make_unique<LaneSums>(*plan_->job.plan, plan_->banded, single_lane_kernels(set_)));
    }
    try {
      for (unsigned i = 1; i < sums_.size(); ++i) helpers_.emplace_back([this, i] { help(*sums_[i]); });
    } catch (...) {
      stop();  // or those that did start would wait for ever, and we for them
      throw;
    }
  }

  ~LatencyReducer() override { stop(); }

  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override {
    std::vector<FrameResult> results;
    for (const Frame& frame : frames) results.push_back(reduce_one(frame));
    return results;
  }

 private:
  FrameResult reduce_one(const Frame& frame) {
    FrameResult result;
    result.id = frame.id;
    const Frame* const one = &frame;
    for (const auto& sums : sums_) sums->begin({&one, 1});
    decoded_ = next_ = 0;
    BandDecoder decoder(frame, set_);
    bool decoded = false;
    {
      const Helpers helpers(*this);
      decoded = decode(decoder);
      if (decoded) add_bands(*sums_[0]);
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (!decoded || !decoder.finish()) {
      result.outcome = damaged_frame(frame, decoder.fault());
      return result;
    }
    for (std::size_t i = 1; i < sums_.size(); ++i) sums_[0]->merge(*sums_[i]);
    result.outcome = std::move(sums_[0]->take().front());
    return result;
  }

  bool decode(BandDecoder& decoder) {
    const std::size_t bands = plan_->banded.band_count();
    for (std::size_t band = 0; band < bands; ++band) {
      const std::size_t length =
          std::min<std::size_t>(kBandPixels, plan_->job.plan->pixels() - band * kBandPixels);
      if (!decoder.next(std::span(values_).subspan(band * kBandStride, length))) return false;
      decoded_ = band + 1;
      decoded_.notify_all();
    }
    return true;
  }

  void add_bands(LaneSums& sums) {
    const std::size_t bands = plan_->banded.band_count();
    for (std::size_t band = next_++; band < bands; band = next_++) {
      for (std::size_t ready = decoded_; ready <= band; ready = decoded_) decoded_.wait(ready);
      sums.add_band(band, &values_[band * kBandStride]);
    }
  }

  void help(LaneSums& sums) {
    std::uint64_t done = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || frame_ != done; });
        if (stopping_) return;
        done = frame_;
      }
      std::exception_ptr failure;
      try {
        add_bands(sums);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (failure) failure_ = failure;
      --helping_;
      changed_.notify_all();
    }
  }

  // At work on one frame. However that ends, none of them waits for bands that never come, and none is left
  // behind.
  class Helpers {
   public:
    explicit Helpers(LatencyReducer& reducer) : reducer_(reducer) {
      const std::lock_guard lock(reducer_.mutex_);
      ++reducer_.frame_;
      reducer_.helping_ = reducer_.helpers_.size();
      reducer_.changed_.notify_all();
    }
    ~Helpers() {
      const std::size_t bands = reducer_.plan_->banded.band_count();
      reducer_.next_ = bands;  // what is left is nobody's work
      reducer_.decoded_ = bands;
      reducer_.decoded_.notify_all();
      std::unique_lock lock(reducer_.mutex_);
      reducer_.changed_.wait(lock, [this] { return reducer_.helping_ == 0; });
    }
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

   private:
    LatencyReducer& reducer_;
  };

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  const std::shared_ptr<const CpuPlan> plan_;
  const InstructionSet set_;
  std::vector<std::int32_t> values_;             // the decoded frame, band by band
  std::vector<std::unique_ptr<LaneSums>> sums_;  // by thread
  std::atomic<std::size_t> decoded_ = 0;         // bands that may be added
  std::atomic<std::size_t> next_ = 0;            // the band that nobody has taken yet

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t frame_ = 0;  // counts frames, so that each is helped with once
  std::size_t helping_ = 0;
  std::exception_ptr failure_;  // of a helper
  bool stopping_ = false;
  std::vector<std::jthread> helpers_;  // last: they use all of the above
};

}  // namespace

std::unique_ptr<BatchReducer> make_latency_reducer(std::shared_ptr<const CpuPlan> plan, InstructionSet set,
                                                   unsigned threads) {
  return std::make_unique<LatencyReducer>(std::move(plan), set, threads);
}

}  // namespace annulus
