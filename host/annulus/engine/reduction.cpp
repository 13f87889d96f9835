#include <annulus/core/buffer_pool.hpp>
#include <annulus/engine/frame_reader.hpp>
#include <annulus/engine/reduction.hpp>
#include <annulus/plan/pattern.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace annulus {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A frame between submission and writing: where it came from, and its fault if it never reached the backend.
struct Ticket {
  FrameId id;
  std::vector<double> point;
  std::uint64_t payload_bytes = 0;
  std::uint64_t bytes_held = 0;  // by the frame, until its result is there
  std::optional<Error> fault;
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
  Writer(const Plan& plan, bool keep_going, Backend& backend, TicketQueue& tickets, Sink& sink,
         std::function<void(std::uint64_t bytes)> on_released, std::function<void()> on_stopped,
         std::function<void(const ReductionSummary&)> on_written)
      : plan_(plan),
        keep_going_(keep_going),
        backend_(backend),
        tickets_(tickets),
        sink_(sink),
        on_released_(std::move(on_released)),
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

  // None for a frame that never reached the backend. Either way the frame itself is gone.
  std::optional<FrameResult> result_of(const Ticket& ticket) {
    const std::shared_ptr<const void> released(&ticket,
                                               [&](const void*) { on_released_(ticket.bytes_held); });
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
    if (result && !result->good()) ticket.fault = result->error();
    if (ticket.fault) {
      if (!summary_.first_fault) summary_.first_fault = ticket.fault;
      if (!keep_going_) return stop();
      reduced.fault = ticket.fault->fault();
      ++summary_.bad;
    } else {
      reduced.pattern = normalise(plan_, result->sums());
      reduced.accumulators = std::move(result->sums());
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
  const bool keep_going_;
  Backend& backend_;
  TicketQueue& tickets_;
  Sink& sink_;
  std::function<void(std::uint64_t bytes)> on_released_;
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

}  // namespace

ProbedSource probe_source(const std::vector<std::string>& urls, const OpenOptions& open,
                          const std::atomic<bool>* stop_requested) {
  std::optional<Error> first_fault;
  for (const std::string& url : urls) {
    try {
      auto source = open_when_there(url, open, [=] { return stop_requested != nullptr && *stop_requested; });
      if (source->info().frames > 0 || open.follow) return {url, std::move(source)};
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUsage) throw;
      if (!first_fault) first_fault = error;
    }
  }
  throw first_fault.value_or(
      Error(ErrorKind::kInput, urls.empty() ? "input" : urls.front(), "no frame to read"));
}

FrameProperties properties_of(const ProbedSource& probed) {
  const SourceInfo& info = probed.source->info();
  return {probed.url, info.shape, info.type, info.max_count};
}

FrameProperties probe_frames(const std::vector<std::string>& urls, const OpenOptions& open) {
  return properties_of(probe_source(urls, open));
}

ReductionSummary reduce_files(const std::vector<std::string>& urls, std::shared_ptr<const Plan> plan,
                              Backend& backend, Sink& sink, const ReductionSettings& settings,
                              const std::function<void(const ReductionProgress&)>& on_progress) {
  const auto start = Clock::now();
  // Runs last, when no frame is left: a program that goes on to other things gets the memory back.
  const std::shared_ptr<void> tidying(nullptr, [](void*) { frame_memory().free_idle(); });
  OpenOptions open = settings.open;
  open.map_payloads = true;  // backends look whether payloads are intact
  const Load load = backend.loaded();
  FrameReader reader(urls, {open,
                            settings.readers,
                            choose_ahead(load),
                            {},
                            settings.memory_for_frames,
                            settings.check_file,
                            settings.stop_requested});
  TicketQueue tickets;
  Writer writer(
      *plan, settings.keep_going, backend, tickets, sink, [&](std::uint64_t bytes) { reader.release(bytes); },
      [&] { reader.stop(); },  // who waits for frames that may come waits no longer
      [&](const ReductionSummary& so_far) {
        if (on_progress) on_progress({so_far.frames, so_far.bad, reader.frames_expected()});
      });
  std::jthread writing([&] { writer.run(); });

  bool interrupted = false;
  std::vector<Frame> batch;
  std::size_t most = load.batch;
  std::uint64_t batches = 0, handed_out = 0;
  const auto submit = [&] {
    if (batch.empty()) return;
    backend.submit(std::move(batch));
    batch.clear();
  };
  std::exception_ptr failure;
  try {
    while (!writer.stopped()) {
      interrupted = settings.stop_requested != nullptr && *settings.stop_requested;
      if (interrupted) break;
      auto item = reader.next(submit);
      if (!item) break;
      ++handed_out;
      Ticket ticket{item->frame.id, item->frame.point, item->frame.payload.size(), item->bytes,
                    std::move(item->fault)};
      const bool good = !ticket.fault;
      if (good) batch.push_back(std::move(item->frame));
      if (tickets.full()) submit();
      tickets.push(std::move(ticket));
      const std::size_t full = choose_batch(load, item->bytes, settings.memory_for_frames);
      if (batch.size() < std::min(full, most)) continue;
      submit();
      if (++batches % load.workers != 0) continue;
      const std::uint64_t expected = reader.frames_expected();
      most = last_batches(load, full, expected - std::min(expected, handed_out));
    }
    submit();
  } catch (...) {
    failure = std::current_exception();
  }
  // It may also have come while a file was waited for.
  interrupted = settings.stop_requested != nullptr && *settings.stop_requested;
  reader.stop();
  backend.finish();
  tickets.close();
  writing.join();
  if (failure) std::rethrow_exception(failure);
  if (writer.failure()) std::rethrow_exception(writer.failure());

  ReductionSummary summary = writer.summary();
  summary.interrupted = interrupted;
  summary.read_seconds = reader.busy_seconds();
  summary.reduce_seconds = backend.busy_seconds();
  summary.wall_seconds = seconds_since(start);
  return summary;
}

}  // namespace annulus
