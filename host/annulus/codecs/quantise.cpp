#include <annulus/codecs/float_blocks.hpp>
#include <annulus/codecs/quantise.hpp>
#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace annulus {
namespace {

constexpr std::int32_t kInvalid = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLargest = kInvalid - 1;  // what a plan's max_count allows
constexpr std::int32_t kBase = 1 << kLayerBits;
constexpr double kLeastForCounting = 0x1p-10;

std::string name_of_pixel(const Frame& frame, std::size_t pixel) {
  return fmt::format("row {}, column {}", pixel / frame.shape.cols, pixel % frame.shape.cols);
}

template <typename Pixel>
[[noreturn]] void refuse_range(const Frame& frame, const FloatValidity& validity, int bits) {
  std::size_t largest = 0;
  std::size_t finest = 0;
  double most = 0;
  int low = std::numeric_limits<int>::max();
  for_each_block<Pixel>(frame, validity, [&](const Block<Pixel>& block) {
    for (std::size_t i = 0; i < block.count; ++i) {
      const auto value = static_cast<double>(block.values[i]);
      if (value == 0) continue;
      ExtentBits<double> alone;
      alone.add(&value, 1);
      if (std::abs(value) > most) {
        most = std::abs(value);
        largest = block.first + i;
      }
      if (alone.extent().low < low) {
        low = alone.extent().low;
        finest = block.first + i;
      }
    }
  });
  const auto value_at = [&](std::size_t pixel) {
    Pixel value;
    std::memcpy(&value, frame.payload.data() + pixel * sizeof(Pixel), sizeof(Pixel));
    return value;
  };
  constexpr int kMostBits = kMostLayers * kLayerBits;
  if (std::ilogb(most) >= kMostBits) {
    throw Error(
        ErrorKind::kInput, describe(frame),
        fmt::format("pixel at {} is {}, which is far beyond any count: values from {:.1e} on are refused",
                    name_of_pixel(frame, largest), value_at(largest), std::ldexp(1.0, kMostBits)),
        "exclude it with `max_count`, `dummy` or `mask`, or see why it is there");
  }
  throw Error(
      ErrorKind::kInput, describe(frame),
      fmt::format(
          "pixel at {} is {} and pixel at {} is {}: to hold both exactly takes {} bits, and {} is the "
          "limit",
          name_of_pixel(frame, largest), value_at(largest), name_of_pixel(frame, finest), value_at(finest),
          bits, kMostBits),
      "exclude the large one with `max_count`, or the small one with `dummy` 0 and a `delta_dummy`, or give "
      "the frames as float32");
}

// How the values of a frame become layers.
struct Layering {
  int fraction_bits = 0;
  int layers = 1;
  int counted = -1;  // the layer that holds one count; -1: nobody asks

  int marked() const { return counted >= 0 ? counted : layers - 1; }  // the last is never all zeros
  std::int32_t one_count() const { return 1 << (fraction_bits - counted * kLayerBits); }
};

template <typename Pixel>
Layering choose_layering(const Frame& frame, const FloatValidity& validity, bool with_variance) {
  const Extent extent = extent_of<Pixel>(frame, validity);
  if (with_variance && extent.largest > 0 && extent.largest < kLeastForCounting) {
    throw Error(
        ErrorKind::kInput, describe(frame),
        fmt::format("its largest value is {}: far below one count, where counting statistics mean nothing",
                    extent.largest),
        "integrate with `error_model` no, or give frames in counts");
  }
  Layering chosen;
  if (extent.low < 0) chosen.fraction_bits = -extent.low;
  const int fraction_bits = chosen.fraction_bits;
  if (with_variance) chosen.counted = fraction_bits / kLayerBits;
  const bool one_is_enough = !with_variance || fraction_bits < kLayerBits;
  if (one_is_enough && std::ldexp(extent.largest, fraction_bits) <= kLargest) return chosen;
  const int bits = fraction_bits + (with_variance ? std::max(extent.high, 1) : extent.high);
  chosen.layers = (bits + kLayerBits - 1) / kLayerBits;
  if (chosen.layers > kMostLayers) refuse_range<Pixel>(frame, validity, bits);
  return chosen;
}

// The layers of a frame while they are filled.
class Layers {
 public:
  Layers(const Frame& frame, const Layering& layering) : layering_(layering) {
    for (int k = 0; k < layering.layers; ++k) {
      memory_.push_back(frame_memory().take(frame.shape.size() * sizeof(std::int32_t)));
    }
  }

  std::int32_t* digits(int layer, std::size_t pixel) {
    return reinterpret_cast<std::int32_t*>(memory_[static_cast<std::size_t>(layer)].get()) + pixel;
  }

  // Digits as variances need them, and marks where a pixel is invalid.
  template <typename Pixel>
  void finish(const Block<Pixel>& block) {
    if (layering_.counted > 0) round_up_below_one(block);
    if (layering_.counted >= 0 && layering_.counted + 1 < layering_.layers) lend_to_counted(block);
    std::int32_t* const marked = digits(layering_.marked(), block.first);
    for (std::size_t i = 0; i < block.count; ++i) marked[i] = block.valid[i] != 0 ? marked[i] : kInvalid;
    for (int layer = 0; layer < layering_.layers; ++layer) {
      std::int32_t any = 0;
      const std::int32_t* const all = digits(layer, block.first);
      for (std::size_t i = 0; i < block.count; ++i) any |= all[i];
      if (any != 0) filled_ |= 1u << layer;
    }
  }

  std::vector<Frame> take(const Frame& frame) {
    std::vector<Frame> taken;
    const auto add = [&](int layer) {
      taken.push_back(frame);
      taken.back().type = PixelType::kI32;
      taken.back().fraction_bits = layering_.fraction_bits - layer * kLayerBits;
      const std::span pixels(digits(layer, 0), frame.shape.size());
      taken.back().payload = Bytes(memory_[static_cast<std::size_t>(layer)], std::as_bytes(pixels));
    };
    add(layering_.marked());
    for (int layer = 0; layer < layering_.layers; ++layer) {
      if (layer != layering_.marked() && (filled_ >> layer & 1u) != 0) add(layer);
    }
    return taken;
  }

 private:
  // Values below one count: what is positive below the counted layer gets negative digits, and the counted
  // digit one more.
  template <typename Pixel>
  void round_up_below_one(const Block<Pixel>& block) {
    std::array<std::int32_t, kBlock> below;
    std::array<std::int32_t, kBlock> carry{};
    for (std::size_t i = 0; i < block.count; ++i) below[i] = block.values[i] < 1 ? 1 : 0;
    for (int layer = 0; layer < layering_.counted; ++layer) {
      std::int32_t* const all = digits(layer, block.first);
      for (std::size_t i = 0; i < block.count; ++i) {
        const std::int32_t digit = all[i] + carry[i];
        carry[i] = digit > 0 ? below[i] : 0;
        all[i] = digit - carry[i] * kBase;
      }
    }
    std::int32_t* const counted = digits(layering_.counted, block.first);
    for (std::size_t i = 0; i < block.count; ++i) counted[i] += carry[i];
  }

  // Values of at least one count whose counted digit is less: it gets one of the next layer, which has it
  // from the one above if it has none itself.
  template <typename Pixel>
  void lend_to_counted(const Block<Pixel>& block) {
    const std::int32_t one = layering_.one_count();
    const int last = layering_.layers - 1;
    std::int32_t* const counted = digits(layering_.counted, block.first);
    for (std::size_t i = 0; i < block.count; ++i) {
      if (!(block.values[i] >= 1 && counted[i] < one)) continue;
      const std::size_t pixel = block.first + i;
      int lender = layering_.counted + 1;
      while (lender < last && *digits(lender, pixel) == 0) *digits(lender++, pixel) = kBase - 1;
      --*digits(lender, pixel);
      counted[i] += kBase;
    }
  }

  Layering layering_;
  std::vector<std::shared_ptr<std::byte[]>> memory_;
  std::uint32_t filled_ = 0;  // by layer: whether a digit is not 0
};
static_assert(kMostLayers <= 32);

// From the highest digit to the lowest. Each step is exact: what is left of a value is a part of its own
// bits.
template <typename Pixel>
void split_floats(const Block<Pixel>& block, const Layering& layering, Layers& layers) {
  std::array<double, kBlock> left;
  // In two steps, because the power alone may be beyond the doubles.
  const int power = layering.fraction_bits - (layering.layers - 1) * kLayerBits;
  const double half = std::ldexp(1.0, power / 2);
  const double rest = std::ldexp(1.0, power - power / 2);
  for (std::size_t i = 0; i < block.count; ++i) {
    left[i] = static_cast<double>(block.values[i]) * half * rest;
  }
  for (int layer = layering.layers - 1; layer >= 0; --layer) {
    std::int32_t* const digits = layers.digits(layer, block.first);
    for (std::size_t i = 0; i < block.count; ++i) digits[i] = static_cast<std::int32_t>(left[i]);
    if (layer == 0) break;
    for (std::size_t i = 0; i < block.count; ++i) left[i] = (left[i] - digits[i]) * kBase;
  }
}

template <typename Pixel>
void split_integers(const Block<Pixel>& block, const Layering& layering, Layers& layers) {
  for (int layer = 0; layer < layering.layers; ++layer) {
    std::int32_t* const digits = layers.digits(layer, block.first);
    const bool last = layer + 1 == layering.layers;
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::uint64_t above = magnitude_of(block.values[i]) >> (layer * kLayerBits);
      const auto digit = static_cast<std::int32_t>(last ? above : above % kBase);
      digits[i] = std::is_signed_v<Pixel> && block.values[i] < 0 ? -digit : digit;
    }
  }
}

template <typename Pixel>
std::vector<Frame> split(const Frame& frame, const FloatValidity& validity, bool with_variance) {
  const Layering layering = choose_layering<Pixel>(frame, validity, with_variance);
  Layers layers(frame, layering);
  for_each_block<Pixel>(frame, validity, [&](const Block<Pixel>& block) {
    if constexpr (std::is_floating_point_v<Pixel>) {
      split_floats(block, layering, layers);
    } else {
      split_integers(block, layering, layers);
    }
    layers.finish(block);
  });
  return layers.take(frame);
}

}  // namespace

bool is_quantised(const Frame& frame) {
  const bool wide = frame.type == PixelType::kI64 || frame.type == PixelType::kU64;
  if (frame.codec != Codec::kRaw || !(wide || is_float(frame.type))) return false;
  if (frame.payload.size() == frame.shape.size() * size_of(frame.type)) return true;
  throw Error(ErrorKind::kInput, describe(frame),
              fmt::format("{} bytes do not make {} pixels of {}", frame.payload.size(),
                          to_string(frame.shape), name_of(frame.type)),
              "the file is damaged or incomplete: copy it again");
}

std::vector<Frame> quantise(const Frame& frame, const FloatValidity& validity, bool with_variance) {
  if (!is_quantised(frame)) return {frame};
  switch (frame.type) {
    case PixelType::kF32:
      return split<float>(frame, validity, with_variance);
    case PixelType::kF64:
      return split<double>(frame, validity, with_variance);
    case PixelType::kI64:
      return split<std::int64_t>(frame, validity, with_variance);
    default:
      return split<std::uint64_t>(frame, validity, with_variance);
  }
}

}  // namespace annulus
