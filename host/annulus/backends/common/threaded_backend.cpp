#include <annulus/backends/common/backend.hpp>
#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace annulus {
namespace {

// One batch in work, one that waits.
constexpr std::size_t kBatchesPerThread = 2;

// A frame whose file was changed while it was mapped: nobody knows what was reduced.
Error changed_file(const Frame& frame) {
  return damaged_frame(frame, "the file was changed or became shorter while it was read");
}

// Reduces the frames of a batch: those that belong to the plan, as reducers take them. The layers of a frame
// count as frames, of which a reducer gets as many at once as fill a batch.
class BatchReduction {
 public:
  BatchReduction(const FramePreparer& preparer, BatchReducer& reducer, std::size_t at_once)
      : preparer_(preparer), reducer_(reducer), at_once_(at_once) {}

  std::vector<FrameResult> reduce(std::vector<Frame> frames) {
    std::vector<FrameResult> results(frames.size());
    layers_.resize(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      results[i].id = frames[i].id;
      try {
        add(i, std::move(frames[i]));
      } catch (const Error& error) {
        results[i].outcome = error;
      }
      while (waiting_.size() >= at_once_) reduce_waiting(at_once_);
    }
    if (!waiting_.empty()) reduce_waiting(waiting_.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].good()) results[i] = join_layers(std::move(layers_[i]));
    }
    return results;
  }

 private:
  void add(std::size_t place, Frame frame) {
    const Bytes as_read = frame.payload;
    std::vector<Frame> layers = preparer_.prepare(std::move(frame));
    if (!as_read.intact()) throw changed_file(layers.front());
    places_.insert(places_.end(), layers.size(), place);
    std::move(layers.begin(), layers.end(), std::back_inserter(waiting_));
  }

  // The first `count` of those that wait.
  void reduce_waiting(std::size_t count) {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<Frame> some(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    std::vector<FrameResult> reduced = reducer_.reduce(some);
    for (std::size_t i = 0; i < count; ++i) {
      if (!some[i].payload.intact()) reduced[i].outcome = changed_file(some[i]);
      layers_[places_[i]].push_back(std::move(reduced[i]));
    }
    places_.erase(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  const FramePreparer& preparer_;
  BatchReducer& reducer_;
  const std::size_t at_once_;
  std::vector<Frame> waiting_;
  std::vector<std::size_t> places_;               // of those that wait, in the batch
  std::vector<std::vector<FrameResult>> layers_;  // by place
};

class ThreadedBackend final : public Backend {
 public:
  explicit ThreadedBackend(ThreadedSettings settings) : settings_(std::move(settings)) {}

  ~ThreadedBackend() override { stop(); }

  Load load(Job job) override {
    stop();
    loaded_ = {};  // first: a card has one owner at a time, and a plan that is refused leaves none loaded
    if (!settings_.any_recipe) demand_sums_only(job.recipe, settings_.name);
    job.plan = make_job(std::move(job.plan), job.recipe).plan;
    loaded_ = settings_.prepare(job);
    preparer_.emplace(std::move(job));
    stopping_ = finished_ = false;
    submitted_ = collected_ = 0;
    waiting_.clear();
    done_.clear();
    for (unsigned i = 0; i < loaded_.threads; ++i) workers_.emplace_back([this] { work(); });
    return loaded();
  }

  Load loaded() const override {
    return {loaded_.batch, loaded_.threads, kBatchesPerThread * loaded_.threads};
  }

  void submit(std::vector<Frame> batch) override {
    if (!loaded_.make_reducer) {
      throw Error(ErrorKind::kBackend, settings_.name, "no plan is loaded", "call load() before submit()");
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return submitted_ - collected_ < loaded().in_flight; });
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
        BatchReduction reduction(*preparer_, *reducer, loaded_.batch);
        done.results = reduction.reduce(std::move(batch.frames));
      } catch (...) {
        done.failure = std::current_exception();
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
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
  LoadedJob loaded_;
  std::optional<FramePreparer> preparer_;
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
