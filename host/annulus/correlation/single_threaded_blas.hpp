// While one of these lives, OpenBLAS makes no threads: it is called from threads of ours.
//
// The number of OpenBLAS's threads is one for the whole process. The first of these keeps it, and the last
// gives it back.
#pragma once

namespace annulus {

class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

// Of `requested` (0: all), those that may call OpenBLAS at once: it has memory for so many, and ends the
// process beyond.
unsigned blas_threads(unsigned requested);

}  // namespace annulus
