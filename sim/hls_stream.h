// Stand-in for the vendor's <hls_stream.h>: the include path chooses between the two.
//
// Outside a launch, and in a sequential one, a stream has no bound and reading it when empty is an error.
// In a concurrent launch it holds as many elements as its declared depth; reading and writing wait, and a
// wait that cannot end is an error that names every stage and stream that is stuck (launch.hpp).
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "launch.hpp"

namespace hls {

template <typename T>
class stream : private annulus_sim::StreamState {
 public:
  explicit stream(const char* name = "unnamed") : StreamState(name) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  T read() {
    const Turn turn = wait_to_read();
    T element = std::move(elements_.front());
    elements_.pop_front();
    return element;
  }

  void write(const T& element) {
    const Turn turn = wait_to_write();
    elements_.push_back(element);
  }

  // What the STREAM pragma becomes in the copy that is compiled here.
  using StreamState::set_depth;
  using StreamState::set_name;
  using StreamState::traffic;

 private:
  std::deque<T> elements_;
};

}  // namespace hls
