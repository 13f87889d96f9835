// The messenger that speaks MPI. It uses nothing of the library but two headers without code.
#include <annulus/ranks/messenger.hpp>
#include <annulus/version.hpp>

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using annulus::Messenger;

// MPI counts with int; and a reduction in pieces needs little memory beside the sums.
constexpr std::size_t kNumbersAtOnce = std::size_t{1} << 20;
constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20;

// The cores that a process may use, as bits: 1024 of them, as many as sched.h knows.
using CoreSet = std::array<std::uint64_t, sizeof(cpu_set_t) / sizeof(std::uint64_t)>;

CoreSet own_cores() {
  CoreSet cores = {};
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0) std::memcpy(cores.data(), &own, sizeof own);
  return cores;
}

unsigned count(const CoreSet& cores) {
  cpu_set_t set;
  std::memcpy(&set, cores.data(), sizeof set);
  return static_cast<unsigned>(CPU_COUNT(&set));
}

Messenger::Place find_place() {
  int rank = 0, size = 1, local_rank = 0, local_size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_size(node, &local_size);
  // Ranks may be bound to cores of their own, or all have those of the job.
  const CoreSet own = own_cores();
  CoreSet all = {};
  MPI_Allreduce(own.data(), all.data(), static_cast<int>(own.size()), MPI_UINT64_T, MPI_BOR, node);
  MPI_Comm_free(&node);
  const unsigned fair = count(all) / static_cast<unsigned>(local_size);
  const unsigned cores = std::max(1u, std::min(count(own), fair));
  return {static_cast<unsigned>(rank), static_cast<unsigned>(size), static_cast<unsigned>(local_rank),
          static_cast<unsigned>(local_size), cores};
}

class MpiMessenger final : public Messenger {
 public:
  MpiMessenger() : place_(find_place()) {
    // Messages have a communicator of their own: none is mistaken for a part of a reduction.
    MPI_Comm_dup(MPI_COMM_WORLD, &messages_);
  }

  ~MpiMessenger() override {
    // All ranks have met: what was sent arrived, or interests nobody any more.
    forget_sent();
    for (Sent& sent : sent_) MPI_Request_free(&sent.request);
    MPI_Finalize();
  }

  Place place() const override { return place_; }

  void send(unsigned to, std::vector<std::byte> message) override {
    forget_sent();
    Sent& sent = sent_.emplace_back();
    sent.message = std::move(message);
    MPI_Isend(sent.message.data(), static_cast<int>(sent.message.size()), MPI_BYTE, static_cast<int>(to), 0,
              messages_, &sent.request);
  }

  std::optional<Message> receive() override {
    forget_sent();
    int there = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, 0, messages_, &there, &handle, &status);
    if (there == 0) return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message message{static_cast<unsigned>(status.MPI_SOURCE), std::vector<std::byte>(size)};
    MPI_Mrecv(message.bytes.data(), size, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
    return message;
  }

  void add_up(std::span<std::int64_t> values) override {
    for (; !values.empty(); values = values.subspan(std::min(kNumbersAtOnce, values.size()))) {
      const int size = static_cast<int>(std::min(kNumbersAtOnce, values.size()));
      if (place_.rank == 0) {
        MPI_Reduce(MPI_IN_PLACE, values.data(), size, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
      } else {
        MPI_Reduce(values.data(), nullptr, size, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
      }
    }
  }

  void broadcast(std::span<std::byte> bytes) override {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kBytesAtOnce, bytes.size()))) {
      const int size = static_cast<int>(std::min(kBytesAtOnce, bytes.size()));
      MPI_Bcast(bytes.data(), size, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
  }

  void end_job(int code) override { MPI_Abort(MPI_COMM_WORLD, code); }

 private:
  struct Sent {
    std::vector<std::byte> message;  // until it is gone
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void forget_sent() {
    sent_.remove_if([](Sent& sent) {
      int done = 0;
      MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  Place place_;
  MPI_Comm messages_ = MPI_COMM_NULL;
  std::list<Sent> sent_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) annulus::Messenger* annulus_join_mpi(const char* version) {
  if (std::string(version) != annulus::kVersion)
    throw std::runtime_error("the module is of Annulus " + std::string(annulus::kVersion) + ", not of " +
                             version);
  // HDF5 files are opened first in a process of their own, which uses no MPI.
  ::setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
    throw std::runtime_error("MPI does not start");
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    throw std::runtime_error("this MPI allows no threads (MPI_THREAD_SERIALIZED)");
  }
  return new MpiMessenger;
}
