// What a kernel may use of the vendor's <hls_stream.h>: blocking reads and writes, so that what a kernel
// computes does not depend on time. Declarations only: the lint compiles kernels and never links them.
#pragma once

namespace hls {

template <typename T>
class stream {
 public:
  stream();
  explicit stream(const char* name);
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  T read();
  void write(const T& element);
};

}  // namespace hls
