#include <annulus/ranks/guided_blocks.hpp>
#include <annulus/ranks/messaging_ranks.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace annulus {
namespace {

using namespace std::chrono_literals;

// How long the thread that receives sleeps when nothing came: while somebody waits for it; in the first rank,
// whom others ask for the next block while they still work on the one before; and otherwise.
constexpr auto kShortSleep = 200us;
constexpr auto kSleepOfFirst = 2ms;
constexpr auto kLongSleep = 5ms;
constexpr auto kMeanwhile = 100ms;
constexpr auto kBetweenReports = 200ms;
// Of what is gathered: fits any MPI's counts.
constexpr std::size_t kPiece = std::size_t{64} << 20;

// What a message is about. Numbers follow, or bytes.
enum class Subject : std::uint64_t {
  kAsk,       // for a block of the scan with this number: to the first rank
  kBlock,     // scan, first, end: its answer
  kNoBlock,   // scan: the other answer
  kHere,      // at the next meeting point: to the first rank
  kGoOn,      // all are here
  kProgress,  // frames, bad: to the first rank
  kStop,
  kSize,   // of what is gathered, in bytes
  kBytes,  // of it, one piece after the other
};

std::vector<std::byte> message_of(Subject subject, std::span<const std::byte> content) {
  std::vector<std::byte> message(sizeof subject + content.size());
  std::memcpy(message.data(), &subject, sizeof subject);
  if (!content.empty()) std::memcpy(message.data() + sizeof subject, content.data(), content.size());
  return message;
}

std::vector<std::byte> message_of(Subject subject, std::initializer_list<std::uint64_t> numbers = {}) {
  return message_of(subject, std::as_bytes(std::span(numbers.begin(), numbers.size())));
}

struct Content {
  explicit Content(const Messenger::Message& message) : bytes(message.bytes) {
    std::memcpy(&subject, bytes.data(), sizeof subject);
    bytes = bytes.subspan(sizeof subject);
  }

  std::uint64_t number(std::size_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + place * sizeof value, sizeof value);
    return value;
  }

  Subject subject = Subject::kStop;
  std::span<const std::byte> bytes;
};

// What another rank gathers, as far as it came.
struct Parcel {
  std::size_t size = 0;
  std::vector<std::byte> bytes;
  bool complete() const { return bytes.size() == size; }
};

class MessagingRanks final : public Ranks, public std::enable_shared_from_this<MessagingRanks> {
 public:
  explicit MessagingRanks(std::unique_ptr<Messenger> messenger)
      : messenger_(std::move(messenger)),
        place_(messenger_->place()),
        progress_(place_.size),
        parcels_(place_.size),
        arrivals_(place_.size, 0),
        receiving_([this](const std::stop_token& end) { receive(end); }) {}

  ~MessagingRanks() override {
    receiving_.request_stop();
    receiving_.join();
  }

  unsigned rank() const override { return place_.rank; }
  unsigned size() const override { return place_.size; }
  unsigned local_rank() const override { return place_.local_rank; }
  unsigned local_size() const override { return place_.local_size; }
  unsigned cores() const override { return place_.cores; }

  std::shared_ptr<FrameDealer> deal(std::uint64_t expected) override;

  void add_up(std::span<std::int64_t> values) override {
    check_lengths(values.size());
    wait_for_all({});
    const std::lock_guard lock(talking_);
    messenger_->add_up(values);
  }

  void broadcast(std::vector<std::byte>& bytes) override {
    wait_for_all({});
    const std::lock_guard lock(talking_);
    std::int64_t size = static_cast<std::int64_t>(bytes.size());
    messenger_->broadcast(std::as_writable_bytes(std::span(&size, 1)));
    bytes.resize(static_cast<std::size_t>(size));
    messenger_->broadcast(bytes);
  }

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  void wait_for_all(const Meanwhile& meanwhile) override;
  void tell(RankProgress ours) override;
  RankProgress told() const override;
  void stop_all() override;
  std::stop_token stopped() const override { return stop_.get_token(); }
  void end_others(int code) override { messenger_->end_job(code); }

  // Of the scan with this number, counted from 1.
  std::optional<FrameRange> next_block(std::uint64_t scan);

 private:
  // MPI does not look: it would write behind the end of the shorter, or leave out what the longer has more.
  void check_lengths(std::uint64_t ours) {
    const auto bytes = std::as_bytes(std::span(&ours, 1));
    std::vector<std::byte> told(bytes.begin(), bytes.end());
    broadcast(told);
    together(*this, [&] {
      std::uint64_t of_first = 0;
      std::memcpy(&of_first, told.data(), sizeof of_first);
      if (ours == of_first) return;
      throw Error(ErrorKind::kBackend, fmt::format("rank {}", rank()),
                  fmt::format("has {} numbers to add up, and rank 0 has {}", ours, of_first),
                  "see that all ranks see the same files, and that nobody changes them meanwhile");
    });
  }

  void send(unsigned to, std::vector<std::byte> message) {
    const std::lock_guard lock(talking_);
    messenger_->send(to, std::move(message));
  }

  std::optional<FrameRange> deal_one();
  void answer(unsigned rank);
  void receive(const std::stop_token& end);
  void take(const Messenger::Message& message);

  // Waits until `done` holds; it is asked with the lock.
  template <typename Done>
  void wait_until(std::unique_lock<std::mutex>& lock, Done done) {
    ++waiting_;
    wake_.notify_all();
    changed_.wait(lock, done);
    --waiting_;
  }

  std::unique_ptr<Messenger> messenger_;
  const Messenger::Place place_;
  std::mutex talking_;  // for the messenger

  mutable std::mutex knowing_;  // for what follows
  std::condition_variable changed_;
  std::condition_variable wake_;  // for the thread that receives: somebody waits for it
  unsigned waiting_ = 0;
  std::vector<RankProgress> progress_;
  std::vector<std::deque<Parcel>> parcels_;
  std::vector<std::uint64_t> arrivals_;                    // at meeting points, by rank
  std::uint64_t meetings_ = 0;                             // that all came to
  std::uint64_t scans_ = 0;                                // dealt so far, with the present one
  std::optional<GuidedBlocks> blocks_;                     // of the present one
  std::vector<std::pair<unsigned, std::uint64_t>> early_;  // asked for a scan that we do not deal yet
  std::optional<std::optional<FrameRange>> answer_;        // to what we asked
  std::chrono::steady_clock::time_point reported_ = {};
  std::stop_source stop_;

  std::jthread receiving_;  // last: it uses all of the above
};

class DealerOfRanks final : public FrameDealer {
 public:
  DealerOfRanks(std::shared_ptr<MessagingRanks> ranks, std::uint64_t scan)
      : ranks_(std::move(ranks)), scan_(scan) {}
  std::optional<FrameRange> next() override { return ranks_->next_block(scan_); }

 private:
  std::shared_ptr<MessagingRanks> ranks_;
  std::uint64_t scan_;
};

std::shared_ptr<FrameDealer> MessagingRanks::deal(std::uint64_t expected) {
  const std::lock_guard lock(knowing_);
  ++scans_;
  blocks_.emplace(expected, place_.size);
  std::erase_if(early_, [this](const auto& asked) {
    if (asked.second > scans_) return false;
    answer(asked.first);
    return true;
  });
  return std::make_shared<DealerOfRanks>(shared_from_this(), scans_);
}

std::optional<FrameRange> MessagingRanks::deal_one() {
  if (stop_.stop_requested()) return std::nullopt;
  return blocks_->next();
}

// With the lock.
void MessagingRanks::answer(unsigned rank) {
  const std::optional<FrameRange> block = deal_one();
  send(rank, block ? message_of(Subject::kBlock, {block->first, block->end}) : message_of(Subject::kNoBlock));
}

std::optional<FrameRange> MessagingRanks::next_block(std::uint64_t scan) {
  std::unique_lock lock(knowing_);
  if (is_first()) return deal_one();
  if (stop_.stop_requested()) return std::nullopt;
  answer_.reset();
  send(0, message_of(Subject::kAsk, {scan}));
  // Who should answer may have stopped before it began to deal.
  wait_until(lock, [this] { return answer_.has_value() || stop_.stop_requested(); });
  return answer_.value_or(std::nullopt);
}

std::vector<std::vector<std::byte>> MessagingRanks::gather(std::span<const std::byte> bytes) {
  if (!is_first()) {
    send(0, message_of(Subject::kSize, {bytes.size()}));
    for (std::size_t sent = 0; sent < bytes.size(); sent += kPiece)
      send(0, message_of(Subject::kBytes, bytes.subspan(sent, std::min(kPiece, bytes.size() - sent))));
    return {};
  }
  std::vector<std::vector<std::byte>> all(place_.size);
  all.front().assign(bytes.begin(), bytes.end());
  std::unique_lock lock(knowing_);
  for (unsigned rank = 1; rank < place_.size; ++rank) {
    std::deque<Parcel>& parcels = parcels_[rank];
    wait_until(lock, [&] { return !parcels.empty() && parcels.front().complete(); });
    all[rank] = std::move(parcels.front().bytes);
    parcels.pop_front();
  }
  return all;
}

void MessagingRanks::wait_for_all(const Meanwhile& meanwhile) {
  std::unique_lock lock(knowing_);
  const std::uint64_t meeting = meetings_ + 1;
  if (!is_first()) {
    send(0, message_of(Subject::kHere));
    wait_until(lock, [&] { return meetings_ >= meeting; });
    return;
  }
  arrivals_.front() = meeting;
  const auto all_here = [&] {
    return std::ranges::all_of(arrivals_, [&](std::uint64_t arrived) { return arrived >= meeting; });
  };
  ++waiting_;
  wake_.notify_all();
  while (!changed_.wait_for(lock, kMeanwhile, all_here)) {
    if (!meanwhile) continue;
    std::vector<unsigned> missing;
    for (unsigned rank = 0; rank < place_.size; ++rank) {
      if (arrivals_[rank] < meeting) missing.push_back(rank);
    }
    lock.unlock();
    meanwhile(missing);
    lock.lock();
  }
  --waiting_;
  meetings_ = meeting;
  for (unsigned rank = 1; rank < place_.size; ++rank) send(rank, message_of(Subject::kGoOn));
}

void MessagingRanks::tell(RankProgress ours) {
  {
    const std::lock_guard lock(knowing_);
    progress_[place_.rank] = ours;
    const auto now = std::chrono::steady_clock::now();
    if (is_first() || now - reported_ < kBetweenReports) return;
    reported_ = now;
  }
  send(0, message_of(Subject::kProgress, {ours.frames, ours.bad}));
}

RankProgress MessagingRanks::told() const {
  const std::lock_guard lock(knowing_);
  RankProgress all;
  for (const RankProgress& rank : progress_) {
    all.frames += rank.frames;
    all.bad += rank.bad;
  }
  return all;
}

void MessagingRanks::stop_all() {
  if (!stop_.request_stop()) return;  // known already
  for (unsigned rank = 0; rank < place_.size; ++rank) {
    if (rank != place_.rank) send(rank, message_of(Subject::kStop));
  }
}

void MessagingRanks::take(const Messenger::Message& message) {
  const Content content(message);
  if (content.subject == Subject::kStop) {
    stop_.request_stop();  // without the lock: those who listen may call us
    const std::lock_guard lock(knowing_);
    changed_.notify_all();
    return;
  }
  const std::lock_guard lock(knowing_);
  switch (content.subject) {
    case Subject::kAsk:
      if (content.number(0) > scans_) {
        early_.emplace_back(message.from, content.number(0));
      } else {
        answer(message.from);
      }
      break;
    case Subject::kBlock:
      answer_.emplace(FrameRange{content.number(0), content.number(1)});
      break;
    case Subject::kNoBlock:
      answer_.emplace(std::nullopt);
      break;
    case Subject::kHere:
      ++arrivals_[message.from];
      break;
    case Subject::kGoOn:
      ++meetings_;
      break;
    case Subject::kProgress:
      progress_[message.from] = {content.number(0), content.number(1)};
      break;
    case Subject::kSize:
      parcels_[message.from].push_back({content.number(0), {}});
      parcels_[message.from].back().bytes.reserve(content.number(0));
      break;
    case Subject::kBytes: {
      std::vector<std::byte>& bytes = parcels_[message.from].back().bytes;
      bytes.insert(bytes.end(), content.bytes.begin(), content.bytes.end());
      break;
    }
    case Subject::kStop:
      break;
  }
  changed_.notify_all();
}

void MessagingRanks::receive(const std::stop_token& end) {
  while (!end.stop_requested()) {
    std::optional<Messenger::Message> message;
    {
      const std::lock_guard lock(talking_);
      message = messenger_->receive();
    }
    if (message) {
      take(*message);
      continue;
    }
    std::unique_lock lock(knowing_);
    if (waiting_ > 0) {
      lock.unlock();
      std::this_thread::sleep_for(kShortSleep);
    } else {
      wake_.wait_for(lock, is_first() ? kSleepOfFirst : kLongSleep, [this] { return waiting_ > 0; });
    }
  }
}

}  // namespace

std::shared_ptr<Ranks> make_messaging_ranks(std::unique_ptr<Messenger> messenger) {
  return std::make_shared<MessagingRanks>(std::move(messenger));
}

}  // namespace annulus
