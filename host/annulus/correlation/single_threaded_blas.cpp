#include <annulus/core/parallel.hpp>
#include <annulus/correlation/single_threaded_blas.hpp>

#include <cblas.h>

#include <algorithm>
#include <mutex>

namespace annulus {
namespace {

constexpr unsigned kMostCallers =
    64;  // Debian's OpenBLAS is built for 64 processors, with buffers for twice as many

std::mutex users_lock;
int users = 0;
int threads_before = 1;

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  const std::lock_guard lock(users_lock);
  if (users++ > 0) return;
  threads_before = openblas_get_num_threads();
  openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  const std::lock_guard lock(users_lock);
  if (--users == 0) openblas_set_num_threads(threads_before);
}

unsigned blas_threads(unsigned requested) { return std::min(resolve_threads(requested), kMostCallers); }

}  // namespace annulus
