// The processes that share a job, as MPI starts them: `mpirun -n 8 annulus ...`. One process alone is a job
// of one rank.
//
// The program does not link MPI. What speaks it is a module beside the program, which is loaded only in a
// process that was started under MPI.
#pragma once

#include <annulus/sources/frame_dealer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace annulus {

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual unsigned rank() const = 0;  // ours, from 0
  virtual unsigned size() const = 0;
  virtual unsigned local_rank() const = 0;  // among those on our node
  virtual unsigned local_size() const = 0;

  bool is_first() const { return rank() == 0; }

  // What follows is called by all ranks, in the same order.

  // Deals blocks of frames of a scan, each to the rank that asks next, so that a slow one holds up nobody.
  // Blocks are large at first and become smaller: `expected` is how many frames there will be, as far as the
  // first rank knows (0: nobody knows).
  virtual std::shared_ptr<FrameDealer> deal(std::uint64_t expected) = 0;

  // The sums over all ranks, in the first one; in the others, `values` are left as they are.
  virtual void add_up(std::span<std::int64_t> values) = 0;

  // What the first rank has, in all.
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;

  // What every rank has, in the first one, by rank; nothing in the others.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;

  // Returns when all ranks have called it.
  virtual void wait_for_all() = 0;

  // Any rank, at any time, before it leaves with this exit code because of an error: the others end, too. May
  // not return.
  virtual void end_others(int code) = 0;
};

// The ranks that this process was started with. Throws kBackend if it was started under MPI and the module is
// not there or cannot be loaded: every rank would do the whole job.
std::unique_ptr<Ranks> join_ranks();

// One process alone.
std::unique_ptr<Ranks> alone();

}  // namespace annulus
