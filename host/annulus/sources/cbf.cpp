#include <annulus/codecs/decode_frame.hpp>
#include <annulus/sources/dectris_header.hpp>
#include <annulus/sources/formats.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>
#include <annulus/sources/md5.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {
namespace {

// The lines "Key: value" of the binary section, with lines that begin with a blank joined to the one before.
HeaderPairs parse_section(std::string_view text) {
  HeaderPairs pairs;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const bool continued = line.starts_with(' ') || line.starts_with('\t');
    const auto colon = line.find(':');
    if (continued && !pairs.empty()) {
      pairs.back().second += ' ';
      pairs.back().second += trim(line);
    } else if (colon != std::string_view::npos) {
      pairs.emplace_back(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
    }
  }
  return pairs;
}

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return trim(text);
}

// x-CBF_BYTE_OFFSET out of: application/octet-stream; conversions="x-CBF_BYTE_OFFSET"
std::string_view conversions_of(std::string_view content_type) {
  constexpr std::string_view kKey = "conversions=";
  const auto at = find_ignoring_case(content_type, kKey);
  if (at == std::string_view::npos) return "none";
  const std::string_view value = content_type.substr(at + kKey.size());
  return unquoted(value.substr(0, value.find(';')));
}

std::optional<PixelType> element_type(std::string_view name) {
  constexpr std::pair<std::string_view, PixelType> kTypes[] = {
      {"signed 8-bit integer", PixelType::kI8},   {"unsigned 8-bit integer", PixelType::kU8},
      {"signed 16-bit integer", PixelType::kI16}, {"unsigned 16-bit integer", PixelType::kU16},
      {"signed 32-bit integer", PixelType::kI32}, {"unsigned 32-bit integer", PixelType::kU32},
      {"signed 64-bit integer", PixelType::kI64},
  };
  for (const auto& [known, type] : kTypes) {
    if (equal_ignoring_case(name, known)) return type;
  }
  return std::nullopt;
}

// The text field of _array_data.header_contents: between two lines that begin with a semicolon.
std::string_view dectris_text(std::string_view header) {
  constexpr std::string_view kItem = "_array_data.header_contents";
  const auto item = find_ignoring_case(header, kItem);
  if (item == std::string_view::npos) return {};
  header.remove_prefix(item + kItem.size());
  const auto first = header.find("\n;");
  if (first == std::string_view::npos) return {};
  header.remove_prefix(first + 2);
  return header.substr(0, header.find("\n;"));
}

class CbfSource : public FrameSource {
 public:
  CbfSource(std::unique_ptr<InputFile> file, const OpenOptions& options)
      : file_(std::move(file)),
        path_(file_->path()),
        verify_checksum_(options.verify_checksum),
        map_payload_(options.map_payloads) {
    std::size_t section = 0, start = 0;
    const Bytes beginning = read_beginning(section, start);
    const std::string_view text = as_text(beginning.view());
    info_.format = file_->format_name("CBF");
    info_.bytes_held = file_->bytes_held();
    read_dectris_lines(dectris_text(text.substr(0, section)), info_);
    const std::string_view after_marker = text.substr(section + kCbfSection.size());
    const HeaderPairs pairs = parse_section(after_marker.substr(0, start - section - kCbfSection.size()));
    read_layout(pairs);
    info_.header.insert(info_.header.end(), pairs.begin(), pairs.end());

    first_ = start + kCbfStart.size();
    size_ = binary_size(pairs, file_->size() - first_);
    if (info_.codec == Codec::kByteOffset) info_.bytes_to_read = file_->size() - first_;
    file_->expect_read(first_, file_->size() - first_);
  }

  const SourceInfo& info() const override { return info_; }

  Frame read(std::uint64_t i) const override {
    check_frame_index(path_, info_, i);
    const std::uint64_t count = file_->size() - first_;
    const bool maps = map_payload_ && info_.codec == Codec::kByteOffset;  // other types are decoded here
    const Bytes rest = maps ? file_->map(first_, count) : file_->read(first_, count);
    const Bytes payload = rest.slice(0, size_);
    refuse_second_image(as_text(rest.view()).substr(size_));
    if (verify_checksum_ && !checksum_.empty()) {
      const std::string found = md5_base64(payload.view());
      if (found != checksum_) {
        throw input_error(
            path_,
            fmt::format("the MD5 of the binary is {}, the header says {}", found, printable(checksum_)),
            kCopyAgain);
      }
    }
    if (info_.codec == Codec::kByteOffset) return make_frame(info_, path_, i, payload);
    return make_frame(info_, path_, i, decode_other_type(payload));
  }

 private:
  // The file up to the binary at least, with the places of the binary section and of the binary's start mark.
  // The head is enough for what detectors write.
  Bytes read_beginning(std::size_t& section, std::size_t& start) const {
    for (std::uint64_t window = InputFile::kHead;; window *= 16) {
      const Bytes beginning = window == InputFile::kHead
                                  ? file_->head_bytes()
                                  : file_->read(0, std::min<std::uint64_t>(window, file_->size()));
      const std::string_view text = as_text(beginning.view());
      section = text.substr(0, kMaxHeader).find(kCbfSection);
      start = section == std::string_view::npos
                  ? section
                  : text.substr(0, section + kMaxHeader).find(kCbfStart, section);
      if (start != std::string_view::npos) return beginning;
      if (beginning.size() < file_->size() && window < 2 * kMaxHeader) continue;
      throw section == std::string_view::npos
          ? input_error(path_, "a CBF header without a binary section", kCopyAgain)
          : input_error(path_, "the file is truncated: the start of the binary is missing", kCopyAgain);
    }
  }

  std::int64_t number(const HeaderPairs& pairs, std::string_view key) const {
    const auto value = find_value(pairs, key);
    if (!value) throw input_error(path_, fmt::format("the CBF header has no {}", key), kCopyAgain);
    const auto parsed = parse_integer(*value);
    if (!parsed)
      throw input_error(path_, fmt::format("{} is \"{}\", not a number", key, printable(*value)), kCopyAgain);
    return *parsed;
  }

  void refuse_unless(const HeaderPairs& pairs, std::string_view key, std::string_view only) const {
    const auto value = find_value(pairs, key);
    if (!value || equal_ignoring_case(unquoted(*value), only)) return;
    throw input_error(path_, fmt::format("{}: {} is not supported, only {}", key, printable(*value), only),
                      "convert the file, for instance with FabIO");
  }

  void read_layout(const HeaderPairs& pairs) {
    const auto conversions = conversions_of(find_value(pairs, "Content-Type").value_or(""));
    if (!equal_ignoring_case(conversions, "x-CBF_BYTE_OFFSET")) {
      throw input_error(
          path_,
          fmt::format("compression {} is not supported, only x-CBF_BYTE_OFFSET", printable(conversions)),
          "convert the file, for instance with CBFlib");
    }
    refuse_unless(pairs, "Content-Transfer-Encoding", "BINARY");
    refuse_unless(pairs, "X-Binary-Element-Byte-Order", "LITTLE_ENDIAN");
    refuse_unless(pairs, "X-Binary-Size-Third-Dimension", "1");

    // XDS and DECTRIS name the type; a file that does not is taken as they write it.
    const auto name = unquoted(find_value(pairs, "X-Binary-Element-Type").value_or("signed 32-bit integer"));
    const auto type = element_type(name);
    if (!type) {
      throw input_error(path_, fmt::format("pixels of type \"{}\" are not supported", printable(name)),
                        "convert them to signed 32-bit integers");
    }
    info_.type = *type;
    info_.codec = *type == PixelType::kI32 ? Codec::kByteOffset : Codec::kRaw;
    info_.shape = checked_shape(path_, number(pairs, "X-Binary-Size-Second-Dimension"),
                                number(pairs, "X-Binary-Size-Fastest-Dimension"));
    if (find_value(pairs, "X-Binary-Number-of-Elements")) {
      const std::int64_t elements = number(pairs, "X-Binary-Number-of-Elements");
      if (!std::cmp_equal(elements, info_.shape.size())) {
        throw input_error(path_,
                          fmt::format("X-Binary-Number-of-Elements is {}, but the image has {} pixels",
                                      elements, to_string(info_.shape)),
                          kCopyAgain);
      }
    }
    checksum_ = unquoted(find_value(pairs, "Content-MD5").value_or(""));
  }

  std::uint64_t binary_size(const HeaderPairs& pairs, std::uint64_t present) const {
    const std::int64_t size = number(pairs, "X-Binary-Size");
    if (size < 0 || std::cmp_greater(size, present)) {
      throw input_error(path_,
                        fmt::format("the file is truncated: {} bytes of the binary are present, {} expected",
                                    present, size),
                        kCopyAgain);
    }
    // A pixel takes one byte at least.
    if (std::cmp_less(size, info_.shape.size())) {
      throw input_error(path_, fmt::format("{} bytes cannot hold {} pixels", size, to_string(info_.shape)),
                        kCopyAgain);
    }
    return static_cast<std::uint64_t>(size);
  }

  void refuse_second_image(std::string_view tail) const {
    for (auto at = tail.find(kCbfSection); at != std::string_view::npos;
         at = tail.find(kCbfSection, at + kCbfSection.size())) {
      const auto after = tail.substr(at + kCbfSection.size());
      if (after.starts_with("--")) continue;  // the end of a section
      throw input_error(path_, "the file holds more than one image", "give one image per CBF file");
    }
  }

  Bytes decode_other_type(const Bytes& payload) const {
    Buffer wide = allocate(path_, info_.shape.size() * sizeof(std::int64_t));
    const std::span pixels(reinterpret_cast<std::int64_t*>(wide.bytes.get()), info_.shape.size());
    return visit_pixel_type(info_.type, [&](auto zero) {
      using Pixel = decltype(zero);
      std::int64_t low = std::numeric_limits<std::int64_t>::min();
      std::int64_t high = std::numeric_limits<std::int64_t>::max();
      if constexpr (sizeof(Pixel) < sizeof(std::int64_t)) {
        low = static_cast<std::int64_t>(std::numeric_limits<Pixel>::lowest());
        high = static_cast<std::int64_t>(std::numeric_limits<Pixel>::max());
      }
      const auto result = decode_byte_offset_wide(payload.view(), low, high, pixels);
      if (result.status == DecodeStatus::kValueOutOfRange) {
        throw input_error(
            path_,
            fmt::format("the value at byte {} of {}, pixel {} of {}, does not fit {}", result.byte,
                        payload.size(), result.pixel, pixels.size(), name_of(info_.type)),
            kCopyAgain);
      }
      if (result.status != DecodeStatus::kOk) {
        throw input_error(
            path_, describe_fault(result.status, result.byte, payload.size(), result.pixel, pixels.size()),
            kCopyAgain);
      }
      Buffer narrow = allocate(path_, pixels.size() * sizeof(Pixel));
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        const auto pixel = static_cast<Pixel>(pixels[i]);
        std::memcpy(narrow.bytes.get() + i * sizeof(Pixel), &pixel, sizeof(Pixel));
      }
      return std::move(narrow).freeze();
    });
  }

  std::unique_ptr<InputFile> file_;
  std::string path_;
  bool verify_checksum_;
  bool map_payload_;
  SourceInfo info_;
  std::string checksum_;
  std::uint64_t first_ = 0;  // byte of the binary
  std::uint64_t size_ = 0;   // of the binary; an end mark follows it
};

}  // namespace

bool looks_like_cbf(std::span<const std::byte> head) {
  const std::string_view text = trim(as_text(head));
  return text.starts_with("###CBF") || text.find(kCbfSection) != std::string_view::npos;
}

std::unique_ptr<FrameSource> open_cbf(std::unique_ptr<InputFile> file, const OpenOptions& options) {
  return std::make_unique<CbfSource>(std::move(file), options);
}

}  // namespace annulus
