#include <annulus/sources/dectris_header.hpp>
#include <annulus/sources/formats.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/core.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace annulus {
namespace {

// What libtiff sees: a file with a position, and a place for its complaints.
struct Client {
  const InputFile& file;
  std::uint64_t position = 0;
  std::string complaint = {};
};

Client& client_of(thandle_t handle) { return *static_cast<Client*>(handle); }

// libtiff is C: no exception may cross it. A read error looks like the end of the file.
tmsize_t read_client(thandle_t handle, void* to, tmsize_t size) {
  Client& client = client_of(handle);
  try {
    const auto count = client.file.read_some(
        client.position,
        {static_cast<std::byte*>(to), static_cast<std::size_t>(std::max<tmsize_t>(size, 0))});
    client.position += count;
    return static_cast<tmsize_t>(count);
  } catch (const std::exception& error) {
    if (client.complaint.empty()) client.complaint = error.what();
    return 0;
  }
}

tmsize_t write_client(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_client(thandle_t handle, toff_t offset, int whence) {
  Client& client = client_of(handle);
  if (whence == SEEK_CUR) offset += client.position;
  if (whence == SEEK_END) offset += client.file.size();
  client.position = offset;
  return offset;
}

int close_client(thandle_t) { return 0; }
toff_t size_client(thandle_t handle) { return client_of(handle).file.size(); }

// The first complaint is the cause; those after it are its echo.
int note_complaint(TIFF*, void* client, const char*, const char* format, va_list arguments) {
  auto& complaint = static_cast<Client*>(client)->complaint;
  if (!complaint.empty()) return 1;
  char text[300];
  std::vsnprintf(text, sizeof text, format, arguments);
  complaint = printable(text, sizeof text);
  return 1;
}

int ignore_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

class TiffHandle {
 public:
  explicit TiffHandle(const InputFile& file) : client_{file} {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_complaint, &client_);
    TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_warning, nullptr);
    // libtiff buffers what is in the file; pixels go into our own memory.
    TIFFOpenOptionsSetMaxSingleMemAlloc(options,
                                        static_cast<tmsize_t>(file.size() + (std::uint64_t{256} << 20)));
    // "m": no memory maps. "r" alone reads the first directory.
    tiff_ = TIFFClientOpenExt(file.path().c_str(), "rm", &client_, read_client, write_client, seek_client,
                              close_client, size_client, nullptr, nullptr, options);
    TIFFOpenOptionsFree(options);
    if (tiff_ == nullptr) throw fault("cannot be read as TIFF");
  }
  ~TiffHandle() {
    if (tiff_ != nullptr) TIFFClose(tiff_);
  }
  TiffHandle(const TiffHandle&) = delete;
  TiffHandle& operator=(const TiffHandle&) = delete;

  TIFF* get() const { return tiff_; }
  const std::string& path() const { return client_.file.path(); }
  bool complained() const { return !client_.complaint.empty(); }

  Error fault(const std::string& what) const {
    return input_error(path(), client_.complaint.empty() ? what : what + ": " + client_.complaint,
                       kCopyAgain);
  }

  template <typename T>
  T field(std::uint32_t tag, T otherwise) const {
    T value = otherwise;
    return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : otherwise;
  }

 private:
  Client client_;
  TIFF* tiff_ = nullptr;
};

struct Page {
  std::uint64_t offset = 0;  // of its directory
  Shape shape;
  PixelType type = PixelType::kU8;
  bool one_bit = false;
  bool compressed = false;
};

PixelType type_of(const TiffHandle& tiff, std::uint16_t bits, std::uint16_t format) {
  const bool is_signed = format == SAMPLEFORMAT_INT;
  const bool is_real = format == SAMPLEFORMAT_IEEEFP;
  if (is_signed || format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID) {
    switch (bits) {
      case 1:
        if (!is_signed) return PixelType::kU8;
        break;
      case 8:
        return is_signed ? PixelType::kI8 : PixelType::kU8;
      case 16:
        return is_signed ? PixelType::kI16 : PixelType::kU16;
      case 32:
        return is_signed ? PixelType::kI32 : PixelType::kU32;
      case 64:
        return is_signed ? PixelType::kI64 : PixelType::kU64;
      default:
        break;
    }
  }
  if (is_real && bits == 32) return PixelType::kF32;
  if (is_real && bits == 64) return PixelType::kF64;
  throw input_error(tiff.path(),
                    fmt::format("{} bits of sample format {} per pixel are not supported", bits, format),
                    "save integers of 1, 8, 16, 32 or 64 bits or floats of 32 or 64");
}

Page read_page(const TiffHandle& tiff) {
  Page page;
  page.offset = TIFFCurrentDirOffset(tiff.get());
  const auto samples = tiff.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  if (samples != 1) {
    throw input_error(tiff.path(),
                      fmt::format("{} samples per pixel: a colour picture, not a detector image", samples),
                      "save it as a grey image");
  }
  if (tiff.field<std::uint32_t>(TIFFTAG_IMAGEDEPTH, 1) != 1) throw tiff.fault("volumes are not supported");
  page.shape = checked_shape(tiff.path(), tiff.field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0),
                             tiff.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0));
  const auto bits = tiff.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  page.type = type_of(tiff, bits, tiff.field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT));
  page.one_bit = bits == 1;
  const auto compression = tiff.field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  if (!TIFFIsCODECConfigured(compression)) {
    throw input_error(tiff.path(),
                      fmt::format("TIFF compression {} is not supported by libtiff here", compression),
                      "save it uncompressed");
  }
  page.compressed = compression != COMPRESSION_NONE;
  return page;
}

// Bits, most significant first, as bytes 0 and 1.
void unpack_bits(const std::byte* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = (from[i / 8] >> (7 - i % 8)) & std::byte{1};
}

class PageReader {
 public:
  PageReader(const TiffHandle& tiff, const Page& page, std::uint64_t file_size)
      : tiff_(tiff), page_(page), file_size_(file_size), width_(size_of(page.type)) {
    check_plausible(tiff.path(), page.shape.size() * width_, file_size);
    pixels_ = allocate(tiff.path(), page.shape.size() * width_);
  }

  Bytes read() && {
    if (TIFFIsTiled(tiff_.get())) {
      read_tiles();
    } else {
      read_strips();
    }
    // A damaged strip may still give the right number of bytes.
    if (tiff_.complained()) throw tiff_.fault("the image is damaged");
    return std::move(pixels_).freeze();
  }

 private:
  // libtiff reads strips and tiles that the file does not have as if they were there.
  void check_stored(std::uint32_t index, std::uint64_t unpacked) const {
    const std::uint64_t offset = TIFFGetStrileOffset(tiff_.get(), index);
    const std::uint64_t stored = TIFFGetStrileByteCount(tiff_.get(), index);
    if (offset != 0 && stored != 0 && offset < file_size_ && stored <= file_size_ - offset &&
        (page_.compressed || stored >= unpacked)) {
      return;
    }
    throw tiff_.fault(fmt::format("{} {} is not in the file: {} bytes at byte {} of {}",
                                  TIFFIsTiled(tiff_.get()) ? "tile" : "strip", index, stored, offset,
                                  file_size_));
  }

  std::size_t packed_bytes(std::size_t pixels) const {
    return page_.one_bit ? (pixels + 7) / 8 : pixels * width_;
  }

  void put(std::size_t row, std::size_t col, std::size_t count, const std::byte* from) {
    std::byte* to = pixels_.bytes.get() + (row * page_.shape.cols + col) * width_;
    if (page_.one_bit) {
      unpack_bits(from, count, to);
    } else {
      std::memcpy(to, from, count * width_);
    }
  }

  // Room for one strip or tile, whose size libtiff works out from the same fields.
  Buffer piece(tmsize_t libtiff_size, std::size_t ours) const {
    if (libtiff_size <= 0 || static_cast<std::size_t>(libtiff_size) != ours) {
      throw tiff_.fault("strips or tiles of a size that does not fit the image");
    }
    return allocate(tiff_.path(), ours);
  }

  void read_strips() {
    const std::size_t rows = page_.shape.rows;
    const std::size_t strip_rows =
        std::min<std::size_t>(tiff_.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, 0), rows);
    const std::size_t row_bytes = packed_bytes(page_.shape.cols);
    if (strip_rows == 0) throw tiff_.fault("strips without rows");
    const std::size_t strips = (rows + strip_rows - 1) / strip_rows;
    if (TIFFNumberOfStrips(tiff_.get()) != strips) throw tiff_.fault("strips are missing");
    Buffer strip =
        piece(TIFFVStripSize(tiff_.get(), static_cast<std::uint32_t>(strip_rows)), strip_rows * row_bytes);
    for (std::size_t i = 0; i < strips; ++i) {
      const std::size_t first = i * strip_rows;
      const std::size_t count = std::min(strip_rows, rows - first);
      const auto wanted = static_cast<tmsize_t>(count * row_bytes);
      check_stored(static_cast<std::uint32_t>(i), count * row_bytes);
      const tmsize_t got =
          TIFFReadEncodedStrip(tiff_.get(), static_cast<std::uint32_t>(i), strip.bytes.get(), wanted);
      if (got != wanted) {
        throw tiff_.fault(fmt::format("strip {} of {} cannot be read (rows {} to {})", i, strips, first,
                                      first + count - 1));
      }
      for (std::size_t row = 0; row < count; ++row) {
        put(first + row, 0, page_.shape.cols, strip.bytes.get() + row * row_bytes);
      }
    }
  }

  void read_tiles() {
    const std::size_t tile_rows = tiff_.field<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    const std::size_t tile_cols = tiff_.field<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
    if (tile_rows == 0 || tile_cols == 0 || tile_rows > kMaxSide || tile_cols > kMaxSide) {
      throw tiff_.fault("tiles of an impossible size");
    }
    const std::size_t row_bytes = packed_bytes(tile_cols);
    check_plausible(tiff_.path(), tile_rows * row_bytes, pixels_.size);
    Buffer tile = piece(TIFFTileSize(tiff_.get()), tile_rows * row_bytes);
    std::uint32_t index = 0;
    for (std::size_t row = 0; row < page_.shape.rows; row += tile_rows) {
      for (std::size_t col = 0; col < page_.shape.cols; col += tile_cols, ++index) {
        const auto wanted = static_cast<tmsize_t>(tile.size);
        if (index < TIFFNumberOfTiles(tiff_.get())) check_stored(index, tile.size);
        if (index >= TIFFNumberOfTiles(tiff_.get()) ||
            TIFFReadEncodedTile(tiff_.get(), index, tile.bytes.get(), wanted) != wanted) {
          throw tiff_.fault(fmt::format("tile {} cannot be read (row {}, column {})", index, row, col));
        }
        const std::size_t rows = std::min<std::size_t>(tile_rows, page_.shape.rows - row);
        const std::size_t cols = std::min<std::size_t>(tile_cols, page_.shape.cols - col);
        for (std::size_t r = 0; r < rows; ++r) put(row + r, col, cols, tile.bytes.get() + r * row_bytes);
      }
    }
  }

  const TiffHandle& tiff_;
  const Page& page_;
  std::uint64_t file_size_;
  std::size_t width_;
  Buffer pixels_;
};

// Whether the file holds all strips or tiles of the current page. libtiff may note what is not there as 0.
bool is_stored(const TiffHandle& tiff, std::uint64_t file_size) {
  const std::uint32_t pieces =
      TIFFIsTiled(tiff.get()) ? TIFFNumberOfTiles(tiff.get()) : TIFFNumberOfStrips(tiff.get());
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const std::uint64_t offset = TIFFGetStrileOffset(tiff.get(), i);
    const std::uint64_t stored = TIFFGetStrileByteCount(tiff.get(), i);
    if (offset == 0 || stored == 0 || offset >= file_size || stored > file_size - offset) return false;
  }
  return pieces > 0;
}

class TiffSource : public FrameSource {
 public:
  explicit TiffSource(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
    const TiffHandle tiff(*file_);
    do {
      // Thumbnails and transparency masks are no frames.
      const auto kind = tiff.field<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0);
      if (!pages_.empty() && (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0) continue;
      add(tiff, read_page(tiff));
    } while (TIFFReadDirectory(tiff.get()) == 1);
    // libtiff only warns of pages in a circle and of more pages than it can count.
    if (tiff.complained() || !TIFFLastDirectory(tiff.get())) {
      throw tiff.fault(fmt::format("the pages after page {} cannot be read", pages_.size()));
    }
    info_.frames = pages_.size();
    info_.format = file_->format_name("TIFF");
    info_.bytes_held = file_->bytes_held();
  }

  const SourceInfo& info() const override { return info_; }

  Frame read(std::uint64_t i) const override {
    check_frame_index(file_->path(), info_, i);
    // A handle has a state; one for each call lets threads read at the same time.
    const TiffHandle tiff(*file_);
    const Page& page = pages_[i];
    if (!go_to(tiff, page)) throw tiff.fault(fmt::format("page {} cannot be read", i + 1));
    const Page now = read_page(tiff);
    if (now.shape != page.shape || now.type != page.type || now.one_bit != page.one_bit) {
      throw tiff.fault("the file changed while it was open");
    }
    return make_frame(info_, file_->path(), i, PageReader(tiff, page, file_->size()).read());
  }

  bool is_whole() const override {
    const TiffHandle tiff(*file_);
    return std::ranges::all_of(
        pages_, [&](const Page& page) { return go_to(tiff, page) && is_stored(tiff, file_->size()); });
  }

 private:
  static bool go_to(const TiffHandle& tiff, const Page& page) {
    return TIFFCurrentDirOffset(tiff.get()) == page.offset ||
           TIFFSetSubDirectory(tiff.get(), page.offset) == 1;
  }

  void add(const TiffHandle& tiff, const Page& page) {
    if (pages_.empty()) {
      info_.type = page.type;
      info_.shape = page.shape;
      char* text = nullptr;
      if (TIFFGetField(tiff.get(), TIFFTAG_IMAGEDESCRIPTION, &text) == 1 && text != nullptr) {
        read_dectris_lines(text, info_);
      }
    } else if (page.shape != info_.shape || page.type != info_.type) {
      throw input_error(
          file_->path(),
          fmt::format("page {} is {} {}, but page 1 is {} {}", pages_.size() + 1, to_string(page.shape),
                      name_of(page.type), to_string(info_.shape), name_of(info_.type)),
          "keep images of different kinds in different files");
    }
    pages_.push_back(page);
  }

  std::unique_ptr<InputFile> file_;
  std::vector<Page> pages_;
  SourceInfo info_;
};

}  // namespace

bool looks_like_tiff(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (text.starts_with(magic)) return true;
  }
  return false;
}

std::unique_ptr<FrameSource> open_tiff(std::unique_ptr<InputFile> file) {
  return std::make_unique<TiffSource>(std::move(file));
}

}  // namespace annulus
