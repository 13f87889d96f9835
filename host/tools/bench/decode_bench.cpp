#include <annulus/codecs/band_decoder.hpp>
#include <annulus/codecs/block_decoder.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/bench/candidates.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

namespace annulus {
namespace {

// 16 KiB of pixels: half of the smallest first-level cache that is still met.
constexpr std::size_t kBand = 4096;

// Of one codec: more than caches hold, so that payloads come from memory, and no more.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

struct Packing {
  std::string name;
  Codec codec;
  PixelType type;
};

const std::vector<Packing>& packings() {
  static const std::vector<Packing> known = {
      {"byte_offset", Codec::kByteOffset, PixelType::kI32},
      {"uint8", Codec::kRaw, PixelType::kU8},
      {"uint16", Codec::kRaw, PixelType::kU16},
      {"uint32", Codec::kRaw, PixelType::kU32},
      {"int32", Codec::kRaw, PixelType::kI32},
      {"bslz4_uint8", Codec::kBitshuffleLz4, PixelType::kU8},
      {"bslz4_uint16", Codec::kBitshuffleLz4, PixelType::kU16},
      {"bslz4_uint32", Codec::kBitshuffleLz4, PixelType::kU32},
      {"bszstd_uint32", Codec::kBitshuffleZstd, PixelType::kU32},
      {"lz4_uint32", Codec::kLz4, PixelType::kU32},
  };
  return known;
}

const Packing& packing_of(const std::string& name) {
  return *std::ranges::find(packings(), name, &Packing::name);
}

// Calls use(band) for each band of the frame in turn.
template <typename Use>
void decode(const Frame& frame, InstructionSet set, std::vector<std::int32_t>& band, Use&& use) {
  BandDecoder decoder(frame, set);
  bool good = true;
  for (std::size_t pixel = 0; good && pixel < frame.shape.size(); pixel += kBand) {
    const std::span<std::int32_t> part(band.data(), std::min(kBand, frame.shape.size() - pixel));
    good = decoder.next(part);
    use(part);
  }
  if (!good || !decoder.finish()) throw Error(ErrorKind::kInput, describe(frame), decoder.fault());
}

std::vector<std::int32_t> decode_whole(const Frame& frame, InstructionSet set) {
  std::vector<std::int32_t> band(kBand);
  std::vector<std::int32_t> pixels;
  decode(frame, set, band, [&](auto part) { pixels.insert(pixels.end(), part.begin(), part.end()); });
  return pixels;
}

// The same picture in another packing. Counts that the type does not hold become its largest.
Frame repack(const Frame& frame, const Packing& packing) {
  Frame packed = frame;
  packed.codec = packing.codec;
  packed.type = packing.type;
  const std::vector<std::int32_t> pixels = decode_whole(frame, InstructionSet::kGeneric);
  if (packing.codec == Codec::kByteOffset) {
    packed.payload = Bytes(encode_byte_offset(pixels));
    return packed;
  }
  visit_pixel_type(packed.type, [&](auto zero) {
    using Pixel = decltype(zero);
    if constexpr (std::is_integral_v<Pixel> && sizeof(Pixel) <= 4) {
      std::vector<std::byte> bytes(pixels.size() * sizeof(Pixel));
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        const auto largest = static_cast<std::int64_t>(std::numeric_limits<Pixel>::max());
        const bool fits = pixels[i] <= largest && (std::is_signed_v<Pixel> || pixels[i] >= 0);
        const Pixel pixel = fits ? static_cast<Pixel>(pixels[i]) : std::numeric_limits<Pixel>::max();
        std::memcpy(bytes.data() + i * sizeof(Pixel), &pixel, sizeof(Pixel));
      }
      packed.payload = Bytes(has_blocks(packing.codec) ? encode_blocks(packing.codec, bytes, sizeof(Pixel))
                                                       : std::move(bytes));
    }
  });
  return packed;
}

bool is_packed_as(const Frame& frame, const Packing& packing) {
  return frame.codec == packing.codec && frame.type == packing.type;
}

std::vector<Frame> frames_packed_as(const Packing& packing, const std::vector<Frame>& frames) {
  std::vector<Frame> packed;
  std::size_t bytes = 0;
  for (const Frame& frame : frames) {
    packed.push_back(is_packed_as(frame, packing) ? frame : repack(frame, packing));
    bytes += packed.back().payload.size();
    if (bytes > kMostBytes) break;
  }
  return packed;
}

// Times of wrong pixels are worth nothing.
void demand_same_pixels(const Frame& frame, InstructionSet set) {
  if (decode_whole(frame, set) == decode_whole(frame, InstructionSet::kGeneric)) return;
  throw Error(ErrorKind::kBackend, fmt::format("decoding with {}", name_of(set)),
              fmt::format("other pixels than without, in {}", describe(frame)),
              "this is a fault of the program: please report it");
}

Candidate time_decoding(const std::string& codec, InstructionSet set,
                        const std::shared_ptr<const std::vector<Frame>>& frames) {
  demand_same_pixels(frames->front(), set);
  Work work;
  for (const Frame& frame : *frames) {
    ++work.frames;
    work.pixels += frame.shape.size();
    work.bytes += frame.payload.size();
  }
  return {"decode",
          {{"codec", codec},
           {"instruction_set", std::string(name_of(set))},
           {"threads", std::uint64_t{1}},
           {"band", kBand}},
          work,
          [frames, set](std::vector<double>& seconds) {
            std::vector<std::int32_t> band(kBand);
            seconds.push_back(seconds_of([&] {
              for (const Frame& frame : *frames) decode(frame, set, band, [](auto) {});
            }));
          }};
}

}  // namespace

const std::vector<std::string>& codec_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Packing& packing : packings()) all.push_back(packing.name);
    return all;
  }();
  return names;
}

std::vector<Candidate> decode_candidates(const BenchContext& context) {
  const Frame& first = context.subject.frames().front();
  if (first.codec == Codec::kRaw && (is_float(first.type) || size_of(first.type) > 4)) {
    throw Error(ErrorKind::kUsage, "decode",
                fmt::format("pixels of {} are not decoded in bands", name_of(first.type)),
                "leave decode out of `only`");
  }
  std::vector<std::shared_ptr<const std::vector<Frame>>> packed;
  for (const std::string& codec : context.options.codecs)
    packed.push_back(std::make_shared<const std::vector<Frame>>(
        frames_packed_as(packing_of(codec), context.subject.frames())));

  // Neighbours in a round have different payloads: none finds its own in the cache.
  std::vector<Candidate> candidates;
  for (const InstructionSet set : context.options.instruction_sets) {
    for (std::size_t i = 0; i < packed.size(); ++i)
      candidates.push_back(time_decoding(context.options.codecs[i], set, packed[i]));
  }
  return candidates;
}

}  // namespace annulus
