#include <annulus/core/guarded_mapping.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <span>

namespace annulus {
namespace {

// What the signal handler may look at: no locks, no memory that comes and goes.
struct Place {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;  // 0: nobody's
  std::atomic<bool> cut = false;
};
std::array<Place, 1024> places;
std::mutex taking_places;
struct sigaction other_handler;
std::atomic<bool> allowed_to_map = true;

// The missing page and all behind it become zeros. mmap is a plain system call, which a handler may make.
bool fill_up(std::uintptr_t address, std::uintptr_t page_size) {
  for (Place& place : places) {
    const std::uintptr_t end = place.end;
    if (address < place.begin || address >= end) continue;
    const std::uintptr_t page = address / page_size * page_size;
    void* const filled = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    place.cut = true;
    return filled != MAP_FAILED;
  }
  return false;
}

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// As the system would call it: with the signals blocked that it wants blocked.
void call(const struct sigaction& handler, int signal, siginfo_t* info, void* context) {
  sigset_t mask_of_ours;
  ::pthread_sigmask(SIG_BLOCK, &handler.sa_mask, &mask_of_ours);
  if ((handler.sa_flags & SA_SIGINFO) != 0) {
    handler.sa_sigaction(signal, info, context);
  } else {
    handler.sa_handler(signal);
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_of_ours, nullptr);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int code = errno;
  const bool of_memory = info->si_code > 0;  // and not sent by a process
  if (of_memory && fill_up(reinterpret_cast<std::uintptr_t>(info->si_addr), page_size())) {
    errno = code;
    return;
  }
  const bool plain = (other_handler.sa_flags & SA_SIGINFO) == 0;
  if (plain && other_handler.sa_handler == SIG_IGN && !of_memory) {
    errno = code;
    return;
  }
  if (plain && (other_handler.sa_handler == SIG_DFL || other_handler.sa_handler == SIG_IGN)) {
    // Ends the process as it should: the access is repeated, and what was sent is sent again.
    struct sigaction end {};
    end.sa_handler = SIG_DFL;
    ::sigaction(signal, &end, nullptr);
    if (!of_memory) ::raise(signal);
    return;
  }
  call(other_handler, signal, info, context);
  errno = code;
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_size();  // not for the first time in a handler
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, nullptr, &other_handler);  // known before ours may be called
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

// A mapping keeps its file open, and others need descriptors too.
std::size_t most_mappings() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return places.size() / 2;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / 2, places.size()));
}

Place* take_place(void* address, std::size_t size) {
  const std::lock_guard lock(taking_places);
  for (Place& place : std::span(places).first(most_mappings())) {
    if (place.end != 0) continue;
    place.cut = false;
    place.begin = reinterpret_cast<std::uintptr_t>(address);
    place.end = place.begin + size;
    return &place;
  }
  return nullptr;
}

class Mapping {
 public:
  Mapping(int descriptor, void* address, std::size_t size, Place& place, const struct stat& before)
      : descriptor_(descriptor), address_(address), size_(size), place_(place), before_(before) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  ~Mapping() {
    {
      const std::lock_guard lock(taking_places);
      place_.end = 0;
    }
    ::munmap(address_, size_);
    ::close(descriptor_);
  }

  // Not cut, and not written to since it was mapped.
  bool intact() const {
    struct stat now {};
    if (place_.cut || ::fstat(descriptor_, &now) != 0) return false;
    return now.st_size >= before_.st_size && now.st_mtim.tv_sec == before_.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == before_.st_mtim.tv_nsec;
  }

 private:
  const int descriptor_;
  void* const address_;
  const std::size_t size_;
  Place& place_;
  const struct stat before_;
};

}  // namespace

void allow_mapping(bool allowed) { allowed_to_map = allowed; }

bool mapping_is_allowed() { return allowed_to_map; }

std::optional<Bytes> map_guarded(int descriptor, std::uint64_t offset, std::uint64_t count) {
  if (!mapping_is_allowed()) return std::nullopt;
  install_handler();
  struct stat before {};
  if (count == 0 || ::fstat(descriptor, &before) != 0) return std::nullopt;
  if (std::cmp_less(before.st_size, offset + count)) return std::nullopt;  // reading will say so
  const std::uint64_t first = offset / page_size() * page_size();
  const std::size_t size = offset + count - first;
  // Populated at once: a page fault for every few pages would take longer than reading.
  void* const address =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, static_cast<off_t>(first));
  if (address == MAP_FAILED) return std::nullopt;
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  const std::size_t pages = (size + page_size() - 1) / page_size() * page_size();
  Place* const place = own < 0 ? nullptr : take_place(address, pages);
  if (place == nullptr) {
    if (own >= 0) ::close(own);
    ::munmap(address, size);
    return std::nullopt;
  }
  const auto mapping = std::make_shared<const Mapping>(own, address, size, *place, before);
  return Bytes(mapping, {static_cast<const std::byte*>(address) + (offset - first), count},
               [](const void* owner) { return static_cast<const Mapping*>(owner)->intact(); });
}

}  // namespace annulus
