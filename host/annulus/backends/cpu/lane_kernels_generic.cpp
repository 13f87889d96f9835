#include <annulus/backends/cpu/lane_spread_impl.hpp>
#include <annulus/backends/cpu/single_lane_impl.hpp>

namespace annulus {
namespace {

// Loops of fixed length that a compiler turns into whatever vectors its target has.
struct Generic {
  static constexpr std::size_t kLanes = 8;
  struct Int {
    std::int32_t lane[kLanes];
  };
  struct Wide {
    std::uint64_t lane[kLanes / 2];  // unsigned: sums may pass through anything and end right
  };

  static Int load(const std::int32_t* at) {
    return each<Int>([&](std::size_t i) { return at[i]; });
  }
  static void store(std::int32_t* at, const Int& value) {
    for (std::size_t i = 0; i < kLanes; ++i) at[i] = value.lane[i];
  }
  static Int add(const Int& a, const Int& b) {
    return each<Int>([&](std::size_t i) { return a.lane[i] + b.lane[i]; });
  }
  static Int min(const Int& a, const Int& b) {
    return each<Int>([&](std::size_t i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Int max(const Int& a, const Int& b) {
    return each<Int>([&](std::size_t i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Int everywhere(std::int32_t value) {
    return each<Int>([&](std::size_t) { return value; });
  }
  static bool any_outside(const Int& value, const Int& low, const Int& high) {
    int outside = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      outside |=
          static_cast<int>(value.lane[i] < low.lane[i]) | static_cast<int>(value.lane[i] > high.lane[i]);
    }
    return outside != 0;
  }
  static Int odd_lanes(const Int& value) {
    return each<Int>([&](std::size_t i) { return value.lane[i | 1]; });
  }

  static Wide zero() { return {}; }
  static Wide load_wide(const std::int64_t* at) {
    return each<Wide>([&](std::size_t i) { return static_cast<std::uint64_t>(at[i]); });
  }
  static void store_wide(std::int64_t* at, const Wide& value) {
    for (std::size_t i = 0; i < kLanes / 2; ++i) at[i] = static_cast<std::int64_t>(value.lane[i]);
  }
  static Wide add_wide(const Wide& a, const Wide& b) {
    return each<Wide>([&](std::size_t i) { return a.lane[i] + b.lane[i]; });
  }
  static Wide subtract_wide(const Wide& a, const Wide& b) {
    return each<Wide>([&](std::size_t i) { return a.lane[i] - b.lane[i]; });
  }
  static Wide multiply_signed(const Int& value, std::uint32_t factor) {
    const auto signed_factor = static_cast<std::int32_t>(factor);
    return each<Wide>([&](std::size_t i) {
      return static_cast<std::uint64_t>(std::int64_t{value.lane[2 * i]} * signed_factor);
    });
  }
  static Wide multiply_unsigned(const Int& value, std::uint32_t factor) {
    return each<Wide>(
        [&](std::size_t i) { return std::uint64_t{static_cast<std::uint32_t>(value.lane[2 * i])} * factor; });
  }
  static Wide multiply_lanes(const Int& a, const Int& b) {
    return each<Wide>([&](std::size_t i) {
      return static_cast<std::uint64_t>(std::int64_t{a.lane[2 * i]} * b.lane[2 * i]);
    });
  }
  template <int kBits>
  static Wide low_bits(const Wide& value) {
    return each<Wide>([&](std::size_t i) { return value.lane[i] & ((std::uint64_t{1} << kBits) - 1); });
  }
  template <int kBits>
  static Wide shift_right(const Wide& value) {
    return each<Wide>([&](std::size_t i) { return value.lane[i] >> kBits; });
  }
  static Int as_int(const Wide& value) {
    return each<Int>([&](std::size_t i) {
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(value.lane[i / 2] >> (32 * (i % 2))));
    });
  }

  struct Float {
    float lane[kLanes];
  };
  using Where = int;
  static Float load_float(const float* at) {
    return each<Float>([&](std::size_t i) { return at[i]; });
  }
  static Where nowhere() { return 0; }
  static Where also_outside(Where where, const Int& value, float divisor, const Float& low,
                            const Float& high) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const auto number = static_cast<float>(value.lane[i]);
      where |= static_cast<int>(number < low.lane[i] * divisor) |
               static_cast<int>(number > high.lane[i] * divisor);
    }
    return where;
  }
  static bool anywhere(Where where) { return where != 0; }

 private:
  template <typename Vector, typename F>
  static Vector each(F&& f) {
    Vector result;
    for (std::size_t i = 0; i < std::size(result.lane); ++i) result.lane[i] = f(i);
    return result;
  }
};

void interleave_rows(const std::int32_t* rows, std::size_t stride, std::size_t count, std::int32_t* values) {
  for (std::size_t pixel = 0; pixel < count; ++pixel) {
    for (std::size_t lane = 0; lane < Generic::kLanes; ++lane) {
      values[pixel * Generic::kLanes + lane] = rows[lane * stride + pixel];
    }
  }
}

}  // namespace

extern const LaneKernels kLaneKernelsGeneric = {
    Generic::kLanes,          interleave_rows,     find_extremes<Generic>, find_outside<Generic>,
    integrate_lanes<Generic>, add_spread<Generic>, find_doubtful<Generic>};

extern const LaneKernels kSingleLaneKernelsGeneric = kSingleLane;

}  // namespace annulus
