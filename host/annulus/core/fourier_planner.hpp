// FFTW makes and destroys plans in one thread at a time, in the whole process: whoever does so holds this
// lock.
#pragma once

#include <mutex>

namespace annulus {

std::mutex& fourier_planner();

}  // namespace annulus
