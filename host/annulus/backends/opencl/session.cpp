#include <annulus/backends/opencl/batch_layout.hpp>
#include <annulus/backends/opencl/device_fault.hpp>
#include <annulus/backends/opencl/program.hpp>
#include <annulus/backends/opencl/session.hpp>
#include <annulus/codecs/block_decoder.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/spread_table.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace annulus::opencl {
namespace {

constexpr std::uint32_t kFirstEntry = 0x80000000u;  // as in kernels/plan.cl

constexpr std::uint64_t kBlockOverhead = 32;  // its length, and what LZ4 adds to bytes that do not compress
constexpr std::uint64_t kSmallBuffers =
    8192;  // the numbers of frames, counts and the like, with their padding

template <typename T>
std::uint64_t bytes_of(const T& values) {
  return values.size() * sizeof(values[0]);
}

struct Interval {
  std::int64_t low = 1;
  std::int64_t high = 0;
};

// The larger of the two intervals that the dummies leave.
Interval plain_values(Interval valid, Interval dummy) {
  if (dummy.low > dummy.high || dummy.low > valid.high || dummy.high < valid.low) return valid;
  const Interval below = {valid.low, dummy.low - 1};
  const Interval above = {dummy.high + 1, valid.high};
  return above.high - above.low >= below.high - below.low ? above : below;
}

}  // namespace

PlanNumbers plan_numbers(const Job& job) {
  const Plan& plan = *job.plan;
  const bool is_unsigned = plan.pixel_type == PixelType::kU32;
  const Interval type = is_unsigned ? Interval{0, std::numeric_limits<std::uint32_t>::max()}
                                    : Interval{std::numeric_limits<std::int32_t>::min(),
                                               std::numeric_limits<std::int32_t>::max()};
  const Interval valid = {std::max(-plan.validity.max_count, type.low),
                          std::min(plan.validity.max_count, type.high)};
  Interval dummy = {std::max(plan.validity.dummy_low, type.low),
                    std::min(plan.validity.dummy_high, type.high)};
  if (dummy.low > dummy.high) dummy = {};
  const Interval plain = plain_values(valid, dummy);

  PlanNumbers numbers;
  numbers.pixels = static_cast<cl_uint>(plan.pixels());
  numbers.bins = plan.bins();
  numbers.entries = static_cast<cl_uint>(plan.matrix.bin.size());
  numbers.has_variance = job.recipe.has_variance() ? 1 : 0;
  numbers.square_shift =
      job.recipe.has_variance() ? static_cast<cl_uint>(2 * plan.weight_bits - plan.variance_bits) : 0;
  numbers.has_dark = plan.dark.empty() ? 0 : 1;
  numbers.low = static_cast<cl_uint>(valid.low);
  numbers.high = static_cast<cl_uint>(valid.high);
  numbers.dummy_low = static_cast<cl_uint>(dummy.low);
  numbers.dummy_high = static_cast<cl_uint>(dummy.high);
  // With all values of 32 bits the last is left out: it is looked at twice and found valid.
  numbers.plain_low = static_cast<cl_uint>(plain.low);
  numbers.plain_count = static_cast<cl_uint>(
      std::clamp<std::int64_t>(plain.high - plain.low + 1, 0, std::numeric_limits<std::uint32_t>::max()));
  return numbers;
}

Session::Session(Device device, const Job& job, SessionSettings settings)
    : device_(std::move(device)),
      job_(job),
      settings_(std::move(settings)),
      numbers_(plan_numbers(job)),
      robust_(robust_numbers(job)) {
  on_device(device_, [&] {
    unified_ = settings_.unified.value_or(device_.device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() != 0);
    context_ = cl::Context(device_.device);
    queue_ = cl::CommandQueue(context_, device_.device);
    memory_ = std::make_shared<DeviceMemory>(context_, device_.device, settings_.memory);
    // What a driver warns of depends on the processor it compiles for, and is no reason to stop at a user's
    // site: without AVX-512 PoCL warns of every built-in function that takes 16 numbers. That the kernels are
    // free of warnings is for tests.
    std::string options = "-cl-std=CL1.2 -w";
    if (plan().pixel_type == PixelType::kU32) options += " -D PIXEL_UNSIGNED";
    if (settings_.check_bounds) options += " -D CHECK_BOUNDS";
    program_ = build_program(context_, device_, kernel_source() + settings_.extra_source, options);
    upload_plan();
  });
  if (settings_.choice) choice_ = *settings_.choice;
}

DeviceBuffer Session::upload(const void* data, std::uint64_t bytes) {
  DeviceBuffer buffer = memory_->allocate(bytes, CL_MEM_READ_ONLY);
  if (bytes > 0) queue_.enqueueWriteBuffer(buffer.get(), CL_TRUE, 0, bytes, data);
  return buffer;
}

void Session::upload_plan() {
  const SparseMatrix& matrix = plan().matrix;
  const std::uint64_t needed = bytes_of(matrix.first) + bytes_of(matrix.bin) + bytes_of(matrix.weight) +
                               bytes_of(plan().normalization) + bytes_of(plan().dark);
  try {
    buffers_.first = upload(matrix.first.data(), bytes_of(matrix.first));
    buffers_.bins = upload(matrix.bin.data(), bytes_of(matrix.bin));
    buffers_.weights = upload(matrix.weight.data(), bytes_of(matrix.weight));
    buffers_.normalization = upload(plan().normalization.data(), bytes_of(plan().normalization));
    buffers_.dark = upload(plan().dark.data(), bytes_of(plan().dark));
  } catch (const OutOfDeviceMemory& error) {
    throw device_fault(
        device_, fmt::format("the plan takes {} bytes, for which it has no room: {}", needed, error.what()),
        "choose a device with more memory, fewer bins or pixels, or `backend` cpu");
  }
}

void Session::upload_rows() {
  if (buffers_.rows.bytes() > 0) return;
  const Plan& plan = *job_.plan;
  const SparseMatrix& matrix = plan.matrix;
  std::vector<std::uint32_t> rows(plan.bins() + std::size_t{1}, 0);
  for (const std::uint32_t bin : matrix.bin) ++rows[bin + 1];
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) rows[bin + 1] += rows[bin];
  std::vector<std::uint32_t> next(rows.begin(), rows.end() - 1);
  std::vector<std::uint32_t> pixels(matrix.bin.size());
  std::vector<std::uint32_t> weights(matrix.bin.size());
  std::vector<std::uint32_t> divisors(is_robust() ? matrix.bin.size() : 0);
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t place = next[matrix.bin[entry]]++;
      pixels[place] = static_cast<std::uint32_t>(pixel);
      weights[place] = matrix.weight[entry] | (entry == matrix.first[pixel] ? kFirstEntry : 0);
      if (is_robust()) divisors[place] = plan.spread->divisor[pixel];
    }
  }
  // All of them or none: what has room alone shall not stay behind.
  DeviceBuffer row_pixels = upload(pixels.data(), bytes_of(pixels));
  DeviceBuffer row_weights = upload(weights.data(), bytes_of(weights));
  DeviceBuffer row_divisors;
  if (is_robust()) row_divisors = upload(divisors.data(), bytes_of(divisors));
  buffers_.rows = upload(rows.data(), bytes_of(rows));
  buffers_.row_pixels = std::move(row_pixels);
  buffers_.row_weights = std::move(row_weights);
  buffers_.row_divisors = std::move(row_divisors);
}

std::uint64_t Session::bytes_of_rows() const {
  const std::uint64_t entries = plan().matrix.bin.size();
  return (is_robust() ? 3 : 2) * DeviceMemory::bytes_for(entries * sizeof(std::uint32_t)) +
         DeviceMemory::bytes_for((plan().bins() + std::uint64_t{1}) * sizeof(std::uint32_t));
}

// The memory that is left once a choice is taken.
std::uint64_t Session::left_beside(const Choice& choice) const {
  const std::uint64_t left = memory_->left() + (buffers_.rows.bytes() > 0 ? bytes_of_rows() : 0);
  const std::uint64_t rows = choice.method == Method::kRows ? bytes_of_rows() : 0;
  return left - std::min(left, rows);
}

// Of a frame, with what its clip needs.
std::uint64_t Session::result_bytes() const {
  const std::uint64_t bins = plan().bins();
  if (!is_robust()) return bins * sizeof(std::int64_t) * quantities();
  const std::uint64_t keys = robust_.by_rank ? plan().matrix.bin.size() * sizeof(std::int64_t) : 0;
  const std::uint64_t outliers = job_.list_outliers ? (plan().pixels() + 31) / 32 * sizeof(cl_uint) : 0;
  return bins * (sizeof(std::int64_t) * robust_.words + sizeof(ClipWindow)) + keys + outliers;
}

std::uint64_t Session::batch_bytes(std::size_t frames, const Choice& choice, Codec codec) const {
  const std::uint64_t pixels = plan().pixels();
  const PixelType type = needs_quantising(plan().pixel_type) ? PixelType::kI32 : plan().pixel_type;
  const std::uint64_t bytes = pixels * size_of(type);
  std::uint64_t payload = round_up(bytes, kAlignment);
  std::uint64_t decoding = 0;
  if (codec == Codec::kByteOffset) {
    const std::uint64_t segments = payload / choice.segment_bytes + 1;
    decoding = segments * kStates * (sizeof(cl_ulong) + sizeof(cl_uint)) +
               (segments + 1) * (sizeof(cl_ulong) + 2 * sizeof(cl_uint));
  } else if (has_blocks(codec)) {
    const std::uint64_t blocks = bytes / default_block_bytes(size_of(type)) + 2;
    decoding = payload + blocks * kBlockNumbers * sizeof(cl_ulong);
    payload += bytes / 255 + blocks * kBlockOverhead;  // at worst: what does not compress
  }
  if (!unified_) payload *= 2;  // what is sent lies in memory of the host as well
  const std::uint64_t band =
      choice.method == Method::kRows ? pixels : std::min<std::uint64_t>(pixels, choice.band_pixels);
  const std::uint64_t results = result_bytes();
  const std::uint64_t partial =
      choice.method == Method::kLanes ? choice.items * kLanes * (results + sizeof(cl_uint)) : 0;
  return frames * (payload + decoding + round_up(band, kLanes) * sizeof(std::int32_t) + results) + partial +
         kSmallBuffers;
}

bool Session::can(const Choice& choice, Codec codec) const {
  const std::uint64_t local = device_.device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  const std::uint64_t most_items = device_.device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  const std::uint64_t bins = plan().bins();
  // Groups are made no larger than the device takes.
  const std::uint64_t join_group = std::min<std::uint64_t>(choice.join_group, most_items);
  const std::uint64_t group = std::min<std::uint64_t>(choice.group, most_items);
  if (join_group * kStates * 2 * sizeof(cl_ulong) > local) return false;
  if (batch_bytes(1, choice, codec) > left_beside(choice)) return false;
  if (is_robust() && (choice.method != Method::kRows || result_bytes() > memory_->largest_buffer()))
    return false;
  switch (choice.method) {
    case Method::kLanes:
      return bins * choice.items * kLanes * sizeof(std::int64_t) * (2 + numbers_.has_dark) <=
             memory_->largest_buffer();
    case Method::kRows:
      return group * 4 * sizeof(std::int64_t) <= local &&
             plan().pixels() * sizeof(std::int32_t) <= memory_->largest_buffer();
    case Method::kLocal:
      break;
  }
  return bins * sizeof(std::int64_t) * (1 + numbers_.has_variance) + 1024 <= local;
}

void Session::take(const Choice& choice) {
  if (choice.method == Method::kRows) {
    on_device(device_, [&] { upload_rows(); });
  } else {
    buffers_.rows = {};
    buffers_.row_pixels = {};
    buffers_.row_weights = {};
    buffers_.row_divisors = {};
  }
  choice_ = choice;
}

unsigned Session::share_memory(unsigned wanted) {
  const std::uint64_t least = batch_bytes(1, choice_, Codec::kRaw);
  const std::uint64_t most =
      std::max(batch_bytes(1, choice_, Codec::kByteOffset), batch_bytes(1, choice_, Codec::kBitshuffleLz4));
  const std::uint64_t left = memory_->left();
  if (least > left) {
    throw device_fault(
        device_, fmt::format("a single frame takes {} bytes beside the plan, and {} are left", least, left),
        "choose a device with more memory, or `backend` cpu");
  }
  const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(left / most, 1, wanted));
  share_ = left / threads;
  return threads;
}

std::size_t Session::frames_at_once(std::uint64_t bytes, Codec codec) const {
  std::size_t frames = kLanes;
  while (frames > 1 && batch_bytes(frames, choice_, codec) > bytes) --frames;
  return frames;
}

}  // namespace annulus::opencl
