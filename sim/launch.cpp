#include "launch.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <thread>

namespace annulus_sim {

class Stage {
 public:
  Stage(LaunchState* launch, const char* name) : launch(launch), report{name, 0, {}} {}

  LaunchState* const launch;
  StageReport report;
  bool running = false;
  const StreamState* stuck_on = nullptr;
  bool stuck_reading = false;
};

namespace {

thread_local LaunchState* current_launch = nullptr;
thread_local Stage* current_stage = nullptr;

std::string name_of(const Stage* stage) { return stage ? stage->report.name : "the kernel's top"; }

}  // namespace

class LaunchState {
 public:
  LaunchState(Mode mode, std::chrono::milliseconds patience) : mode_(mode), patience_(patience) {}

  bool concurrent() const { return mode_ == Mode::kConcurrent; }

  void begin() {
    report_ = {};
    stages_.clear();
    streams_.clear();
    failure_ = nullptr;
    blocked_ = running_ = 0;
  }

  void add(StreamState& stream) {
    stream.number_ = streams_.size();
    streams_.push_back(&stream);
  }

  void remove(StreamState& stream) {
    report_.streams.insert(report_.streams.begin(), stream.traffic_);  // they end in reverse order
    streams_.erase(std::find(streams_.begin(), streams_.end(), &stream));
  }

  std::size_t depth_of(const StreamState& stream, std::size_t declared) const {
    const auto forced = forced_depths_.find(stream.traffic_.name);
    if (forced != forced_depths_.end()) return forced->second;
    return forced_depth_ > 0 ? forced_depth_ : declared;
  }

  // In a concurrent launch threads start with the first finish_stages(), when every stage is known: a
  // deadlock is then a fact, not a matter of who came first.
  void add_stage(const char* name, std::function<void()> body) {
    Stage& stage = stages_.emplace_back(this, name);
    if (concurrent()) {
      bodies_.push_back(std::move(body));
      return;
    }
    current_stage = &stage;
    try {
      body();
    } catch (...) {
      current_stage = nullptr;
      throw;
    }
    current_stage = nullptr;
  }

  void finish() {
    if (concurrent()) run_threads();
    for (const Stage& stage : stages_) report_.stages.push_back(stage.report);
    if (failure_) std::rethrow_exception(failure_);
    for (const StreamState* stream : streams_) {
      if (stream->held() == 0) continue;
      throw SimulationError(std::to_string(stream->held()) + " elements are left in the stream '" +
                            stream->traffic_.name + "': its reader, " + name_of(stream->reader_) +
                            ", took fewer than " + name_of(stream->writer_) + " wrote");
    }
  }

  // A thread is about to wait on `stream`; the caller holds the lock.
  void block(const StreamState& stream, bool reading) {
    current_stage->stuck_on = &stream;
    current_stage->stuck_reading = reading;
    ++blocked_;
    check_for_deadlock();
  }

  // Somebody moved data, so a waiting thread can go on; the caller holds the lock.
  void unblock() { --blocked_; }

  bool failed() const { return failure_ != nullptr; }

  void fail(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
    for (StreamState* stream : streams_) stream->changed_.notify_all();
  }

  std::string describe_stuck() const {
    std::string text;
    for (const Stage& stage : stages_) {
      if (!stage.running) continue;
      text += text.empty() ? "" : "; ";
      text += stage.report.name;
      if (!stage.stuck_on) {
        text += " runs without moving data";
      } else if (stage.stuck_reading) {
        text += " waits to read the empty stream '" + stage.stuck_on->traffic_.name + "'";
      } else {
        text += " waits to write to '" + stage.stuck_on->traffic_.name + "', full with " +
                std::to_string(stage.stuck_on->traffic_.depth);
      }
    }
    return text;
  }

  std::mutex mutex_;
  const Mode mode_;
  const std::chrono::milliseconds patience_;
  bool records_ = false;
  std::size_t forced_depth_ = 0;
  std::map<std::string, std::size_t> forced_depths_;
  LaunchReport report_;

 private:
  void check_for_deadlock() {
    if (failure_ || running_ == 0 || blocked_ < running_) return;
    fail(std::make_exception_ptr(SimulationError("deadlock: " + describe_stuck())));
  }

  void run_threads() {
    std::vector<std::thread> threads;
    running_ = stages_.size();
    for (Stage& stage : stages_) stage.running = true;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      threads.emplace_back([this, i] { run_stage(stages_[i], bodies_[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    bodies_.clear();
  }

  void run_stage(Stage& stage, const std::function<void()>& body) {
    current_launch = this;
    current_stage = &stage;
    std::exception_ptr failure;
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    stage.running = false;
    --running_;
    if (failure) fail(failure);
    check_for_deadlock();
  }

  std::deque<Stage> stages_;
  std::vector<std::function<void()>> bodies_;
  std::vector<StreamState*> streams_;
  std::size_t running_ = 0;
  std::size_t blocked_ = 0;
  std::exception_ptr failure_;
};

Launch::Launch(Mode mode, std::chrono::milliseconds patience) : state_(new LaunchState(mode, patience)) {}
Launch::~Launch() = default;

void Launch::force_depth(std::size_t depth) { state_->forced_depth_ = depth; }
void Launch::force_depth(const std::string& stream, std::size_t depth) {
  state_->forced_depths_[stream] = depth;
}

void Launch::record_steps() { state_->records_ = true; }

void Launch::run(const std::function<void()>& kernel) {
  state_->begin();
  current_launch = state_.get();
  try {
    kernel();
  } catch (...) {
    current_launch = nullptr;
    throw;
  }
  current_launch = nullptr;
}

const LaunchReport& Launch::report() const { return state_->report_; }

StreamState::StreamState(const char* name) : launch_(current_launch) {
  traffic_.name = name;
  traffic_.depth = 2;  // the vendor's default
  if (!launch_) return;
  set_depth(traffic_.depth);
  launch_->add(*this);
}

StreamState::~StreamState() {
  if (launch_) launch_->remove(*this);
}

void StreamState::set_depth(std::size_t depth) {
  traffic_.depth = launch_ ? launch_->depth_of(*this, depth) : depth;
}

StreamState::Turn::~Turn() {
  if (!lock_) return;
  for (bool* const waits : {&stream_.reader_waits_, &stream_.writer_waits_}) {
    if (!*waits) continue;
    *waits = false;
    stream_.launch_->unblock();
    stream_.changed_.notify_all();
  }
}

std::unique_lock<std::mutex> StreamState::lock_if_concurrent() const {
  if (!launch_ || !launch_->concurrent()) return {};
  return std::unique_lock<std::mutex>(launch_->mutex_);
}

StreamState::Turn StreamState::wait_to_read() {
  std::unique_lock<std::mutex> lock = lock_if_concurrent();
  claim(reader_, "readers");
  if (lock) {
    if (held() == 0) wait(lock, reader_waits_, true);
  } else if (held() == 0) {
    throw SimulationError("the stream '" + traffic_.name + "' is read when it is empty, by " +
                          name_of(current_stage) + ", after " + std::to_string(traffic_.reads) + " elements");
  }
  ++traffic_.reads;
  record(reads_stream(number_));
  return Turn(*this, std::move(lock));
}

StreamState::Turn StreamState::wait_to_write() {
  std::unique_lock<std::mutex> lock = lock_if_concurrent();
  claim(writer_, "writers");
  if (lock && held() >= traffic_.depth) wait(lock, writer_waits_, false);
  ++traffic_.writes;
  record(writes_stream(number_));
  traffic_.high_water = std::max(traffic_.high_water, held());
  return Turn(*this, std::move(lock));
}

// One writer and one reader a stream: the hardware's FIFO has no more ports.
void StreamState::claim(const Stage*& owner, const char* role) {
  if (!current_stage || owner == current_stage) return;
  if (owner) {
    throw SimulationError("the stream '" + traffic_.name + "' has two " + role + ": " + name_of(owner) +
                          " and " + name_of(current_stage));
  }
  owner = current_stage;
}

void StreamState::record(Step step) const {
  if (launch_ && launch_->records_ && current_stage) current_stage->report.steps.push_back(step);
}

void StreamState::wait(std::unique_lock<std::mutex>& lock, bool& waiting, bool to_read) {
  LaunchState& launch = *launch_;
  waiting = true;
  launch.block(*this, to_read);
  const bool in_time = changed_.wait_for(lock, launch.patience_, [&] { return !waiting || launch.failed(); });
  if (!in_time) {
    launch.fail(std::make_exception_ptr(SimulationError(
        "no progress for " + std::to_string(launch.patience_.count()) + " ms: " + launch.describe_stuck())));
  }
  if (launch.failed()) throw SimulationError("another stage failed");
  current_stage->stuck_on = nullptr;
}

void count_iteration() {
  if (!current_stage) return;
  ++current_stage->report.iterations;
  if (current_stage->launch->records_) current_stage->report.steps.push_back(kIterates);
  // A stage that spins must not keep a failed launch from ending.
  if (current_stage->report.iterations % 65536 != 0 || !current_stage->launch->concurrent()) return;
  const std::lock_guard<std::mutex> lock(current_stage->launch->mutex_);
  if (current_stage->launch->failed()) throw SimulationError("another stage failed");
}

void stage(const char* name, std::function<void()> body) {
  if (!current_launch) {
    body();
    return;
  }
  current_launch->add_stage(name, std::move(body));
}

void finish_stages() {
  if (current_launch) current_launch->finish();
}

}  // namespace annulus_sim
