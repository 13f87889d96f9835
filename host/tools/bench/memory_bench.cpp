#include <annulus/core/parallel.hpp>

#include <tools/bench/candidates.hpp>

#include <atomic>
#include <memory>

namespace annulus {
namespace {

// Far larger than caches are.
constexpr std::size_t kWords = std::size_t{32} << 20;

// Several sums at a time: one alone would wait for its own additions and not for the memory.
std::uint64_t sum_of(const std::uint64_t* words, std::size_t begin, std::size_t end) {
  constexpr std::size_t kSums = 8;
  std::uint64_t sums[kSums] = {};
  std::size_t i = begin;
  for (; i + kSums <= end; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += words[i + k];
  }
  for (; i < end; ++i) sums[0] += words[i];
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

std::vector<Candidate> memory_candidates(const BenchContext& context) {
  const auto words = std::make_shared<const std::vector<std::uint64_t>>(kWords, 1);
  std::vector<Candidate> candidates;
  for (const unsigned threads : context.options.threads) {
    const auto run = [words, threads](std::vector<double>& seconds) {
      std::atomic<std::uint64_t> total = 0;  // used, so that the sums are not optimised away
      seconds.push_back(seconds_of([&] {
        parallel_ranges(words->size(), threads, [&](std::size_t begin, std::size_t end) {
          total += sum_of(words->data(), begin, end);
        });
      }));
    };
    candidates.push_back({"memory", {{"threads", threads}}, {0, 0, kWords * sizeof(std::uint64_t)}, run});
  }
  return candidates;
}

}  // namespace annulus
