// The processes that share a job, as MPI starts them: `mpirun -n 8 annulus ...`. One process alone is a job
// of one rank.
//
// The program does not link MPI. What speaks it is a module beside the program, which is loaded only in a
// process that was started under MPI.
#pragma once

#include <annulus/sources/frame_dealer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

// How far a rank is, or all of them together.
struct RankProgress {
  std::uint64_t frames = 0;
  std::uint64_t bad = 0;
  bool operator==(const RankProgress&) const = default;
};

class Ranks {
 public:
  // After all have called wait_for_all(): they leave together.
  virtual ~Ranks() = default;

  virtual unsigned rank() const = 0;  // ours, from 0
  virtual unsigned size() const = 0;
  virtual unsigned local_rank() const = 0;  // among those on our node
  virtual unsigned local_size() const = 0;
  virtual unsigned cores() const = 0;  // of our node, for us: ranks of a node share them equally

  bool is_first() const { return rank() == 0; }

  // What follows is called by all ranks, in the same order.

  // Deals blocks of frames of a scan, each to the rank that asks next, so that a slow one holds up nobody.
  // Blocks are large at first and become smaller: `expected` is how many frames there will be, as far as the
  // first rank knows (0: nobody knows). Does not wait for the others. There is one scan at a time.
  virtual std::shared_ptr<FrameDealer> deal(std::uint64_t expected) = 0;

  // The sums over all ranks, in the first one; in the others, `values` are left as they are. Throws
  // FailedTogether in all, and adds nothing, if they have not as many.
  virtual void add_up(std::span<std::int64_t> values) = 0;

  // What the first rank has, in all.
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;

  // What every rank has, in the first one, by rank; nothing in the others.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;

  // Returns when all ranks have called it. While the first one waits, `meanwhile` is told some ten times per
  // second which ranks have not come yet.
  using Meanwhile = std::function<void(const std::vector<unsigned>& missing)>;
  virtual void wait_for_all(const Meanwhile& meanwhile = {}) = 0;

  // What follows is called by any rank, at any time, from any thread.

  // How far we are; the first rank knows it of all, a little later.
  virtual void tell(RankProgress ours) = 0;
  virtual RankProgress told() const = 0;

  // Asks all ranks to stop, this one included: nothing more is dealt, and the token says so.
  virtual void stop_all() = 0;
  virtual std::stop_token stopped() const = 0;

  // Before this rank leaves with this exit code because of an error that the others do not know: they end,
  // too. May not return.
  virtual void end_others(int code) = 0;
};

// What the starter of this process says in its environment, without asking MPI.
struct Launch {
  unsigned size = 1;    // ranks; 0: it was started under MPI, which knows
  unsigned rank = 0;    // ours
  std::string starter;  // the variable that says so; empty: not started under MPI
};

// Throws kUsage for variables that are no numbers.
Launch launch_of_environment();

// The ranks that this process was started with; alone unless launch_of_environment() says otherwise. `module`
// is the file that speaks MPI. Throws kBackend if it is not there or cannot be loaded, and if MPI finds
// another number of ranks than were started: every rank would do the whole job.
std::shared_ptr<Ranks> join_ranks(const std::filesystem::path& module);

// One process alone.
std::shared_ptr<Ranks> alone();

}  // namespace annulus
