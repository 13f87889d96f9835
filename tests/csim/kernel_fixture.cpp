#include "kernel_fixture.hpp"

#include <annulus/backends/fpga/kernel_launch.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace annulus::testing {
namespace {

Plan empty_plan(Shape shape, std::uint32_t bins, PixelType type) {
  Plan plan;
  plan.shape = shape;
  plan.pixel_type = type;
  plan.axes.emplace_back().centres.resize(bins);
  plan.weight_bits = 23;
  plan.variance_bits = kernels::kVariance ? 31 : 0;
  plan.validity = {-3, -1, 1 << 20};
  return plan;
}

// The arrays of a plan while they grow.
struct PlanArrays {
  std::vector<std::uint32_t> first{0}, bin, weight;
  std::vector<std::int32_t> normalization, dark;

  void move_to(Plan& plan) {
    plan.matrix = {std::move(first), std::move(bin), std::move(weight)};
    plan.normalization = std::move(normalization);
    plan.dark = std::move(dark);
  }
};

// `count` different bins, ascending, close together.
std::vector<std::uint32_t> choose_bins(std::uint32_t bins, std::uint32_t count, std::mt19937_64& random) {
  const std::uint32_t spread = std::min<std::uint32_t>(bins, count > 3 ? count + count / 4 + 1 : count);
  const std::uint32_t first = static_cast<std::uint32_t>(random() % (bins - spread + 1));
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t bin = 0; bin < spread; ++bin) chosen.push_back(first + bin);
  while (chosen.size() > count)
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(random() % chosen.size()));
  return chosen;
}

std::vector<const Frame*> pointers_to(const std::vector<Frame>& frames) {
  std::vector<const Frame*> pointers;
  for (const Frame& frame : frames) pointers.push_back(&frame);
  return pointers;
}

}  // namespace

Plan random_plan(const PlanShape& shape, std::mt19937_64& random) {
  Plan plan = empty_plan(shape.shape, shape.bins, shape.type);
  plan.weight_bits = 12 + static_cast<int>(random() % 12);
  if (kernels::kVariance)
    plan.variance_bits = std::min(31, 2 * plan.weight_bits - static_cast<int>(random() % 4));
  const std::uint32_t whole = std::uint32_t{1} << plan.weight_bits;
  PlanArrays arrays;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    const bool used = static_cast<double>(random() % 1000) >= 1000 * shape.unused_share;
    const auto widest = std::min(shape.widest, shape.bins);
    const auto count = used ? 1 + static_cast<std::uint32_t>(random() % widest) : 0;
    std::uint32_t left = whole;
    if (used) {
      const auto chosen = choose_bins(shape.bins, count, random);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const std::uint32_t share = 1 + static_cast<std::uint32_t>(random() % (2 * left / count));
        const auto most = left - static_cast<std::uint32_t>(chosen.size() - 1 - i);
        const std::uint32_t weight = i + 1 == chosen.size() ? left : std::min(share, most);
        arrays.bin.push_back(chosen[i]);
        arrays.weight.push_back(weight);
        left -= weight;
      }
    }
    arrays.first.push_back(static_cast<std::uint32_t>(arrays.bin.size()));
    arrays.normalization.push_back(used ? static_cast<std::int32_t>(random() >> 34) : 0);
    arrays.dark.push_back(used ? static_cast<std::int32_t>(random() >> 33) - (1 << 30) : 0);
  }
  arrays.move_to(plan);
  return plan;
}

Plan single_bin_plan(Shape shape, std::uint32_t bins, const std::vector<std::uint32_t>& bin_of_pixel) {
  Plan plan = empty_plan(shape, bins, PixelType::kI32);
  PlanArrays arrays;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    arrays.bin.push_back(bin_of_pixel[pixel]);
    arrays.weight.push_back(std::uint32_t{1} << plan.weight_bits);
    arrays.first.push_back(static_cast<std::uint32_t>(pixel + 1));
    arrays.normalization.push_back(static_cast<std::int32_t>(pixel) + 1);
  }
  arrays.move_to(plan);
  return plan;
}

RawLaunch launch_raw(const Plan& plan, const std::vector<Frame>& frames, annulus_sim::Launch& launch) {
  RawLaunch launched{pack_plan(plan, kRecipe, "csim"), pack_frames(pointers_to(frames)), {}};
  PackedFrames& payloads = launched.packed;
  // What follows a payload in its last beat must not matter.
  for (std::size_t i = 0; i < frames.size(); ++i) {
    auto* const bytes =
        reinterpret_cast<std::uint8_t*>(payloads.payloads.data() + payloads.descriptors[i].first_beat);
    const std::uint32_t used = payloads.descriptors[i].bytes;
    std::fill(bytes + used, bytes + std::size_t{kernels::beats_of(used)} * kernels::kBeatBytes,
              std::uint8_t{0x80});
  }
  const Codec codec = frames.empty() ? Codec::kRaw : frames.front().codec;
  const PixelType type = frames.empty() ? PixelType::kI32 : frames.front().type;
  launch.run([&] { launched.sums = call_kernel(launched.plan, codec, type, payloads); });
  return launched;
}

std::string fault_of(const RawLaunch& launched, const std::vector<Frame>& frames) {
  return launch_fault(launched.plan, pointers_to(frames), launched.packed.descriptors, launched.sums);
}

std::vector<FrameResult> launch_frames(const Plan& plan, const std::vector<Frame>& frames,
                                       annulus_sim::Launch& launch) {
  const RawLaunch launched = launch_raw(plan, frames, launch);
  EXPECT_EQ(fault_of(launched, frames), "");
  std::vector<FrameResult> results;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    results.push_back(unpack_result(plan, kRecipe, frames[i],
                                    &launched.sums.results[i * kernels::result_beats_of(plan.bins())],
                                    &launched.sums.missing[i * kernels::missing_beats_of(plan.bins())]));
  }
  return results;
}

std::vector<FrameResult> launch_frames(const Plan& plan, const std::vector<Frame>& frames) {
  annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
  return launch_frames(plan, frames, launch);
}

}  // namespace annulus::testing
