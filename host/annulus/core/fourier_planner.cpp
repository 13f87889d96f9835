#include <annulus/core/fourier_planner.hpp>

namespace annulus {

std::mutex& fourier_planner() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace annulus
