#include <annulus/backends/opencl/bound_kernel.hpp>
#include <annulus/backends/opencl/device_fault.hpp>
#include <annulus/tomography/device_arithmetic.hpp>

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace annulus::opencl {
namespace {

constexpr std::size_t kTrials = 1024;  // a multiple of the widest vector

// Arrays of kTrials, one after the other.
struct Trials {
  std::vector<float> floats = std::vector<float>(3 * kTrials);
  std::vector<double> doubles = std::vector<double>(5 * kTrials);

  Trials() {
    std::mt19937_64 random(
        1);  // the same numbers everywhere, as the distributions of the library need not be
    const auto fraction = [&] { return static_cast<double>(random() >> 11U) / 9007199254740992.0; };
    const auto power = [&](int low, int high) {
      const int exponent = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
      return static_cast<float>(std::ldexp((1 + fraction()) * (random() % 2 == 0 ? 1 : -1), exponent));
    };
    for (std::size_t i = 0; i < kTrials; ++i) {
      float a = power(-3, 3), b = power(-3, 3), c = power(-30, 3);
      if (i % 4 == 0) c = -(a * b);  // what is left is what rounding the product would lose
      if (i % 4 == 1) {              // the result is below the least normal number
        a = power(-75, -70);
        b = power(-70, -60);
        c = power(-140, -127);
      }
      if (i % 4 == 2) b = power(-145, -127);
      floats[i] = a;
      floats[i + kTrials] = b;
      floats[i + 2 * kTrials] = c;
      const double turn = 7 * fraction();
      doubles[i] = 600 * fraction();                              // the axis
      doubles[i + kTrials] = std::floor(600 * fraction()) - 300;  // y
      doubles[i + 2 * kTrials] = std::sin(turn);
      doubles[i + 3 * kTrials] = std::floor(600 * fraction()) - 300;  // x
      doubles[i + 4 * kTrials] = std::cos(turn);
    }
  }

  float number(std::size_t array, std::size_t i) const { return floats[array * kTrials + i]; }
  double place(std::size_t array, std::size_t i) const { return doubles[array * kTrials + i]; }
};

template <typename T>
bool same_bits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

}  // namespace

void check_arithmetic(const Device& device, const cl::Program& program, const cl::CommandQueue& queue,
                      const std::shared_ptr<DeviceMemory>& memory) {
  const Trials trials;
  const auto send = [&](const auto& values) {
    DeviceBuffer buffer = memory->allocate(values.size() * sizeof(values[0]), CL_MEM_READ_ONLY);
    queue.enqueueWriteBuffer(buffer.get(), CL_TRUE, 0, values.size() * sizeof(values[0]), values.data());
    return buffer;
  };
  const DeviceBuffer floats = send(trials.floats), doubles = send(trials.doubles);
  const DeviceBuffer fused = memory->allocate(kTrials * sizeof(float), CL_MEM_WRITE_ONLY);
  const DeviceBuffer blended = memory->allocate(kTrials * sizeof(float), CL_MEM_WRITE_ONLY);
  const DeviceBuffer narrowed = memory->allocate(kTrials * sizeof(float), CL_MEM_WRITE_ONLY);
  const DeviceBuffer places = memory->allocate(kTrials * sizeof(double), CL_MEM_WRITE_ONLY);
  const DeviceBuffer violations = send(std::vector<cl_uint>{0});
  BoundKernel bound(program, "try_arithmetic", device.device);
  cl_uint index = 0;
  for (const DeviceBuffer* const in : {&floats, &doubles}) bound.kernel.setArg(index++, in->get());
  bound.kernel.setArg(index++, static_cast<cl_uint>(kTrials));
  for (const DeviceBuffer* const out : {&fused, &blended, &narrowed, &places, &violations})
    bound.kernel.setArg(index++, out->get());
  queue.enqueueNDRangeKernel(bound.kernel, cl::NullRange, cl::NDRange(kTrials), cl::NullRange);

  const auto fetch = [&](const DeviceBuffer& buffer, auto values) {
    queue.enqueueReadBuffer(buffer.get(), CL_TRUE, 0, values.size() * sizeof(values[0]), values.data());
    return values;
  };
  const auto fused_there = fetch(fused, std::vector<float>(kTrials));
  const auto blended_there = fetch(blended, std::vector<float>(kTrials));
  const auto narrowed_there = fetch(narrowed, std::vector<float>(kTrials));
  const auto places_there = fetch(places, std::vector<double>(kTrials));
  const auto compare = [&](const std::string& what, auto there, auto here) {
    if (same_bits(there, here)) return;
    throw device_fault(
        device, fmt::format("it does not compute as the CPU does: {} is {}, not {}", what, there, here),
        "take the direct way, another driver or another device: tomograms would differ");
  };
  for (std::size_t i = 0; i < kTrials; ++i) {
    const float a = trials.number(0, i), b = trials.number(1, i), c = trials.number(2, i);
    compare(fmt::format("{} x {} + {}, rounded once,", a, b, c), fused_there[i], std::fma(a, b, c));
    const float difference = b - a, part = difference * c;
    compare(fmt::format("{0} + ({1} - {0}) x {2}, rounded at every step,", a, b, c), blended_there[i],
            a + part);
    const double across = trials.place(1, i) * trials.place(2, i),
                 along = trials.place(3, i) * trials.place(4, i);
    const double start = trials.place(0, i) - across, place = start + along;
    compare(fmt::format("{} - {} x {} + {} x {} in double precision", trials.place(0, i), trials.place(1, i),
                        trials.place(2, i), trials.place(3, i), trials.place(4, i)),
            places_there[i], place);
    compare(fmt::format("{} in single precision", place), narrowed_there[i], static_cast<float>(place));
  }
}

}  // namespace annulus::opencl
