// Preloaded into a host: a thread of XRT's emulation driver that looks at the runs a hundred thousand times a
// second does so five times a second, as if the computer had other things to do. It sees that a run has ended
// long after whatever ended it.
#include <dlfcn.h>
#include <unistd.h>

extern "C" int usleep(useconds_t microseconds) {
  using Sleep = int (*)(useconds_t);
  const auto sleep = reinterpret_cast<Sleep>(dlsym(RTLD_NEXT, "usleep"));
  return sleep(microseconds == 10 ? 200'000 : microseconds);
}
