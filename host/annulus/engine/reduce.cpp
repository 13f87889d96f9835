#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/plan/sums.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

namespace annulus {
namespace {

// A frame between submission and writing: where it came from, and its fault if it never reached the backend.
struct Ticket {
  FrameId id;
  std::vector<double> point;
  std::uint64_t payload_bytes = 0;
  std::optional<Error> fault = std::nullopt;
};

// Tickets in scan order, from the submitting thread to the writing one.
class TicketQueue {
 public:
  // Bad frames have a ticket and are in no backend, so their number is bounded here.
  static constexpr std::size_t kMost = 4096;

  // Waits while it is full. What the tickets in it stand for has to be in the backend by then.
  void push(Ticket ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tickets_.size() < kMost; });
    tickets_.push_back(std::move(ticket));
    changed_.notify_all();
  }
  bool full() const {
    const std::lock_guard lock(mutex_);
    return tickets_.size() >= kMost;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<Ticket> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !tickets_.empty(); });
    if (tickets_.empty()) return std::nullopt;
    Ticket ticket = std::move(tickets_.front());
    tickets_.pop_front();
    changed_.notify_all();
    return ticket;
  }
  bool idle() const {
    const std::lock_guard lock(mutex_);
    return tickets_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ticket> tickets_;
  bool closed_ = false;
};

// Patterns wait no longer than this for others, and written ones no longer for a flush.
constexpr double kFlushSeconds = 0.5;

// The sink in a thread of its own: while it waits for the disk, the next patterns are made.
class Storage {
 public:
  // `on_failure` is called once, from that thread; so is `on_written` after each batch.
  Storage(Sink& sink, std::function<void()> on_failure,
          std::function<void(const ReductionProgress&)> on_written)
      : sink_(sink),
        on_failure_(std::move(on_failure)),
        on_written_(std::move(on_written)),
        thread_([this] { run(); }) {}
  ~Storage() { finish(); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Waits while a batch before this one waits. After a failure it is dropped.
  void put(std::vector<ReducedFrame> frames) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return next_.empty(); });
    next_ = std::move(frames);
    changed_.notify_all();
  }

  // Everything is in the sink then, unless it failed. Flushing is left to whoever closes it.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  // When it is finished.
  std::exception_ptr failure() const { return failure_; }
  const ReductionProgress& written() const { return written_; }
  double busy_seconds() const { return busy_seconds_; }

 private:
  void run() {
    Clock::time_point last_flush = Clock::now();
    bool unflushed = false;
    const auto flush = [&] {
      attempt([&] { sink_.flush(); });
      unflushed = false;
      last_flush = Clock::now();
    };
    while (true) {
      const auto frames = next(unflushed);
      if (!frames) {
        flush();
      } else if (frames->empty()) {
        return;
      } else {
        attempt([&] { append(*frames); });
        unflushed = true;
        if (seconds_since(last_flush) > kFlushSeconds) flush();
      }
    }
  }

  // The next batch, which is empty after the last one. None if a flush is due before.
  std::optional<std::vector<ReducedFrame>> next(bool unflushed) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return closed_ || !next_.empty(); };
    if (!unflushed) {
      changed_.wait(lock, ready);
    } else if (!changed_.wait_for(lock, std::chrono::duration<double>(kFlushSeconds), ready)) {
      return std::nullopt;
    }
    changed_.notify_all();
    return std::exchange(next_, {});
  }

  void append(const std::vector<ReducedFrame>& frames) {
    const auto start = Clock::now();
    sink_.append(frames);
    busy_seconds_ += seconds_since(start);
    written_.frames += frames.size();
    written_.bad += static_cast<std::uint64_t>(
        std::ranges::count_if(frames, [](const ReducedFrame& frame) { return !frame.fault.empty(); }));
    if (on_written_) on_written_(written_);
  }

  // Nothing more goes to a sink that failed.
  template <typename Step>
  void attempt(const Step& step) {
    if (failure_) return;
    try {
      step();
    } catch (...) {
      failure_ = std::current_exception();
      on_failure_();
    }
  }

  Sink& sink_;
  std::function<void()> on_failure_;
  std::function<void(const ReductionProgress&)> on_written_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReducedFrame> next_;
  bool closed_ = false;
  ReductionProgress written_;
  double busy_seconds_ = 0;
  std::exception_ptr failure_;
  std::jthread thread_;  // begins when all of the above is there
};

// Takes the backend's results in order, makes patterns of them and gathers these for the sink.
class Collector {
 public:
  Collector(const Job& job, const ReductionSettings& settings, std::optional<std::size_t> monitor,
            Backend& backend, TicketQueue& tickets, Storage& storage, const std::stop_source& ending)
      : job_(job),
        plan_(*job.plan),
        settings_(settings),
        monitor_(monitor),
        backend_(backend),
        tickets_(tickets),
        storage_(storage),
        ending_(ending) {}

  // Until the queue of tickets is closed and empty. After a failure, or a bad frame that ends the scan, goes
  // on taking results, so that the backend and those who wait for it come to an end, but hands none on.
  void run() {
    while (auto ticket = tickets_.pop()) {
      try {
        std::optional<FrameResult> result = result_of(*ticket);
        if (ended_) continue;
        take(std::move(*ticket), std::move(result));
        const bool enough = waiting_.size() >= kWriteBatch || waiting_.size() * plan_.bins() >= kBinsAtOnce;
        const bool nothing_to_wait_for = results_.empty() && tickets_.idle();
        if (enough || nothing_to_wait_for || seconds_since(handed_on_) > kFlushSeconds) hand_on();
      } catch (...) {
        if (!failure_) failure_ = std::current_exception();
        end();
      }
    }
    if (!failure_) hand_on();
  }

  std::exception_ptr failure() const { return failure_; }
  const ReductionSummary& summary() const { return summary_; }

 private:
  // Frames written at once, or as many as have this many bins: large cakes would take much memory meanwhile.
  static constexpr std::size_t kWriteBatch = 32;
  static constexpr std::size_t kBinsAtOnce = std::size_t{1} << 20;

  // None for a frame that never reached the backend.
  std::optional<FrameResult> result_of(const Ticket& ticket) {
    if (ticket.fault) return std::nullopt;
    return next_result();
  }

  FrameResult next_result() {
    if (results_.empty()) {
      for (FrameResult& result : backend_.collect()) results_.push_back(std::move(result));
    }
    if (results_.empty())
      throw Error(ErrorKind::kBackend, "backend", "it ended before all frames were reduced");
    FrameResult result = std::move(results_.front());
    results_.pop_front();
    return result;
  }

  void take(Ticket ticket, std::optional<FrameResult> result) {
    ReducedFrame reduced;
    reduced.id = std::move(ticket.id);
    reduced.point = std::move(ticket.point);
    reduced.normalization = settings_.normalization_factor;
    if (result && !result->good()) ticket.fault = result->error();
    const bool has_sums = !ticket.fault;
    if (monitor_ && *monitor_ < reduced.point.size()) apply_monitor(ticket, reduced);
    if (has_sums && ticket.fault) reduced.sums = std::move(result->sums());
    if (ticket.fault) {
      if (!summary_.first_fault) summary_.first_fault = ticket.fault;
      if (!settings_.keep_going) return end();
      reduced.fault = ticket.fault->fault();
    } else {
      reduced.pattern = normalise(plan_, job_.recipe, result->sums(), reduced.normalization);
      reduced.sums = std::move(result->sums());
      summary_.pixels += plan_.pixels();
    }
    summary_.payload_bytes += ticket.payload_bytes;
    waiting_.push_back(std::move(reduced));
  }

  // A frame that is good but for its monitor keeps its sums, so that another monitor may divide them later.
  void apply_monitor(Ticket& ticket, ReducedFrame& reduced) const {
    const FrameFactor factor =
        frame_factor(settings_.normalization_factor, *settings_.monitor, reduced.point[*monitor_]);
    if (ticket.fault && !factor.fault.empty()) return;  // one fault is enough
    reduced.normalization = factor.value;
    if (factor.fault.empty()) return;
    ticket.fault.emplace(ErrorKind::kInput, describe(reduced.id), factor.fault,
                         "`keep_going` records such frames as bad and keeps their sums");
  }

  void hand_on() {
    if (!waiting_.empty()) storage_.put(std::exchange(waiting_, {}));
    handed_on_ = Clock::now();
  }

  void end() {
    ended_ = true;
    ending_.request_stop();
  }

  const Job& job_;
  const Plan& plan_;
  const ReductionSettings& settings_;
  const std::optional<std::size_t> monitor_;  // its place in the points of frames
  Backend& backend_;
  TicketQueue& tickets_;
  Storage& storage_;
  std::stop_source ending_;
  std::deque<FrameResult> results_;
  std::vector<ReducedFrame> waiting_;
  Clock::time_point handed_on_ = Clock::now();
  ReductionSummary summary_;
  std::exception_ptr failure_;
  bool ended_ = false;
};

// Frames of a batch, so that memory is enough to fill the backend while one more batch is read. A vector that
// is not full takes as long as a full one, so batches are as large as that allows. The reader holds to the
// memory whatever the batch.
std::size_t choose_batch(const Load& load, std::uint64_t frame_bytes, std::uint64_t memory) {
  const std::uint64_t frames = memory / std::max<std::uint64_t>(frame_bytes, 1);
  return std::clamp<std::uint64_t>(frames / (load.in_flight + 1), 1, load.batch);
}

// The last frames of a scan, fewer than all workers could take in full batches, are dealt out evenly, so that
// all workers end together. Asked when every worker has got the same number of batches.
std::size_t last_batches(const Load& load, std::size_t full, std::uint64_t frames_left) {
  if (frames_left >= full * load.workers) return full;
  return std::max<std::size_t>((frames_left + load.workers - 1) / load.workers, 1);
}

// Frames that may wait to be submitted, if memory allows: enough for every worker at once.
std::size_t choose_ahead(const Load& load) { return load.workers * load.batch + 8; }

// The submitting side of a scan: every frame gets its ticket, and good ones go to the backend in batches.
class Batcher {
 public:
  Batcher(const Load& load, std::uint64_t memory, Backend& backend, TicketQueue& tickets)
      : load_(load), memory_(memory), backend_(backend), tickets_(tickets), most_(load.batch) {}

  // `expected` tells how many frames the scan may have, 0 if nobody knows.
  void take(StreamItem item, const std::function<std::uint64_t()>& expected) {
    if (std::holds_alternative<Pause>(item)) return submit();
    ++taken_;
    if (BadFrame* const bad = std::get_if<BadFrame>(&item))
      return push({std::move(bad->id), std::move(bad->point), 0, std::move(bad->error)});
    Frame& frame = std::get<Frame>(item);
    const std::size_t full = choose_batch(load_, frame_bytes(frame), memory_);
    Ticket ticket{frame.id, frame.point, frame.payload.size()};
    batch_.push_back(std::move(frame));
    push(std::move(ticket));
    if (batch_.size() < std::min(full, most_)) return;
    submit();
    if (++batches_ % load_.workers != 0) return;
    const std::uint64_t frames = expected();
    most_ = frames == 0 ? full : last_batches(load_, full, frames - std::min(frames, taken_));
  }

  void submit() {
    if (batch_.empty()) return;
    backend_.submit(std::move(batch_));
    batch_.clear();
  }

 private:
  void push(Ticket ticket) {
    if (tickets_.full()) submit();
    tickets_.push(std::move(ticket));
  }

  const Load load_;
  const std::uint64_t memory_;
  Backend& backend_;
  TicketQueue& tickets_;
  std::vector<Frame> batch_;
  std::size_t most_;  // frames of a batch
  std::uint64_t batches_ = 0, taken_ = 0;
};

}  // namespace

ReductionSummary reduce(FrameStream& stream, const Job& job, Backend& backend, Sink& sink,
                        const ReductionSettings& settings, std::stop_token stop,
                        const std::function<void(const ReductionProgress&)>& on_progress) {
  const auto start = Clock::now();
  // Runs last, when no frame is left: a program that goes on to other things gets the memory back.
  const std::shared_ptr<void> tidying(nullptr, [](void*) { frame_memory().free_idle(); });
  const Load load = backend.loaded();
  stream.read_ahead(choose_ahead(load));
  // Who waits for frames that may come waits no longer, whether the user or the writer wants to end.
  std::stop_source ending;
  const std::stop_callback also_end(stop, [&] { ending.request_stop(); });
  TicketQueue tickets;
  std::optional<std::size_t> monitor;
  if (settings.monitor) monitor = find_monitor(*settings.monitor, stream.info(stop).columns);
  Storage storage(
      sink, [&] { ending.request_stop(); },
      [&](ReductionProgress so_far) {
        so_far.expected = stream.expected();
        if (on_progress) on_progress(so_far);
      });
  Collector collector(job, settings, monitor, backend, tickets, storage, ending);
  std::jthread collecting([&] { collector.run(); });

  Batcher batcher(load, settings.memory_for_frames, backend, tickets);
  std::exception_ptr failure;
  try {
    while (auto item = stream.next(ending.get_token())) {
      batcher.take(*std::move(item), [&] { return stream.expected(); });
      if (ending.stop_requested()) break;
    }
    batcher.submit();
  } catch (...) {
    failure = std::current_exception();
    try {
      batcher.submit();  // what came before is kept
    } catch (...) {
      // The first failure is the one to tell of.
    }
  }
  backend.finish();
  tickets.close();
  collecting.join();
  storage.finish();
  for (const std::exception_ptr& cause : {failure, collector.failure(), storage.failure()}) {
    if (cause) std::rethrow_exception(cause);
  }

  ReductionSummary summary = collector.summary();
  summary.frames = storage.written().frames;
  summary.bad = storage.written().bad;
  summary.write_seconds = storage.busy_seconds();
  summary.interrupted = stop.stop_requested();
  summary.read_seconds = stream.busy_seconds();
  summary.reduce_seconds = backend.busy_seconds();
  summary.wall_seconds = seconds_since(start);
  return summary;
}

}  // namespace annulus
