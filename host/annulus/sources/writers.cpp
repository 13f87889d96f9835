#include <annulus/codecs/byte_offset.hpp>
#include <annulus/core/error.hpp>
#include <annulus/sources/formats.hpp>
#include <annulus/sources/header_text.hpp>
#include <annulus/sources/md5.hpp>
#include <annulus/sources/writers.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace annulus {
namespace {

constexpr std::size_t kCbfPadding = 4095;
constexpr std::size_t kEdfBlock = 512;

class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) throw failed("cannot create");
  }
  ~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw failed("cannot write");
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Some file systems report a full disk only here.
  void close() {
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) throw failed("cannot write");
  }

 private:
  Error failed(const char* what) const {
    const int code = errno;
    return Error(ErrorKind::kOutput, path_.string(),
                 fmt::format("{}: {}", what, std::generic_category().message(code)),
                 code == ENOSPC ? "free some space" : "");
  }

  std::filesystem::path path_;
  int descriptor_;
};

// Header values must not break out of their line, nor out of the character set of CIF and EDF.
std::string one_line(std::string_view text, std::string_view forbidden = "") {
  std::string result(text);
  for (char& c : result) {
    if (c < 0x20 || c > 0x7e || forbidden.find(c) != std::string_view::npos) c = '_';
  }
  return result;
}

std::string cif_header(const std::filesystem::path& path, const CbfMetadata& metadata) {
  std::string text = "###CBF: VERSION 1.5, Annulus\r\n\r\n";
  text += fmt::format("data_{}\r\n\r\n", one_line(path.stem().string(), " \"'#;"));
  std::string lines;
  if (!metadata.detector.empty()) lines += fmt::format("# Detector: {}\r\n", one_line(metadata.detector));
  if (metadata.pixel_size_x && metadata.pixel_size_y) {
    lines += fmt::format("# Pixel_size {:g}e-6 m x {:g}e-6 m\r\n", *metadata.pixel_size_x * 1e6,
                         *metadata.pixel_size_y * 1e6);
  }
  if (metadata.exposure_time) lines += fmt::format("# Exposure_time {:.7f} s\r\n", *metadata.exposure_time);
  if (metadata.count_cutoff) lines += fmt::format("# Count_cutoff {} counts\r\n", *metadata.count_cutoff);
  if (metadata.wavelength) lines += fmt::format("# Wavelength {:.12g} A\r\n", *metadata.wavelength * 1e10);
  if (metadata.distance) lines += fmt::format("# Detector_distance {:.9g} m\r\n", *metadata.distance);
  if (metadata.beam_xy) {
    lines += fmt::format("# Beam_xy ({:.3f}, {:.3f}) pixels\r\n", metadata.beam_xy->first,
                         metadata.beam_xy->second);
  }
  for (const auto& [key, value] : metadata.extra) {
    lines += fmt::format("# {} {}\r\n", one_line(key, " :="), one_line(value));
  }
  // FabIO fails on a header of this convention without lines.
  if (lines.empty()) return text;
  text += "_array_data.header_convention \"PILATUS_1.2\"\r\n_array_data.header_contents\r\n;\r\n";
  return text + lines + ";\r\n\r\n";
}

template <typename T>
constexpr const char* edf_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return "UnsignedByte";
  if constexpr (std::is_same_v<T, std::int32_t>) return "SignedInteger";
  if constexpr (std::is_same_v<T, float>) return "FloatValue";
  return "DoubleValue";
}

bool is_reserved(std::string_view key) {
  for (const std::string_view reserved :
       {"HeaderID", "Image", "ByteOrder", "DataType", "Size", "Compression"}) {
    if (equal_ignoring_case(key, reserved)) return true;
  }
  return key.empty() || equal_ignoring_case(key.substr(0, 4), "EDF_") ||
         equal_ignoring_case(key.substr(0, 4), "Dim_");
}

void check_size(const std::filesystem::path& path, Shape shape, std::size_t pixels) {
  if (shape.size() == pixels && pixels > 0) return;
  throw Error(ErrorKind::kOutput, path.string(),
              fmt::format("{} pixels do not make an image of {}", pixels, to_string(shape)));
}

}  // namespace

void write_cbf(const std::filesystem::path& path, Shape shape, std::span<const std::int32_t> pixels,
               const CbfMetadata& metadata) {
  check_size(path, shape, pixels.size());
  const std::vector<std::byte> binary = encode_byte_offset(pixels);
  std::string text = cif_header(path, metadata);
  text += fmt::format("_array_data.data\r\n;\r\n{}\r\n", kCbfSection);
  text += "Content-Type: application/octet-stream;\r\n     conversions=\"x-CBF_BYTE_OFFSET\"\r\n";
  text += "Content-Transfer-Encoding: BINARY\r\n";
  text += fmt::format("X-Binary-Size: {}\r\nX-Binary-ID: 1\r\n", binary.size());
  text +=
      "X-Binary-Element-Type: \"signed 32-bit integer\"\r\nX-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\n";
  text += fmt::format("Content-MD5: {}\r\nX-Binary-Number-of-Elements: {}\r\n", md5_base64(binary),
                      pixels.size());
  text += fmt::format("X-Binary-Size-Fastest-Dimension: {}\r\nX-Binary-Size-Second-Dimension: {}\r\n",
                      shape.cols, shape.rows);
  text += fmt::format("X-Binary-Size-Padding: {}\r\n\r\n{}", kCbfPadding, kCbfStart);

  OutputFile file(path);
  file.write(text);
  file.write(as_text(binary));
  file.write(std::string(kCbfPadding, '\0') + fmt::format("\r\n{}--\r\n;\r\n\r\n", kCbfSection));
  file.close();
}

template <typename T>
void write_edf(const std::filesystem::path& path, const Image<T>& image,
               const std::vector<std::pair<std::string, std::string>>& extra) {
  check_size(path, image.shape, image.pixels.size());
  const std::size_t bytes = image.pixels.size() * sizeof(T);
  std::string rest = fmt::format(
      "ByteOrder = LowByteFirst ;\nDataType = {} ;\nDim_1 = {} ;\nDim_2 = {} ;\nImage = 0 ;\n"
      "HeaderID = EH:000000:000000:000000 ;\nSize = {} ;\n",
      edf_type<T>(), image.shape.cols, image.shape.rows, bytes);
  for (const auto& [key, value] : extra) {
    if (is_reserved(key)) {
      throw Error(ErrorKind::kOutput, path.string(), fmt::format("\"{}\" is reserved in EDF headers", key));
    }
    rest += fmt::format("{} = {} ;\n", one_line(key, "{}=;"), one_line(value, "{};"));
  }
  // The header ends in "}\n" at a multiple of the block size; its own size has a fixed width.
  const auto start = [&](std::size_t size) {
    return fmt::format(
        "{{\nEDF_DataBlockID = 0.Image.Psd ;\nEDF_BinarySize = {} ;\nEDF_HeaderSize = {:9} ;\n", bytes, size);
  };
  const std::size_t used = start(0).size() + rest.size() + 2;
  const std::size_t size = (used + kEdfBlock - 1) / kEdfBlock * kEdfBlock;

  OutputFile file(path);
  file.write(start(size) + rest + std::string(size - used, ' ') + "}\n");
  file.write(as_text(std::as_bytes(std::span(image.pixels))));
  file.close();
}

template void write_edf(const std::filesystem::path&, const Image<std::uint8_t>&,
                        const std::vector<std::pair<std::string, std::string>>&);
template void write_edf(const std::filesystem::path&, const Image<std::int32_t>&,
                        const std::vector<std::pair<std::string, std::string>>&);
template void write_edf(const std::filesystem::path&, const Image<float>&,
                        const std::vector<std::pair<std::string, std::string>>&);
template void write_edf(const std::filesystem::path&, const Image<double>&,
                        const std::vector<std::pair<std::string, std::string>>&);

}  // namespace annulus
