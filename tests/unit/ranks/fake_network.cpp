#include "ranks/fake_network.hpp"

#include <annulus/ranks/messaging_ranks.hpp>

#include <barrier>
#include <deque>
#include <mutex>
#include <thread>

namespace annulus {
namespace {

struct Network {
  explicit Network(unsigned size) : inboxes(size), meeting(size) {}

  std::mutex mutex;
  std::vector<std::deque<Messenger::Message>> inboxes;
  std::barrier<> meeting;
  std::span<std::int64_t> sums;
  std::span<const std::byte> first_bytes;
};

class FakeMessenger final : public Messenger {
 public:
  FakeMessenger(Network& network, unsigned rank, unsigned size)
      : network_(network), rank_(rank), size_(size) {}

  Place place() const override { return {rank_, size_, rank_, size_, 1}; }

  void send(unsigned to, std::vector<std::byte> message) override {
    const std::lock_guard lock(network_.mutex);
    network_.inboxes.at(to).push_back({rank_, std::move(message)});
  }

  std::optional<Message> receive() override {
    const std::lock_guard lock(network_.mutex);
    std::deque<Message>& inbox = network_.inboxes.at(rank_);
    if (inbox.empty()) return std::nullopt;
    Message message = std::move(inbox.front());
    inbox.pop_front();
    return message;
  }

  void add_up(std::span<std::int64_t> values) override {
    if (rank_ == 0) network_.sums = values;
    network_.meeting.arrive_and_wait();
    if (rank_ != 0) {
      const std::lock_guard lock(network_.mutex);
      for (std::size_t i = 0; i < values.size(); ++i) network_.sums[i] += values[i];
    }
    network_.meeting.arrive_and_wait();
  }

  void broadcast(std::span<std::byte> bytes) override {
    if (rank_ == 0) network_.first_bytes = bytes;
    network_.meeting.arrive_and_wait();
    if (rank_ != 0) std::ranges::copy(network_.first_bytes, bytes.begin());
    network_.meeting.arrive_and_wait();
  }

  void end_job(int /*code*/) override { std::terminate(); }

 private:
  Network& network_;
  unsigned rank_, size_;
};

}  // namespace

void run_as_ranks(unsigned size, const std::function<void(Ranks&)>& work) {
  Network network(size);
  std::vector<std::jthread> threads;
  for (unsigned rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto ranks = make_messaging_ranks(std::make_unique<FakeMessenger>(network, rank, size));
      work(*ranks);
      ranks->wait_for_all();
    });
  }
}

}  // namespace annulus
