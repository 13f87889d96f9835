#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/url.hpp>
#include <annulus/sources/formats.hpp>
#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace annulus {

std::unique_ptr<FrameSource> open_source(const std::string& url, const OpenOptions& options) {
  const auto [path, dataset] = split_url(url);
  auto file = std::make_unique<InputFile>(path, options.most_unpacked);
  const auto head = file->head();
  if (looks_like_hdf5(head)) {
    if (file->compression() != Compression::kNone) {
      throw input_error(path, "a packed HDF5 file cannot be read", "unpack it first");
    }
    file.reset();
    std::string place = dataset.value_or("");
    if (!place.empty() && place.front() != '/') place.insert(place.begin(), '/');
    return open_hdf5(path, place, options);
  }
  if (options.follow) {
    throw Error(ErrorKind::kUsage, path, "only HDF5 files, and folders of images, can be followed",
                "leave `follow` out, or name the folder");
  }
  if (dataset) {
    throw input_error(path, "is not an HDF5 file, so it has no datasets",
                      fmt::format("give {} without \"::\"", path));
  }
  if (looks_like_tiff(head)) return open_tiff(std::move(file));
  if (looks_like_npy(head)) return open_npy(std::move(file), options);
  if (looks_like_cbf(head)) return open_cbf(std::move(file), options);
  if (looks_like_edf(head)) return open_edf(std::move(file));
  if (options.raw_shape) return open_raw(std::move(file), options);
  throw input_error(path, "the format is not recognised",
                    "known are CBF, EDF, TIFF, NPY and HDF5; files without a header need `raw_shape`");
}

std::uint64_t frame_bytes(const SourceInfo& info) {
  const std::uint64_t bytes =
      info.bytes_to_read > 0 ? info.bytes_to_read : info.shape.size() * size_of(info.type);
  return std::max<std::uint64_t>(bytes, BufferPool::most_for(bytes));
}

std::uint64_t frame_bytes(const Frame& frame) {
  return std::max<std::uint64_t>(frame.payload.size(), BufferPool::most_for(frame.payload.size()));
}

Image<double> read_image(const std::string& url, const OpenOptions& options) {
  return decode_frame(open_source(url, options)->read(0));
}

Mask as_mask(const Image<double>& image) {
  Mask mask{image.shape, std::vector<std::uint8_t>(image.pixels.size())};
  // NaN is not zero: excluded.
  for (std::size_t i = 0; i < image.pixels.size(); ++i) mask.pixels[i] = image.pixels[i] != 0 ? 1 : 0;
  return mask;
}

Mask read_mask(const std::string& url, const OpenOptions& options) {
  return as_mask(read_image(url, options));
}

}  // namespace annulus
