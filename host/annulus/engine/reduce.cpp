#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/clock.hpp>
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
  // False if nothing came, and nobody closed it, for so long.
  bool wait_for(double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return closed_ || !tickets_.empty(); });
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

// The writing side of a scan: takes results in order, normalises them and hands them to the sink.
class Writer {
 public:
  Writer(const Plan& plan, const ReductionSettings& settings, Backend& backend, TicketQueue& tickets,
         Sink& sink, std::function<void()> on_stopped,
         std::function<void(const ReductionSummary&)> on_written)
      : plan_(plan),
        settings_(settings),
        backend_(backend),
        tickets_(tickets),
        sink_(sink),
        on_stopped_(std::move(on_stopped)),
        on_written_(std::move(on_written)) {}

  // Until the queue of tickets is closed and empty. After a failure goes on taking results, so that the
  // backend and those who wait for it come to an end, but writes no more.
  void run() {
    Clock::time_point last_flush = Clock::now();
    while (true) {
      // Whoever reads the output while it grows waits no longer for the last pattern than for others.
      const bool pause = unflushed_ && !stopped() && !tickets_.wait_for(kFlushSeconds);
      if (pause) {
        flush();
        last_flush = Clock::now();
      }
      auto ticket = tickets_.pop();
      if (!ticket) break;
      try {
        std::optional<FrameResult> result = result_of(*ticket);
        if (stopped()) continue;
        take(std::move(*ticket), std::move(result));
        const bool flush_due = seconds_since(last_flush) > kFlushSeconds;
        const bool nothing_to_wait_for = results_.empty() && tickets_.idle();
        const bool enough = waiting_.size() >= kWriteBatch || waiting_.size() * plan_.bins() >= kBinsAtOnce;
        if (enough || flush_due || nothing_to_wait_for) write();
        if (flush_due && !stopped()) {
          flush();
          last_flush = Clock::now();
        }
      } catch (...) {
        fail();
      }
    }
    try {
      if (!failure_) write();
    } catch (...) {
      fail();
    }
  }

  bool stopped() const { return stopped_; }
  std::exception_ptr failure() const { return failure_; }
  const ReductionSummary& summary() const { return summary_; }

 private:
  // Frames written at once, or as many as have this many bins: large cakes would take much memory meanwhile.
  static constexpr std::size_t kWriteBatch = 32;
  static constexpr std::size_t kBinsAtOnce = std::size_t{1} << 20;
  static constexpr double kFlushSeconds = 0.5;

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
    if (ticket.fault) {
      if (!summary_.first_fault) summary_.first_fault = ticket.fault;
      if (!settings_.keep_going) return stop();
      reduced.fault = ticket.fault->fault();
      ++summary_.bad;
    } else {
      reduced.pattern = normalise(plan_, result->sums(), reduced.normalization);
      reduced.sums = std::move(result->sums());
      summary_.pixels += plan_.pixels();
    }
    summary_.payload_bytes += ticket.payload_bytes;
    waiting_.push_back(std::move(reduced));
  }

  void write() {
    if (waiting_.empty()) return;
    const auto start = Clock::now();
    sink_.append(waiting_);
    unflushed_ = true;
    summary_.write_seconds += seconds_since(start);
    summary_.frames += waiting_.size();
    waiting_.clear();
    if (on_written_) on_written_(summary_);
  }

  void flush() {
    try {
      sink_.flush();
      unflushed_ = false;
    } catch (...) {
      fail();
    }
  }

  void fail() {
    if (!failure_) failure_ = std::current_exception();
    stop();
  }

  void stop() {
    stopped_ = true;
    on_stopped_();
  }

  const Plan& plan_;
  const ReductionSettings& settings_;
  Backend& backend_;
  TicketQueue& tickets_;
  Sink& sink_;
  std::function<void()> on_stopped_;
  std::function<void(const ReductionSummary&)> on_written_;
  std::deque<FrameResult> results_;
  std::vector<ReducedFrame> waiting_;
  bool unflushed_ = false;  // something was written since the last flush
  ReductionSummary summary_;
  std::exception_ptr failure_;
  std::atomic<bool> stopped_ = false;
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
      return push({std::move(bad->id), {}, 0, std::move(bad->error)});
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
  Writer writer(
      *job.plan, settings, backend, tickets, sink, [&] { ending.request_stop(); },
      [&](const ReductionSummary& so_far) {
        if (on_progress) on_progress({so_far.frames, so_far.bad, stream.expected()});
      });
  std::jthread writing([&] { writer.run(); });

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
  writing.join();
  if (failure) std::rethrow_exception(failure);
  if (writer.failure()) std::rethrow_exception(writer.failure());

  ReductionSummary summary = writer.summary();
  summary.interrupted = stop.stop_requested();
  summary.read_seconds = stream.busy_seconds();
  summary.reduce_seconds = backend.busy_seconds();
  summary.wall_seconds = seconds_since(start);
  return summary;
}

}  // namespace annulus
