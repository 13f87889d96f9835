// Debian 12 builds XRT 2.13 with a driver for software emulation that loses its message buffer: to make it
// larger the driver calls realloc and forgets the address that it returns, and then writes into freed memory.
// This file is linked with the driver's own archive into a driver that works: its buffers are reserved so
// large from the start that realloc never has to move them. Reserving costs address space only; pages that
// are not written take no memory.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

// Above the size from which glibc always takes fresh pages for a block (32 MiB), and above any message: the
// driver cuts transfers into pieces of 8 MiB.
static const size_t kReserved = (size_t)64 << 20;

void* __real_malloc(size_t size);
void* __real_realloc(void* block, size_t size);

void* __wrap_malloc(size_t size) { return __real_malloc(size < kReserved ? kReserved : size); }

void* __wrap_realloc(void* block, size_t size) {
  if (block == NULL) return __wrap_malloc(size);
  if (size <= kReserved) return block;
  fprintf(stderr,
          "XRT's emulation driver needs a message of %zu bytes, more than the %zu that were reserved; "
          "make SW_EMU_PACKET_SIZE smaller\n",
          size, kReserved);
  abort();
}
