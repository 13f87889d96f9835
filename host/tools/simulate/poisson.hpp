// Counting noise that depends on (seed, frame, pixel) alone: not on threads, order or machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace annulus {

// The finaliser of splitmix64: a bijection of 64 bits that passes the usual batteries on a counter.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 31;
  return x;
}

// An endless stream of random bits for one (key, counter): two streams are as independent as two seeds.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t key, std::uint64_t counter) : state_(scramble(key + counter * kGolden)) {}

  // The key of a frame's streams; also of anything else that is numbered.
  static std::uint64_t key(std::uint64_t seed, std::uint64_t number) {
    return scramble(scramble(seed + kGolden) ^ (number * kGolden + 0x632be59bd9b4e019u));
  }

  std::uint64_t bits() { return scramble(state_ += kGolden); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  std::uint64_t state_;
};

// Poisson variates by the sum rule: mean = 16 a + b / 16 + rest with integers a, b < 256 and rest < 1/16.
// The first two parts are looked up in tables of the distribution's 2^32 quantiles, so that each probability
// is exact to 2^-32; the rest is drawn by inversion. From 4096 on, Hoermann's transformed rejection (PTRS,
// 1993), which is exact too.
class PoissonSampler {
 public:
  static const PoissonSampler& instance();  // tables are built once, on first use

  // mean >= 0 and at most 2^40; a mean that is not a number gives 0.
  std::int64_t draw(double mean, CounterRandom& random) const;

 private:
  // Where u (32 uniform bits) falls: the count k is the first with u <= last[k]. A guide by u's leading
  // byte makes the search start at most a few steps below.
  struct Table {
    std::uint32_t begin;  // index in quantiles_ of the count `smallest`
    std::uint32_t smallest;
  };
  static constexpr unsigned kGuideBits = 8;

  PoissonSampler();
  Table build(double mean);
  std::uint32_t look_up(unsigned table, std::uint32_t u) const {
    std::uint32_t k = guides_[(std::size_t{table} << kGuideBits) + (u >> (32 - kGuideBits))];
    const std::uint32_t* last = quantiles_.data() + tables_[table].begin;
    while (u > last[k]) ++k;
    return tables_[table].smallest + k;
  }

  std::vector<Table> tables_;  // 256 for b / 16, then 256 for 16 a
  std::vector<std::uint32_t> quantiles_;
  std::vector<std::uint16_t> guides_;
};

}  // namespace annulus
