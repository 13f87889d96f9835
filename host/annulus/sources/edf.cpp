#include <annulus/sources/formats.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {
namespace {

// All names that FabIO knows, but for quadruple floats.
std::optional<PixelType> type_of(std::string_view name) {
  constexpr std::pair<std::string_view, PixelType> kTypes[] = {
      {"SignedByte", PixelType::kI8},
      {"Signed8", PixelType::kI8},
      {"UnsignedByte", PixelType::kU8},
      {"Unsigned8", PixelType::kU8},
      {"SignedShort", PixelType::kI16},
      {"Signed16", PixelType::kI16},
      {"UnsignedShort", PixelType::kU16},
      {"Unsigned16", PixelType::kU16},
      {"UnsignedShortInteger", PixelType::kU16},
      {"SignedInteger", PixelType::kI32},
      {"Signed32", PixelType::kI32},
      {"SignedLong", PixelType::kI32},
      {"UnsignedInteger", PixelType::kU32},
      {"Unsigned32", PixelType::kU32},
      {"UnsignedLong", PixelType::kU32},
      {"Signed64", PixelType::kI64},
      {"Unsigned64", PixelType::kU64},
      {"FloatValue", PixelType::kF32},
      {"Float", PixelType::kF32},
      {"FloatIEEE32", PixelType::kF32},
      {"Float32", PixelType::kF32},
      {"Double", PixelType::kF64},
      {"DoubleValue", PixelType::kF64},
      {"FloatIEEE64", PixelType::kF64},
      {"DoubleIEEE64", PixelType::kF64},
  };
  for (const auto& [known, type] : kTypes) {
    if (equal_ignoring_case(name, known)) return type;
  }
  return std::nullopt;
}

// The end of the header is "}" and a line end, with or without CR; npos if it is not in the text.
std::size_t find_header_end(std::string_view text, std::size_t from, std::size_t& after) {
  for (auto at = text.find('}', from); at != std::string_view::npos; at = text.find('}', at + 1)) {
    after = at + 1;
    if (after < text.size() && text[after] == '\r') ++after;
    if (after < text.size() && text[after] == '\n') {
      ++after;
      return at;
    }
  }
  return std::string_view::npos;
}

HeaderPairs parse_pairs(std::string_view text) {
  HeaderPairs pairs;
  while (!text.empty()) {
    const auto end = text.find(';');
    const std::string_view item = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    pairs.emplace_back(trim(item.substr(0, equals)), trim(item.substr(equals + 1)));
  }
  return pairs;
}

struct EdfBlock {
  HeaderPairs pairs;
  std::uint64_t data = 0;  // where the binary starts
};

struct EdfLayout {
  PixelType type = PixelType::kI32;
  Shape shape;
  bool big_endian = false;
  bool operator==(const EdfLayout&) const = default;
};

class EdfSource : public FrameSource {
 public:
  explicit EdfSource(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
    info_.format = file_->format_name("EDF");
    info_.bytes_held = file_->bytes_held();
    std::uint64_t at = 0;
    while (auto block = next_block(at)) at = add_block(std::move(*block));
    if (offsets_.empty()) throw input_error(file_->path(), "the EDF file holds no image", kCopyAgain);
    info_.frames = offsets_.size();
    info_.type = layout_.type;
    info_.shape = layout_.shape;
    const auto wavelength = parse_real(find_value(info_.header, "WaveLength").value_or(""));
    // Metres by convention; what cannot be metres is left alone.
    if (wavelength && *wavelength > 1e-14 && *wavelength < 1e-7) info_.wavelength = wavelength;
  }

  const SourceInfo& info() const override { return info_; }

  Frame read(std::uint64_t i) const override {
    check_frame_index(file_->path(), info_, i);
    Bytes payload = file_->read(offsets_[i], frame_bytes());
    if (layout_.big_endian) payload = byte_swapped(file_->path(), payload, size_of(layout_.type));
    return make_frame(info_, file_->path(), i, std::move(payload));
  }

  HeaderPairs header_of(std::uint64_t i) const override {
    check_frame_index(file_->path(), info_, i);
    HeaderPairs header = general_;
    const HeaderPairs& own = headers_[header_of_frame_[i]];
    header.insert(header.end(), own.begin(), own.end());
    return header;
  }

  bool is_whole() const override { return offsets_.back() + frame_bytes() <= file_->size(); }

 private:
  std::uint64_t frame_bytes() const { return layout_.shape.size() * size_of(layout_.type); }

  std::string place() const { return fmt::format("header of frame {}", offsets_.size()); }

  Error fault(const std::string& what, const char* cure = kCopyAgain) const {
    return input_error(file_->path(), place() + ": " + what, cure);
  }

  // The header at `at`, or none at the end of the file.
  std::optional<EdfBlock> next_block(std::uint64_t at) const {
    if (at >= file_->size()) return std::nullopt;
    std::vector<std::byte> bytes;
    std::size_t searched = 0;
    for (std::size_t window = 4096;; window *= 4) {
      bytes.resize(std::min<std::uint64_t>(window, file_->size() - at));
      const std::size_t have = searched;
      bytes.resize(have + file_->read_some(at + have, std::span(bytes).subspan(have)));
      const std::string_view text = as_text(bytes);
      const std::string_view start = trim(text);
      const bool at_end = bytes.size() < window;
      if (start.empty() && at_end) return std::nullopt;  // padding
      if (!start.empty() && start[0] != '{') {
        throw fault(fmt::format("{} bytes at byte {} are no EDF header", file_->size() - at, at));
      }
      std::size_t after = 0;
      const std::size_t brace = text.find('{');
      // A line end may have been cut off from its brace by the window: search those again.
      const std::size_t end =
          brace == std::string_view::npos
              ? std::string_view::npos
              : find_header_end(text, std::max(brace, searched < 2 ? 0 : searched - 2), after);
      if (end != std::string_view::npos)
        return EdfBlock{parse_pairs(text.substr(brace + 1, end - brace - 1)), at + after};
      if (at_end || window > kMaxHeader) throw fault("the header has no end");
      searched = bytes.size();
    }
  }

  // Keeps the block's frames; where the next header starts.
  std::uint64_t add_block(EdfBlock block) {
    const std::uint64_t present = file_->size() - block.data;
    const auto binary_size = size_of_binary(block.pairs);
    if (find_value(block.pairs, "EDF_DataFormatVersion") && !find_value(block.pairs, "Dim_1")) {
      general_ = std::move(block.pairs);
      return block.data + std::min(present, binary_size.value_or(0));
    }
    const EdfLayout layout = read_layout(block.pairs);
    if (offsets_.empty()) {
      layout_ = layout;
    } else if (layout != layout_) {
      throw fault(fmt::format("{} {}, but frame 0 is {} {}", to_string(layout.shape), name_of(layout.type),
                              to_string(layout_.shape), name_of(layout_.type)),
                  "keep images of different kinds in different files");
    }
    const std::uint64_t images = third_dimension(block.pairs);
    if (images > 1 && images > present / frame_bytes()) {
      throw fault(fmt::format("the file is truncated: {} images of {} bytes are expected, {} bytes present",
                              images, frame_bytes(), present));
    }
    const std::uint64_t needed = images * frame_bytes();
    if (binary_size && *binary_size < needed) {
      throw fault(fmt::format("{} bytes of binary cannot hold {} pixels of {}", *binary_size,
                              to_string(layout_.shape), name_of(layout_.type)));
    }
    for (std::uint64_t i = 0; i < images; ++i) {
      offsets_.push_back(block.data + i * frame_bytes());
      header_of_frame_.push_back(headers_.size());
    }
    if (info_.header.empty()) {
      info_.header = general_;
      info_.header.insert(info_.header.end(), block.pairs.begin(), block.pairs.end());
    }
    headers_.push_back(std::move(block.pairs));
    // A last frame that is cut short is reported when it is read; those before it are good.
    return block.data + std::min(present, binary_size.value_or(needed));
  }

  std::optional<std::string_view> value(const HeaderPairs& pairs, std::string_view key) const {
    const auto own = find_value(pairs, key);
    return own ? own : find_value(general_, key);
  }

  std::int64_t number(const HeaderPairs& pairs, std::string_view key) const {
    const auto text = value(pairs, key);
    if (!text) throw fault(fmt::format("there is no {}", key));
    const auto parsed = parse_integer(*text);
    if (!parsed) throw fault(fmt::format("{} is \"{}\", not a number", key, printable(*text)));
    return *parsed;
  }

  std::optional<std::uint64_t> size_of_binary(const HeaderPairs& pairs) const {
    for (const char* key : {"EDF_BinarySize", "Size"}) {
      if (!find_value(pairs, key)) continue;
      const std::int64_t size = number(pairs, key);
      if (size < 0) throw fault(fmt::format("{} is {}", key, size));
      return static_cast<std::uint64_t>(size);
    }
    return std::nullopt;
  }

  std::uint64_t third_dimension(const HeaderPairs& pairs) const {
    for (const char* key : {"Dim_4", "Dim_5"}) {
      if (value(pairs, key) && number(pairs, key) != 1)
        throw fault("arrays of more than 3 dimensions are no images");
    }
    if (!value(pairs, "Dim_3")) return 1;
    const std::int64_t images = number(pairs, "Dim_3");
    if (images < 1) throw fault(fmt::format("Dim_3 is {}", images));
    return static_cast<std::uint64_t>(images);
  }

  EdfLayout read_layout(const HeaderPairs& pairs) const {
    if (const auto compression = value(pairs, "Compression");
        compression && !equal_ignoring_case(compression->substr(0, 2), "no") && !compression->empty()) {
      throw fault(fmt::format("compression {} is not supported", printable(*compression)),
                  "save it uncompressed, or compress the whole file with gzip");
    }
    if (value(pairs, "EDF_BinaryFileName")) {
      throw fault("the pixels are in another file (EDF_BinaryFileName), which is not supported",
                  "save header and pixels in one file");
    }
    EdfLayout layout;
    const auto rows = value(pairs, "Dim_2") ? number(pairs, "Dim_2") : 1;
    layout.shape = checked_shape(file_->path(), rows, number(pairs, "Dim_1"));
    const auto name = value(pairs, "DataType");
    if (!name) throw fault("there is no DataType");
    const auto type = type_of(*name);
    if (!type) {
      throw fault(fmt::format("pixels of type {} are not supported", printable(*name)),
                  "save them as integers or floats of up to 64 bits");
    }
    layout.type = *type;
    if (size_of(*type) > 1) {
      const auto order = value(pairs, "ByteOrder").value_or("");
      layout.big_endian = equal_ignoring_case(order, "HighByteFirst");
      if (!layout.big_endian && !equal_ignoring_case(order, "LowByteFirst")) {
        throw fault(fmt::format("ByteOrder is \"{}\", not LowByteFirst or HighByteFirst", printable(order)));
      }
    }
    return layout;
  }

  std::unique_ptr<InputFile> file_;
  HeaderPairs general_;  // values for all frames
  EdfLayout layout_;
  std::vector<std::uint64_t> offsets_;
  std::vector<HeaderPairs> headers_;          // one per block
  std::vector<std::size_t> header_of_frame_;  // a block may hold several
  SourceInfo info_;
};

}  // namespace

// Text from the brace to the first '=': a raw file whose first pixel is 123 begins with a brace, too.
bool looks_like_edf(std::span<const std::byte> head) {
  std::string_view text = as_text(head);
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return false;
  const auto equals = text.find('=', start);
  if (equals == std::string_view::npos) return false;
  return std::ranges::all_of(text.substr(start, equals - start), [](char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\r' || c == '\n' || c == '\t';
  });
}

std::unique_ptr<FrameSource> open_edf(std::unique_ptr<InputFile> file) {
  return std::make_unique<EdfSource>(std::move(file));
}

}  // namespace annulus
