// Feeds stages, collects what they give and counts their iterations.
#pragma once

#include <gtest/gtest.h>
#include <hls_stream.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reference.hpp"

namespace decoder_test {

constexpr int64_t kLimit = int64_t{1} << 33;  // of a difference, as Codes says

// Bytes a clock and pixels a vector, for which the stages are compiled.
template <int kBytesOf, int kLanesOf>
struct Shape {
  static constexpr int kBytes = kBytesOf;
  static constexpr int kLanes = kLanesOf;
};
using Shapes = ::testing::Types<Shape<8, 8>, Shape<8, 16>, Shape<16, 16>, Shape<32, 32>>;
using WordShapes = ::testing::Types<Shape<8, 8>, Shape<16, 16>, Shape<32, 32>>;  // lanes do not matter

struct ShapeNames {
  template <typename S>
  static std::string GetName(int) {
    return std::to_string(S::kBytes) + "BytesTo" + std::to_string(S::kLanes) + "Lanes";
  }
};

// What stands in memory after a frame: it must not matter.
using Filler = std::function<uint8_t()>;
inline Filler fill_with(uint8_t byte) {
  return [byte] { return byte; };
}
inline Filler fill_randomly(uint32_t seed) {
  return [random = std::mt19937(seed)]() mutable { return static_cast<uint8_t>(random()); };
}
inline const std::vector<std::pair<std::string, Filler>>& fillers() {
  static const std::vector<std::pair<std::string, Filler>> all = {{"0x80", fill_with(0x80)},
                                                                  {"0x00", fill_with(0x00)},
                                                                  {"0x7F", fill_with(0x7F)},
                                                                  {"random", fill_randomly(7)}};
  return all;
}

template <typename T>
void feed(hls::stream<T>& stream, const std::vector<T>& elements) {
  for (const T& element : elements) stream.write(element);
}

template <typename T>
std::vector<T> drain(hls::stream<T>& stream) {
  std::vector<T> elements;
  while (stream.traffic().reads < stream.traffic().writes) elements.push_back(stream.read());
  return elements;
}

template <typename T>
bool is_empty(const hls::stream<T>& stream) {
  return stream.traffic().reads == stream.traffic().writes;
}

// Iterations of the pipelined loops of one call.
inline uint64_t iterations_of(const std::function<void()>& stage) {
  annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
  launch.run([&] {
    annulus_sim::stage("stage", stage);
    annulus_sim::finish_stages();
  });
  return launch.report().stages.at(0).iterations;
}

inline void feed_payload(hls::stream<uint32_t>& sizes, hls::stream<kernels::Beat>& beats, const Bytes& bytes,
                         const Filler& filler) {
  sizes.write(static_cast<uint32_t>(bytes.size()));
  for (size_t first = 0; first < bytes.size(); first += kernels::kBeatBytes) {
    kernels::Beat beat;
    for (size_t i = 0; i < kernels::kBeatBytes; ++i) {
      beat.byte[i] = first + i < bytes.size() ? bytes[first + i] : filler();
    }
    beats.write(beat);
  }
}

// Words as find_codes takes them, cut without split_windows.
template <int kBytes>
std::vector<kernels::Window<kBytes>> windows_of(const Bytes& bytes, const Filler& filler) {
  using Window = kernels::Window<kBytes>;
  std::vector<Window> windows;
  const size_t words = bytes.empty() ? 1 : (bytes.size() + kBytes - 1) / kBytes;
  for (size_t word = 0; word < words; ++word) {
    const size_t left = bytes.size() - word * kBytes;
    Window window;
    for (size_t i = 0; i < Window::kSize; ++i)
      window.byte[i] = i < left ? bytes[word * kBytes + i] : filler();
    window.count = static_cast<uint8_t>(std::min<size_t>(left, kBytes));
    window.reach = static_cast<uint8_t>(std::min<size_t>(left, Window::kSize));
    window.last = word + 1 == words;
    windows.push_back(window);
  }
  return windows;
}

// Frames from the vectors and reports that leave a decoder; every frame must have its vectors, no more.
template <int kLanes>
std::vector<Frame> collect_frames(const std::vector<kernels::Pixels<kLanes>>& vectors,
                                  const std::vector<kernels::Report>& reports, uint32_t pixel_count) {
  const size_t groups = (pixel_count + kLanes - 1) / kLanes;
  EXPECT_EQ(vectors.size(), reports.size() * groups);
  std::vector<Frame> frames;
  size_t next = 0;
  for (const kernels::Report& report : reports) {
    Frame frame{report, {}};
    for (size_t group = 0; group < groups && next < vectors.size(); ++group, ++next) {
      frame.pixels.insert(frame.pixels.end(), vectors[next].value, vectors[next].value + kLanes);
    }
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace decoder_test
