// What ranks do together, under a real mpirun, without the rest of the program:
//
//     mpirun -n 4 ranks_tool annulus_mpi.so check          # every operation once; exit code 0 if all are
//     right mpirun -n 4 ranks_tool annulus_mpi.so add_up 23000000 5   # seconds to add up so many int64, of
//     each of 5 times
#include <annulus/core/clock.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

using namespace annulus;

namespace {

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

std::vector<std::byte> bytes_of(std::size_t count, unsigned value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

// Sizes are above what MPI or we do in one piece.
void check(Ranks& ranks) {
  constexpr std::size_t kNumbers = (std::size_t{1} << 20) + 77;
  const auto n = static_cast<std::int64_t>(ranks.size());
  std::vector<std::int64_t> values(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i)
    values[i] = static_cast<std::int64_t>(i) * (ranks.rank() + 1) - 1;
  ranks.add_up(values);
  for (std::size_t i = 0; ranks.is_first() && i < kNumbers; ++i)
    require(values[i] == static_cast<std::int64_t>(i) * n * (n + 1) / 2 - n, "add_up() is wrong");

  constexpr std::size_t kMuch = (std::size_t{64} << 20) + 5;
  std::vector<std::byte> told = ranks.is_first() ? bytes_of(kMuch, 7) : bytes_of(3, 1);
  ranks.broadcast(told);
  require(told == bytes_of(kMuch, 7), "broadcast() is wrong");

  const bool last = ranks.rank() + 1 == ranks.size();
  const auto all = ranks.gather(bytes_of(last ? kMuch : ranks.rank(), ranks.rank()));
  for (unsigned rank = 0; rank < all.size(); ++rank)
    require(all[rank] == bytes_of(rank + 1 == ranks.size() ? kMuch : rank, rank), "gather() is wrong");

  constexpr std::uint64_t kFrames = 5000;
  std::vector<std::int64_t> dealt(kFrames);
  const auto dealer = ranks.deal(kFrames);
  while (const auto block = dealer->next()) {
    if (block->first >= kFrames) break;
    for (std::uint64_t i = block->first; i < std::min(block->end, kFrames); ++i) ++dealt[i];
  }
  ranks.add_up(dealt);
  require(!ranks.is_first() || dealt == std::vector<std::int64_t>(kFrames, 1), "deal() is wrong");
  require(ranks.cores() > 0 && ranks.local_rank() < ranks.local_size(), "the node is wrong");
}

void measure(Ranks& ranks, std::size_t numbers, int times) {
  std::vector<std::int64_t> values(numbers, 1);
  for (int i = 0; i < times; ++i) {
    ranks.wait_for_all();
    const auto start = Clock::now();
    ranks.add_up(values);
    ranks.wait_for_all();
    if (ranks.is_first()) fmt::print("{:.6f}\n", seconds_since(start));
  }
}

void measure_dealing(Ranks& ranks, std::uint64_t blocks) {
  const auto dealer = ranks.deal(0);  // all of the same size
  ranks.wait_for_all();
  const auto start = Clock::now();
  std::uint64_t size = 0;
  while (const auto block = dealer->next()) {
    size = block->end - block->first;
    if (block->first >= blocks * size) break;
    // The first one would take them all: it needs to ask nobody.
    if (ranks.is_first() && ranks.size() > 1) break;
  }
  ranks.wait_for_all();
  if (ranks.is_first()) fmt::print("{:.6f}\n", seconds_since(start));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 2 ? argv[2] : "";
    const auto ranks = join_ranks(argc > 1 ? argv[1] : "");
    if (what == "check") {
      check(*ranks);
    } else if (what == "add_up" && argc == 5) {
      measure(*ranks, std::stoul(argv[3]), std::stoi(argv[4]));
    } else if (what == "deal" && argc == 4) {
      measure_dealing(*ranks, std::stoul(argv[3]));
    } else {
      throw std::runtime_error("usage: ranks_tool MODULE check, deal BLOCKS, or add_up NUMBERS TIMES");
    }
    if (ranks->is_first()) fmt::print("{} ranks\n", ranks->size());
    ranks->wait_for_all();
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ranks_tool: {}\n", error.what());
    std::_Exit(EXIT_FAILURE);  // mpirun ends the others
  }
}
