#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/byte_offset.hpp>
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/sha256.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/source_json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace annulus {
namespace {

__extension__ using Int128 = __int128;

// A sum that no JSON integer holds (only of 64-bit pixels) is given as the nearest double.
nlohmann::json integer(Int128 value) {
  if (value >= 0 && value <= std::numeric_limits<std::uint64_t>::max())
    return static_cast<std::uint64_t>(value);
  if (value < 0 && value >= std::numeric_limits<std::int64_t>::min()) return static_cast<std::int64_t>(value);
  return static_cast<double>(value);
}

template <typename Pixel>
void describe_pixels(const std::vector<Pixel>& pixels, nlohmann::json& json) {
  using Hashed = std::conditional_t<std::is_floating_point_v<Pixel>, double, std::int64_t>;
  using Sum = std::conditional_t<std::is_floating_point_v<Pixel>, long double, Int128>;
  Sha256 hash;
  Sum sum = 0;
  bool any = false;
  Pixel low{}, high{};
  std::vector<Hashed> block;
  for (std::size_t first = 0; first < pixels.size(); first += block.size()) {
    const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(first);
    block.assign(begin,
                 begin + static_cast<std::ptrdiff_t>(std::min<std::size_t>(65536, pixels.size() - first)));
    hash.add(std::as_bytes(std::span(block)));
  }
  for (const Pixel pixel : pixels) {
    if constexpr (std::is_floating_point_v<Pixel>) {
      if (!std::isfinite(pixel)) continue;
    }
    low = any ? std::min(low, pixel) : pixel;
    high = any ? std::max(high, pixel) : pixel;
    any = true;
    sum += pixel;
  }
  json["pixels_sha256"] = hash.finish();
  json["min"] = json["max"] = json["sum"] = nullptr;
  if (!any) return;
  if constexpr (std::is_floating_point_v<Pixel>) {
    json["min"] = static_cast<double>(low);
    json["max"] = static_cast<double>(high);
    json["sum"] = static_cast<double>(sum);
  } else {
    json["min"] = integer(low);
    json["max"] = integer(high);
    json["sum"] = integer(sum);
  }
}

template <typename Pixel>
std::vector<Pixel> pixels_of(const Frame& frame) {
  std::vector<Pixel> pixels(frame.shape.size());
  if (frame.payload.size() != pixels.size() * sizeof(Pixel)) {
    throw input_error(describe(frame), "the frame has another size than its header says");
  }
  std::memcpy(pixels.data(), frame.payload.data(), frame.payload.size());
  return pixels;
}

}  // namespace

nlohmann::json describe_source(const FrameSource& source, const std::string& url) {
  const SourceInfo& info = source.info();
  if (info.frames == 0) throw input_error(url, "the file holds no frames");
  nlohmann::json json;
  json["format"] = info.format;
  json["shape"] = {info.shape.rows, info.shape.cols};
  json["type"] = std::string(name_of(info.type));
  json["frames"] = info.frames;
  if (!info.grid.empty()) json["scan_shape"] = info.grid;
  const auto dataset = std::ranges::find(info.header, "dataset", &std::pair<std::string, std::string>::first);
  if (info.format == "HDF5" && dataset != info.header.end()) json["dataset"] = dataset->second;
  json["max_count"] = info.max_count ? nlohmann::json(*info.max_count) : nlohmann::json();
  json["wavelength"] = info.wavelength ? nlohmann::json(*info.wavelength) : nlohmann::json();

  const Frame frame = source.read(0);
  if (frame.codec == Codec::kByteOffset) {
    const Image<double> image = decode_frame(frame);
    describe_pixels(std::vector<std::int32_t>(image.pixels.begin(), image.pixels.end()), json);
  } else {
    const Frame raw = decode_blocks(frame);
    visit_pixel_type(raw.type, [&](auto zero) { describe_pixels(pixels_of<decltype(zero)>(raw), json); });
  }
  return json;
}

}  // namespace annulus
