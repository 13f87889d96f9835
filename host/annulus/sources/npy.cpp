#include <annulus/sources/formats.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace annulus {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr const char* kSaveAgain = "the file is damaged or incomplete: save it again";

// The text after 'key': in the dictionary that is the header.
std::string_view value_of(const std::string& where, std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{}{}{}", quote, key, quote);
    const auto at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = trim(header.substr(at + quoted.size()));
    if (rest.starts_with(':')) return trim(rest.substr(1));
  }
  throw input_error(where, fmt::format("the NPY header has no '{}'", key), kSaveAgain);
}

struct ElementType {
  PixelType type = PixelType::kU8;
  bool big_endian = false;
};

ElementType parse_descr(const std::string& where, std::string_view text) {
  const char quote = text.empty() ? ' ' : text[0];
  const auto end = quote == '\'' || quote == '"' ? text.find(quote, 1) : std::string_view::npos;
  const std::string_view name = end == std::string_view::npos ? text : text.substr(1, end - 1);
  if (end != std::string_view::npos && name.size() >= 3) {
    constexpr std::pair<std::string_view, PixelType> kTypes[] = {
        {"b1", PixelType::kU8},  {"u1", PixelType::kU8},  {"u2", PixelType::kU16}, {"u4", PixelType::kU32},
        {"u8", PixelType::kU64}, {"i1", PixelType::kI8},  {"i2", PixelType::kI16}, {"i4", PixelType::kI32},
        {"i8", PixelType::kI64}, {"f4", PixelType::kF32}, {"f8", PixelType::kF64}};
    for (const auto& [known, type] : kTypes) {
      if (name.substr(1) != known) continue;
      const bool single = size_of(type) == 1;
      if (name[0] == '>' || name[0] == '<' || (single && name[0] == '|'))
        return {type, name[0] == '>' && !single};
    }
  }
  throw input_error(where, fmt::format("elements of type {} are not supported", printable(name)),
                    "save integers or floats of 32 or 64 bits");
}

std::vector<std::int64_t> parse_shape(const std::string& where, std::string_view text) {
  const auto end = text.find(')');
  std::vector<std::int64_t> shape;
  if (!text.starts_with('(') || end == std::string_view::npos) {
    throw input_error(where, "the NPY header has no shape", kSaveAgain);
  }
  text = text.substr(1, end - 1);
  while (!trim(text).empty()) {
    const auto comma = text.find(',');
    const auto side = parse_integer(text.substr(0, comma));
    if (!side || shape.size() == 8) throw input_error(where, "the NPY header has no valid shape", kSaveAgain);
    shape.push_back(*side);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return shape;
}

// Consecutive frames of a stack in Fortran order, in which the pixels of a frame lie as far apart as there
// are frames. One pass through the file collects all of them.
struct CollectedFrames {
  std::uint64_t first = 0;
  std::vector<Bytes> frames;

  bool has(std::uint64_t i) const { return i >= first && i - first < frames.size(); }
};

class NpySource : public FrameSource {
 public:
  NpySource(std::unique_ptr<InputFile> file, std::uint64_t memory) : file_(std::move(file)), memory_(memory) {
    const std::string& path = file_->path();
    const Bytes start = file_->read(0, 10);
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(start.view()[i]); };
    const auto version = byte(6);
    if (version < 1 || version > 3)
      throw input_error(path, fmt::format("NPY version {} is not known", version));
    std::uint64_t length = byte(8) | byte(9) << 8;
    offset_ = 10;
    if (version > 1) {
      const Bytes more = file_->read(10, 2);
      length |= std::to_integer<std::uint64_t>(more.view()[0]) << 16 |
                std::to_integer<std::uint64_t>(more.view()[1]) << 24;
      offset_ = 12;
    }
    const Bytes bytes = file_->read(offset_, length);
    offset_ += length;
    read_header(as_text(bytes.view()));
  }

  const SourceInfo& info() const override { return info_; }

  Frame read(std::uint64_t i) const override {
    check_frame_index(file_->path(), info_, i);
    if (strewn()) return make_frame(info_, file_->path(), i, collected(i));
    Bytes payload = file_->read(offset_ + i * frame_bytes_, frame_bytes_);
    if (element_.big_endian) payload = byte_swapped(file_->path(), payload, size_of(element_.type));
    if (fortran_order_) payload = transposed(payload);
    return make_frame(info_, file_->path(), i, std::move(payload));
  }

 private:
  void read_header(std::string_view header) {
    const std::string& path = file_->path();
    element_ = parse_descr(path, value_of(path, header, "descr"));
    const std::string_view order = value_of(path, header, "fortran_order");
    fortran_order_ = order.starts_with("True");
    if (!fortran_order_ && !order.starts_with("False")) {
      throw input_error(path, "the NPY header has no valid fortran_order", kSaveAgain);
    }
    const auto shape = parse_shape(path, value_of(path, header, "shape"));
    if (shape.size() != 2 && shape.size() != 3) {
      throw input_error(path, fmt::format("an array of {} dimensions is no image", shape.size()),
                        "2 dimensions make an image, 3 a stack of them");
    }
    info_.format = file_->format_name("NPY");
    info_.bytes_held = file_->bytes_held();
    info_.type = element_.type;
    info_.shape = checked_shape(path, shape[shape.size() - 2], shape.back());
    frame_bytes_ = info_.shape.size() * size_of(info_.type);
    const std::uint64_t present = file_->size() - offset_;
    const std::int64_t frames = shape.size() == 3 ? shape[0] : 1;
    // Frames are counted from the bytes first, so that no claim can overflow.
    if (frames < 1 || std::cmp_not_equal(frames, present / frame_bytes_) || present % frame_bytes_ != 0) {
      throw input_error(
          path,
          fmt::format("{} frames of {} {} take {} bytes each; the file has {} bytes of data", frames,
                      to_string(info_.shape), name_of(info_.type), frame_bytes_, present),
          kSaveAgain);
    }
    info_.frames = static_cast<std::uint64_t>(frames);
    if (strewn()) {
      // Two sets of frames are held: while one is read, the frames of the one before may still be asked for.
      // Beside an archive, which is held unpacked.
      const std::uint64_t left = memory_ - std::min(memory_, info_.bytes_held);
      collect_ = std::clamp<std::uint64_t>(left / 2 / frame_bytes_, 1, info_.frames);
      info_.bytes_held += std::min(2 * collect_, info_.frames) * frame_bytes_;
    }
  }

  bool strewn() const { return fortran_order_ && info_.frames > 1; }

  Bytes collected(std::uint64_t i) const {
    const std::lock_guard lock(mutex_);
    for (const CollectedFrames& set : collected_) {
      if (set.has(i)) return set.frames[i - set.first];
    }
    collected_[0] = std::move(collected_[1]);
    collected_[1] = {};
    collected_[1] = collect(i / collect_ * collect_);
    return collected_[1].frames[i - collected_[1].first];
  }

  CollectedFrames collect(std::uint64_t first) const {
    constexpr std::uint64_t kBlock = 4 << 20;
    const std::size_t width = size_of(info_.type);
    const std::uint64_t count = std::min(collect_, info_.frames - first);
    std::vector<Buffer> buffers;
    for (std::uint64_t i = 0; i < count; ++i) buffers.push_back(allocate(file_->path(), frame_bytes_));
    // A pixel of all frames, then the one below it; columns follow each other.
    const std::uint64_t pixel_bytes = info_.frames * width;
    const std::uint64_t pixels = info_.shape.size(),
                        together = std::max<std::uint64_t>(1, kBlock / pixel_bytes);
    for (std::uint64_t start = 0; start < pixels; start += together) {
      const std::uint64_t end = std::min(start + together, pixels);
      Bytes block = file_->read(offset_ + start * pixel_bytes, (end - start) * pixel_bytes);
      if (element_.big_endian) block = byte_swapped(file_->path(), block, width);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::byte* from = block.data() + (first + i) * width;
        std::byte* const to = buffers[i].bytes.get();
        for (std::uint64_t pixel = start; pixel < end; ++pixel, from += pixel_bytes) {
          const std::uint64_t row = pixel % info_.shape.rows, col = pixel / info_.shape.rows;
          std::memcpy(to + (row * info_.shape.cols + col) * width, from, width);
        }
      }
    }
    CollectedFrames set{first, {}};
    for (Buffer& buffer : buffers) set.frames.push_back(std::move(buffer).freeze());
    return set;
  }

  Bytes transposed(const Bytes& columns) const {
    const std::size_t width = size_of(info_.type);
    Buffer rows = allocate(file_->path(), columns.size());
    std::byte* to = rows.bytes.get();
    for (std::size_t row = 0; row < info_.shape.rows; ++row) {
      for (std::size_t col = 0; col < info_.shape.cols; ++col, to += width) {
        std::memcpy(to, columns.data() + (col * info_.shape.rows + row) * width, width);
      }
    }
    return std::move(rows).freeze();
  }

  std::unique_ptr<InputFile> file_;
  std::uint64_t offset_ = 0;
  std::uint64_t frame_bytes_ = 0;
  ElementType element_;
  bool fortran_order_ = false;
  SourceInfo info_;

  // Of a stack in Fortran order.
  std::uint64_t memory_ = 0;
  std::uint64_t collect_ = 1;  // frames in one pass
  mutable std::mutex mutex_;
  mutable std::array<CollectedFrames, 2> collected_;  // the last set at the end
};

}  // namespace

bool looks_like_npy(std::span<const std::byte> head) { return as_text(head).starts_with(kMagic); }

std::unique_ptr<FrameSource> open_npy(std::unique_ptr<InputFile> file, const OpenOptions& options) {
  return std::make_unique<NpySource>(std::move(file), options.most_unpacked);
}

}  // namespace annulus
