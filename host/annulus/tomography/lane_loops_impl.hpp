// The loops of lane_loops.hpp over a kind of vector. Each file that includes this is compiled for its own
// instruction set, so nothing here may be shared with other files: everything is in an unnamed namespace, and
// no function of the standard library is used.
#pragma once

#include <annulus/tomography/gridding_kernel.hpp>
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
      float* const out = task.out + (row + kStep * r) * task.out_step * kBinLanes + lane;
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

// What a pixel takes of the values before and after it. Joseph's rule: a line crosses the rows (or columns)
// that it is steeper to, and takes of each by linear interpolation between two pixels. Seen from a pixel,
// that is a triangle of the area 1, `height` high.
struct Shares {
  float before, after;
};
inline Shares linear_shares(float part) { return {1 - part, part}; }
inline Shares joseph_shares(float part, float height) {
  const float slope = height * height;
  const float before = height - part * slope, after = height - (1 - part) * slope;
  return {before > 0 ? before : 0, after > 0 ? after : 0};
}

template <std::size_t kTaps>
struct TapShares {
  float tap[kTaps];
};

// Of a gridding kernel, where `part` is from 0 to 1.
template <std::size_t kTaps>
TapShares<kTaps> kernel_shares(const float* table, double part) {
  const double at = part * GriddingKernel::kSteps;
  const auto step = static_cast<std::ptrdiff_t>(at);
  const float* const low = table + static_cast<std::size_t>(step) * kTaps;
  const float* const high = low + (step < static_cast<std::ptrdiff_t>(GriddingKernel::kSteps) ? kTaps : 0);
  const auto rest = static_cast<float>(at - static_cast<double>(step));
  TapShares<kTaps> shares;
  for (std::size_t k = 0; k < kTaps; ++k) shares.tap[k] = low[k] + (high[k] - low[k]) * rest;
  return shares;
}

// How a pixel takes of a projection.
enum class Taking { kLinear, kJoseph, kKernel };

template <Taking kTaking>
constexpr std::size_t kTapsOf = kTaking == Taking::kKernel ? kBandTaps : 2;

template <Taking kTaking>
TapShares<kTapsOf<kTaking>> shares_of(const TileTask& task, std::size_t angle, double part) {
  if constexpr (kTaking == Taking::kKernel) {
    static_cast<void>(angle);
    return kernel_shares<kBandTaps>(task.kernel, part);
  } else {
    const auto share = static_cast<float>(part);
    const Shares two =
        kTaking == Taking::kJoseph ? joseph_shares(share, task.heights[angle]) : linear_shares(share);
    return {two.before, two.after};
  }
}

template <typename V, std::size_t kAngles, Taking kTaking>
void back_project_angles(const TileTask& task, std::size_t angle) {
  constexpr std::size_t kVectors = kBinLanes / V::kWidth, kTaps = kTapsOf<kTaking>;
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
        const auto shares = shares_of<kTaking>(task, angle + a, t - static_cast<double>(before));
        const std::size_t first = static_cast<std::size_t>(before) - (kTaps / 2 - 1);
        const float* const value = projections + a * length + first * kBinLanes;
        for (std::size_t k = 0; k < kTaps; ++k) {
          const auto share = V::everywhere(shares.tap[k]);
          for (std::size_t v = 0; v < kVectors; ++v) {
            sums[v] = V::fma(share, V::load(value + k * kBinLanes + v * V::kWidth), sums[v]);
          }
        }
      }
      for (std::size_t v = 0; v < kVectors; ++v) V::store(pixel + v * V::kWidth, sums[v]);
    }
  }
}

template <typename V, Taking kTaking>
void back_project_all(const TileTask& task) {
  std::size_t angle = 0;
  for (; angle + kAnglesTogether <= task.angles; angle += kAnglesTogether) {
    back_project_angles<V, kAnglesTogether, kTaking>(task, angle);
  }
  for (; angle < task.angles; ++angle) back_project_angles<V, 1, kTaking>(task, angle);
}

template <typename V>
void back_project(const TileTask& task) {
  if (task.kernel != nullptr) {
    back_project_all<V, Taking::kKernel>(task);
  } else if (task.heights != nullptr) {
    back_project_all<V, Taking::kJoseph>(task);
  } else {
    back_project_all<V, Taking::kLinear>(task);
  }
}

template <typename V>
void project_row(const RowTask& task) {
  constexpr std::size_t kVectors = kBinLanes / V::kWidth;
  for (std::size_t column = task.begin; column < task.end; ++column) {
    const double t = task.start + static_cast<double>(column) * task.step;
    const auto before = static_cast<std::ptrdiff_t>(t);
    const auto part = static_cast<float>(t - static_cast<double>(before));
    const Shares shares = joseph_shares(part, task.height);
    const auto left = V::everywhere(shares.before), right = V::everywhere(shares.after);
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

constexpr std::size_t kSpectrumValues = 2 * kSpectrumLanes;

template <typename V>
void add_to_point(float* point, float share, const float* values) {
  const auto shares = V::everywhere(share);
  for (std::size_t v = 0; v < kSpectrumValues; v += V::kWidth) {
    V::store(point + v, V::fma(shares, V::load(values + v), V::load(point + v)));
  }
}

// A value near an edge of the half that is stored. Beyond the edge lies the conjugate of the other side; on
// it are both.
template <typename V>
void add_beside_edge(const SpreadTask& task, std::ptrdiff_t x, std::size_t y, float share,
                     const float* values, const float* conjugates) {
  const auto size = static_cast<std::ptrdiff_t>(task.size);
  const std::size_t length = (task.size / 2 + 1) * kSpectrumValues;
  const std::size_t behind = y == 0 ? 0 : task.size - y;
  const std::ptrdiff_t inside = x < 0 ? -x : (x > size / 2 ? size - x : x);
  const std::size_t at = static_cast<std::size_t>(inside) * kSpectrumValues;
  if (inside == x) add_to_point<V>(task.grid + y * length + at, share, values);
  if (inside != x || x == 0 || x == size / 2)
    add_to_point<V>(task.grid + behind * length + at, share, conjugates);
}

template <typename V>
void spread(const SpreadTask& task) {
  constexpr std::size_t kVectors = kSpectrumValues / V::kWidth;
  const auto size = static_cast<std::ptrdiff_t>(task.size),
             before = static_cast<std::ptrdiff_t>(kGridTaps / 2 - 1);
  const std::size_t length = (task.size / 2 + 1) * kSpectrumValues;
  for (std::size_t i = 0; i < task.count; ++i) {
    const double x = static_cast<double>(i) * task.x_step, y = static_cast<double>(i) * task.y_step;
    const auto column = static_cast<std::ptrdiff_t>(x);
    const auto rounded = static_cast<std::ptrdiff_t>(y);
    const std::ptrdiff_t row = rounded - (static_cast<double>(rounded) > y ? 1 : 0);
    const auto across = kernel_shares<kGridTaps>(task.kernel, x - static_cast<double>(column));
    const auto along = kernel_shares<kGridTaps>(task.kernel, y - static_cast<double>(row));
    const float* const values = task.values + i * kSpectrumValues;
    const std::ptrdiff_t first = column - before;
    const bool inside = first > 0 && first + static_cast<std::ptrdiff_t>(kGridTaps) <= size / 2;
    float conjugates[kSpectrumValues];
    if (!inside) {
      for (std::size_t v = 0; v < kSpectrumValues; ++v) conjugates[v] = v % 2 == 0 ? values[v] : -values[v];
    }
    for (std::size_t k = 0; k < kGridTaps; ++k) {
      const std::ptrdiff_t line = row - before + static_cast<std::ptrdiff_t>(k);
      const auto wrapped =
          static_cast<std::size_t>(line < 0 ? line + size : (line >= size ? line - size : line));
      if (!inside) {
        for (std::size_t m = 0; m < kGridTaps; ++m) {
          add_beside_edge<V>(task, first + static_cast<std::ptrdiff_t>(m), wrapped,
                             along.tap[k] * across.tap[m], values, conjugates);
        }
        continue;
      }
      float* const points = task.grid + wrapped * length + static_cast<std::size_t>(first) * kSpectrumValues;
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto value = V::load(values + v * V::kWidth);
        for (std::size_t m = 0; m < kGridTaps; ++m) {
          float* const point = points + m * kSpectrumValues + v * V::kWidth;
          V::store(point, V::fma(V::everywhere(along.tap[k] * across.tap[m]), value, V::load(point)));
        }
      }
    }
  }
}

template <typename V>
constexpr LaneLoops loops_of() {
  return {filter<V>, back_project<V>, project_row<V>, spread<V>};
}

}  // namespace
}  // namespace annulus
