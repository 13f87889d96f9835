#include <annulus/backends/fpga/kernel_launch.hpp>

#include <hls/kernels.hpp>

namespace annulus {

LaunchSums call_kernel(const DevicePlan& plan, Codec codec, PixelType type, const PackedFrames& frames) {
  const auto count = static_cast<std::uint32_t>(frames.descriptors.size());
  LaunchSums sums;
  sums.results.resize(std::size_t{count} * kernels::result_beats_of(plan.bins));
  sums.missing.resize(std::size_t{count} * kernels::missing_beats_of(plan.bins));
  const auto call = [&](auto kernel, auto... raw) {
    kernel(frames.descriptors.data(), frames.payloads.data(), plan.table[0].data(), plan.table[1].data(),
           plan.table[2].data(), plan.table[3].data(), plan.corrections.data(), sums.results.data(),
           sums.missing.data(), count, plan.pixels, plan.bins, plan.beats, plan.weight_bits,
           plan.variance_bits, plan.lowest, plan.highest, plan.dummy_lowest, plan.dummy_highest, raw...);
  };
  const RawPixels pixels = raw_pixels(type);
  if (codec == Codec::kByteOffset) {
    call(reduce_byte_offset);
  } else {
    call(codec == Codec::kBitshuffleLz4 ? reduce_bslz4 : reduce_raw, pixels.shift, pixels.is_signed);
  }
  return sums;
}

}  // namespace annulus
