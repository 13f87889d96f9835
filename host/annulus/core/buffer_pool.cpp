#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/large_vector.hpp>
#include <annulus/core/pooled_array.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace annulus {
namespace {

// Compressed frames of a scan differ by a few percent. A buffer that is far too large would take memory that
// others were promised.
constexpr std::size_t with_slack(std::size_t capacity) { return capacity + capacity / 8; }

}  // namespace

struct BufferPool::State {
  struct FreeLarge {
    std::size_t capacity = 0;
    void operator()(std::byte* memory) const { free_large(memory, capacity); }
  };
  using Memory = std::unique_ptr<std::byte[], FreeLarge>;

  static Memory allocate(std::size_t capacity) {
    return {static_cast<std::byte*>(allocate_large(capacity)), FreeLarge{capacity}};
  }
  static std::size_t capacity_of(const Memory& memory) { return memory.get_deleter().capacity; }

  mutable std::mutex mutex;
  std::vector<Memory> idle;  // the longest idle first
  Statistics statistics;

  // The smallest that suffices.
  Memory find(std::size_t wanted) {
    auto best = idle.end();
    for (auto it = idle.begin(); it != idle.end(); ++it) {
      const std::size_t capacity = capacity_of(*it);
      const bool suits = capacity >= wanted && capacity <= with_slack(wanted);
      if (suits && (best == idle.end() || capacity <= capacity_of(*best))) best = it;
    }
    if (best == idle.end()) return nullptr;
    Memory memory = std::move(*best);
    statistics.idle -= capacity_of(memory);
    idle.erase(best);
    return memory;
  }

  // What has to go so that the bound holds; freed by the caller, without the lock.
  std::vector<Memory> surplus() {
    auto end = idle.begin();
    while (end != idle.end() && statistics.in_use + statistics.idle > statistics.most_in_use) {
      statistics.idle -= capacity_of(*end);
      ++end;
    }
    std::vector<Memory> gone(std::make_move_iterator(idle.begin()), std::make_move_iterator(end));
    idle.erase(idle.begin(), end);
    return gone;
  }

  void give_back(std::byte* memory, std::size_t capacity) {
    std::vector<Memory> gone;
    const std::lock_guard lock(mutex);
    statistics.in_use -= capacity;
    statistics.idle += capacity;
    idle.emplace_back(memory, FreeLarge{capacity});
    gone = surplus();
  }
};

BufferPool::BufferPool() : state_(std::make_shared<State>()) {}

std::size_t BufferPool::capacity_for(std::size_t size) {
  return size < kSmallest ? 0 : (size + kPage - 1) / kPage * kPage;
}

std::size_t BufferPool::most_for(std::size_t size) { return with_slack(capacity_for(size)); }

std::shared_ptr<std::byte[]> BufferPool::take(std::size_t size) {
  if (size < kSmallest) return std::make_shared_for_overwrite<std::byte[]>(size);
  std::size_t capacity = capacity_for(size);
  std::vector<State::Memory> gone;
  State::Memory memory;
  std::size_t most_before = 0;
  {
    const std::lock_guard lock(state_->mutex);
    memory = state_->find(capacity);
    if (memory) capacity = State::capacity_of(memory);
    Statistics& statistics = state_->statistics;
    ++(memory ? statistics.reused : statistics.fresh);
    statistics.in_use += capacity;
    most_before = std::exchange(statistics.most_in_use, std::max(statistics.most_in_use, statistics.in_use));
    gone = state_->surplus();
  }
  gone.clear();  // before more is asked of the system
  if (!memory) {
    try {
      memory = State::allocate(capacity);
    } catch (...) {
      const std::lock_guard lock(state_->mutex);
      Statistics& statistics = state_->statistics;
      statistics.in_use -= capacity;
      statistics.most_in_use = std::max(most_before, statistics.in_use);
      gone = state_->surplus();
      throw;
    }
  }
  return {memory.release(), [state = state_, capacity](std::byte* p) { state->give_back(p, capacity); }};
}

void BufferPool::free_idle() {
  std::vector<State::Memory> gone;
  const std::lock_guard lock(state_->mutex);
  gone.swap(state_->idle);
  state_->statistics.idle = 0;
  state_->statistics.most_in_use = state_->statistics.in_use;
}

BufferPool::Statistics BufferPool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

BufferPool& frame_memory() {
  static BufferPool pool;
  return pool;
}

std::shared_ptr<std::byte[]> take_frame_memory(std::size_t bytes) { return frame_memory().take(bytes); }

}  // namespace annulus
