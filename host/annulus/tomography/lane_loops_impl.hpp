// The loops of lane_loops.hpp over a kind of vector. Each file that includes this is compiled for its own
// instruction set, so nothing here may be shared with other files: everything is in an unnamed namespace, and
// no function of the standard library is used.
#pragma once

#include <annulus/tomography/lane_loops.hpp>

namespace annulus {
namespace {

// Values of a convolution that are computed together: as many as registers hold.
constexpr std::size_t kFilterRows = 4;

// Angles that a tile takes together: what it needs of their projections stays in the first cache.
constexpr std::size_t kAnglesTogether = 4;

// kRows values from `row` on, each kStep after the one before.
template <typename V, std::size_t kRows, std::size_t kStep>
void filter_rows(const FilterTask& task, std::size_t row) {
  constexpr std::size_t kSome = V::kTogether;
  const std::ptrdiff_t place = task.first + static_cast<std::ptrdiff_t>(row);
  for (std::size_t lane = 0; lane < kBinLanes; lane += kSome * V::kWidth) {
    typename V::Vector sums[kRows][kSome];
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kSome; ++v) sums[r][v] = V::zero();
    }
    std::size_t from = 0;
    if constexpr (kStep == 2) {
      const auto tap = V::everywhere(task.taps[0]);
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto q =
            static_cast<std::size_t>(place + static_cast<std::ptrdiff_t>(kStep * r));  // huge if < 0
        if (q >= task.positions) continue;
        const float* const in = task.in + q * kBinLanes + lane;
        for (std::size_t v = 0; v < kSome; ++v)
          sums[r][v] = V::fma(tap, V::load(in + v * V::kWidth), sums[r][v]);
      }
      from = (place % 2 == 0) ? 1 : 0;
    }
    for (std::size_t q = from; q < task.positions; q += kStep) {
      const float* const in = task.in + q * kBinLanes + lane;
      typename V::Vector values[kSome];
      for (std::size_t v = 0; v < kSome; ++v) values[v] = V::load(in + v * V::kWidth);
      const float* const taps = task.taps + (place - static_cast<std::ptrdiff_t>(q));
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto tap = V::everywhere(taps[kStep * r]);
        for (std::size_t v = 0; v < kSome; ++v) sums[r][v] = V::fma(tap, values[v], sums[r][v]);
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      float* const out = task.out + (row + kStep * r) * kBinLanes + lane;
      for (std::size_t v = 0; v < kSome; ++v) V::store(out + v * V::kWidth, sums[r][v]);
    }
  }
}

template <typename V, std::size_t kStep>
void filter_all(const FilterTask& task) {
  for (std::size_t phase = 0; phase < kStep; ++phase) {
    std::size_t row = phase;
    for (; row + kStep * (kFilterRows - 1) < task.count; row += kStep * kFilterRows) {
      filter_rows<V, kFilterRows, kStep>(task, row);
    }
    for (; row < task.count; row += kStep) filter_rows<V, 1, kStep>(task, row);
  }
}

template <typename V>
void filter(const FilterTask& task) {
  if (task.odd_taps) {
    filter_all<V, 2>(task);
  } else {
    filter_all<V, 1>(task);
  }
}

template <typename V, std::size_t kAngles>
void back_project_angles(const TileTask& task, std::size_t angle) {
  constexpr std::size_t kVectors = kBinLanes / V::kWidth;
  const std::size_t length = task.count * kBinLanes;
  const float* const projections = task.projections + angle * length;
  const double* const cosines = task.cosines + angle;
  for (std::size_t row = 0; row < task.rows; ++row) {
    const auto y = static_cast<double>(task.top + static_cast<std::ptrdiff_t>(row));
    double start[kAngles];
    for (std::size_t a = 0; a < kAngles; ++a) start[a] = task.origin - y * task.sines[angle + a];
    for (std::size_t column = task.spans[row].begin; column < task.spans[row].end; ++column) {
      const auto x = static_cast<double>(task.left + static_cast<std::ptrdiff_t>(column));
      float* const pixel = task.sums + (row * task.columns + column) * kBinLanes;
      typename V::Vector sums[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) sums[v] = V::load(pixel + v * V::kWidth);
      for (std::size_t a = 0; a < kAngles; ++a) {
        const double t = start[a] + x * cosines[a];
        const auto before = static_cast<std::ptrdiff_t>(t);
        const auto part = static_cast<float>(t - static_cast<double>(before));
        const auto here = V::everywhere(1 - part), next = V::everywhere(part);
        const float* const value = projections + a * length + static_cast<std::size_t>(before) * kBinLanes;
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[v] = V::fma(here, V::load(value + v * V::kWidth), sums[v]);
          sums[v] = V::fma(next, V::load(value + kBinLanes + v * V::kWidth), sums[v]);
        }
      }
      for (std::size_t v = 0; v < kVectors; ++v) V::store(pixel + v * V::kWidth, sums[v]);
    }
  }
}

template <typename V>
void back_project(const TileTask& task) {
  std::size_t angle = 0;
  for (; angle + kAnglesTogether <= task.angles; angle += kAnglesTogether) {
    back_project_angles<V, kAnglesTogether>(task, angle);
  }
  for (; angle < task.angles; ++angle) back_project_angles<V, 1>(task, angle);
}

template <typename V>
void project_row(const RowTask& task) {
  constexpr std::size_t kVectors = kBinLanes / V::kWidth;
  for (std::size_t column = task.begin; column < task.end; ++column) {
    const double t = task.start + static_cast<double>(column) * task.step;
    const auto before = static_cast<std::ptrdiff_t>(t);
    const auto part = static_cast<float>(t - static_cast<double>(before));
    const auto left = V::everywhere(1 - part), right = V::everywhere(part);
    const float* const pixel = task.pixels + column * kBinLanes;
    float* const value = task.projection + static_cast<std::size_t>(before) * kBinLanes;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto brightness = V::load(pixel + v * V::kWidth);
      float* const first = value + v * V::kWidth;
      V::store(first, V::fma(left, brightness, V::load(first)));
      V::store(first + kBinLanes, V::fma(right, brightness, V::load(first + kBinLanes)));
    }
  }
}

template <typename V>
constexpr LaneLoops loops_of() {
  return {filter<V>, back_project<V>, project_row<V>};
}

}  // namespace
}  // namespace annulus
