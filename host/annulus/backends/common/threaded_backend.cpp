#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/core/error.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace annulus {
namespace {

// Frames whose file was changed while it was mapped: nobody knows what was reduced.
void refuse_changed(const std::vector<Frame>& frames, std::vector<FrameResult>& results) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].payload.intact()) continue;
    results[i].accumulators = {};
    results[i].fault = "the file was changed or became shorter while it was read";
  }
}

class ThreadedBackend final : public Backend {
 public:
  explicit ThreadedBackend(ThreadedSettings settings) : settings_(std::move(settings)) {}

  ~ThreadedBackend() override { stop(); }

  void load(std::shared_ptr<const Plan> plan) override {
    stop();
    loaded_ = {};  // first: a card has one owner at a time, and a plan that is refused leaves none loaded
    loaded_ = settings_.prepare(std::move(plan));
    stopping_ = finished_ = false;
    submitted_ = collected_ = 0;
    waiting_.clear();
    done_.clear();
    for (unsigned i = 0; i < loaded_.threads; ++i) workers_.emplace_back([this] { work(); });
  }

  void submit(std::vector<Frame> batch) override {
    if (!loaded_.make_reducer) {
      throw Error(ErrorKind::kBackend, settings_.name, "no plan is loaded", "call load() before submit()");
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return submitted_ - collected_ < capacity(); });
    waiting_.push_back({submitted_++, std::move(batch)});
    changed_.notify_all();
  }

  void finish() override {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  std::vector<FrameResult> collect() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [this] { return done_.contains(collected_) || (finished_ && collected_ == submitted_); });
    const auto found = done_.find(collected_);
    if (found == done_.end()) return {};
    Done done = std::move(found->second);
    done_.erase(found);
    ++collected_;
    changed_.notify_all();
    if (done.failure) std::rethrow_exception(done.failure);
    return std::move(done.results);
  }

  std::size_t batch_size() const override {
    return loaded_.batch_size > 0 ? loaded_.batch_size : settings_.batch_size;
  }

  // Two a thread: one in work, one waiting.
  std::size_t capacity() const override { return 2 * std::size_t{loaded_.threads}; }

  double busy_seconds() const override {
    const std::lock_guard lock(mutex_);
    return busy_seconds_;
  }

  std::vector<StageTime> profile() const override {
    return loaded_.profile ? loaded_.profile() : std::vector<StageTime>();
  }

 private:
  struct Waiting {
    std::uint64_t number;
    std::vector<Frame> frames;
  };
  struct Done {
    std::vector<FrameResult> results;
    std::exception_ptr failure;
  };

  void work() {
    std::unique_ptr<BatchReducer> reducer;
    while (true) {
      Waiting batch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        batch = std::move(waiting_.front());
        waiting_.pop_front();
      }
      Done done;
      const auto start = std::chrono::steady_clock::now();
      try {
        if (!reducer) reducer = loaded_.make_reducer();
        done.results = reducer->reduce(batch.frames);
        refuse_changed(batch.frames, done.results);
      } catch (...) {
        done.failure = std::current_exception();
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      batch.frames.clear();
      const std::lock_guard lock(mutex_);
      busy_seconds_ += spent.count();
      done_.emplace(batch.number, std::move(done));
      changed_.notify_all();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    workers_.clear();
  }

  const ThreadedSettings settings_;
  LoadedPlan loaded_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::map<std::uint64_t, Done> done_;
  std::uint64_t submitted_ = 0;
  std::uint64_t collected_ = 0;
  double busy_seconds_ = 0;
  bool finished_ = false;
  bool stopping_ = false;
  std::vector<std::jthread> workers_;  // last: they use all of the above
};

}  // namespace

std::unique_ptr<Backend> make_threaded_backend(ThreadedSettings settings) {
  return std::make_unique<ThreadedBackend>(std::move(settings));
}

}  // namespace annulus
