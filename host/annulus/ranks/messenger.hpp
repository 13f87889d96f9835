// Moves bytes between ranks: the little that the module which speaks MPI has to do.
//
// The module is another file than the program. So this header, which both are compiled with, needs nothing of
// the library, and what goes wrong is thrown as std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace annulus {

class Messenger {
 public:
  struct Place {
    unsigned rank = 0, size = 1;
    unsigned local_rank = 0, local_size = 1;  // on our node
    unsigned cores = 1;                       // of the node, for each of its ranks
  };
  struct Message {
    unsigned from = 0;
    std::vector<std::byte> bytes;
  };

  // Leaves the others; all do so together.
  virtual ~Messenger() = default;

  virtual Place place() const = 0;

  // One thread at a time calls the following. None of these two waits for others, so that nothing spins:
  // whoever waits for a message asks again after a while.

  // Messages between two ranks keep their order.
  virtual void send(unsigned to, std::vector<std::byte> message) = 0;
  virtual std::optional<Message> receive() = 0;

  // Called by all ranks in the same order, once all are there: these wait, and may use a core for it.

  // The sums over all ranks, in the first one.
  virtual void add_up(std::span<std::int64_t> values) = 0;

  // What the first one has, in all.
  virtual void broadcast(std::span<std::byte> bytes) = 0;

  // Any thread, at any time: ends the whole job with this exit code.
  virtual void end_job(int code) = 0;
};

// The one function of the module. `version` is that of the program; a module of another one refuses.
using JoinFunction = Messenger*(const char* version);
inline constexpr const char* kJoinFunction = "annulus_join_mpi";

}  // namespace annulus
