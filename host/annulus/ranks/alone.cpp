#include <annulus/core/parallel.hpp>
#include <annulus/ranks/ranks.hpp>

#include <limits>
#include <mutex>

namespace annulus {
namespace {

// The whole scan, as one block.
class WholeScan final : public FrameDealer {
 public:
  std::optional<FrameRange> next() override {
    if (dealt_) return std::nullopt;
    dealt_ = true;
    return FrameRange{0, std::numeric_limits<std::uint64_t>::max()};
  }

 private:
  bool dealt_ = false;
};

class Alone final : public Ranks {
 public:
  unsigned rank() const override { return 0; }
  unsigned size() const override { return 1; }
  unsigned local_rank() const override { return 0; }
  unsigned local_size() const override { return 1; }
  unsigned cores() const override { return resolve_threads(0); }
  std::shared_ptr<FrameDealer> deal(std::uint64_t /*expected*/) override {
    return std::make_shared<WholeScan>();
  }
  void add_up(std::span<std::int64_t> /*values*/) override {}
  void broadcast(std::vector<std::byte>& /*bytes*/) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return {{bytes.begin(), bytes.end()}};
  }
  void wait_for_all(const Meanwhile& /*meanwhile*/) override {}
  void tell(RankProgress ours) override {
    const std::lock_guard lock(telling_);
    progress_ = ours;
  }
  RankProgress told() const override {
    const std::lock_guard lock(telling_);
    return progress_;
  }
  void stop_all() override { stop_.request_stop(); }
  std::stop_token stopped() const override { return stop_.get_token(); }
  void end_others(int /*code*/) override {}

 private:
  mutable std::mutex telling_;
  RankProgress progress_;
  std::stop_source stop_;
};

}  // namespace

std::shared_ptr<Ranks> alone() { return std::make_shared<Alone>(); }

}  // namespace annulus
