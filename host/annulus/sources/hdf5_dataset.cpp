#include <annulus/sources/hdf5_dataset.hpp>
#include <annulus/sources/hdf5_filters.hpp>
#include <annulus/sources/hdf5_types.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

// Filters that detector files use, and where Debian keeps them.
struct KnownFilter {
  H5Z_filter_t id;
  const char* name;
  const char* package;
};
constexpr KnownFilter kKnownFilters[] = {
    {307, "bzip2", "hdf5-filter-plugin"},
    {32000, "LZF", "bitshuffle"},
    {32001, "Blosc", "hdf5-filter-plugin-blosc-serial"},
    {kLz4Filter, "LZ4", "hdf5-filter-plugin"},
    {kBitshuffleFilter, "bitshuffle", "bitshuffle"},
    {32013, "ZFP", "hdf5-filter-plugin-zfp-serial"},
};

// Whether elements lie in the file as they do in memory: no other byte order, no half floats, no
// enumerations.
bool is_native(hid_t stored, PixelType type) { return H5Tequal(stored, native_type(type)) > 0; }

bool is_big_endian(hid_t stored, PixelType type) {
  const Hdf5Handle swapped(H5Tcopy(native_type(type)), H5Tclose);
  return size_of(type) > 1 && H5Tset_order(swapped.get(), H5T_ORDER_BE) >= 0 &&
         H5Tequal(stored, swapped.get()) > 0;
}

}  // namespace

Hdf5Dataset::Hdf5Dataset(DatasetPlace place, Fence fence, int nesting)
    : place_(std::move(place)),
      fence_(std::move(fence)),
      nesting_(nesting),
      url_(place_.url()),
      file_(open_hdf5_file(place_.file, fence_)),
      dataset_(H5Dopen2(file_.get(), place_.path.c_str(), H5P_DEFAULT), H5Dclose) {
  if (!dataset_) {
    throw hdf5_error(url_, "cannot be opened as a dataset",
                     "check its path, and that linked files are present");
  }
  read_type();
  read_shape();
  const Hdf5Handle properties(H5Dget_create_plist(dataset_.get()), H5Pclose);
  if (!properties) throw hdf5_error(url_, "the layout cannot be read", kCopyAgain);
  const H5D_layout_t layout = H5Pget_layout(properties.get());
  if (layout == H5D_CHUNKED) {
    std::vector<hsize_t> sides(static_cast<std::size_t>(rank_));
    if (H5Pget_chunk(properties.get(), rank_, sides.data()) != rank_ ||
        std::ranges::count(sides, hsize_t{0}) > 0) {
      throw hdf5_error(url_, "the chunks cannot be read", kCopyAgain);
    }
    grid_.chunk.assign(sides.begin(), sides.end() - 2);
    chunk_ = {grid_.frames_in_chunk(), *(sides.end() - 2), sides.back()};
  }
  H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;
  allocated_early_ = H5Pget_alloc_time(properties.get(), &time) < 0 || time == H5D_ALLOC_TIME_EARLY;
  read_filters(properties.get());
  choose_way();
  // Whatever a virtual dataset is made of is unpacked by the library.
  if ((way_ == Way::kLibrary || nesting_ > 0) && held_bytes() > 0) cache_chunks();
  // Without filters a chunk has one size only; the library reads that much, whatever the file says.
  if (layout == H5D_CHUNKED && pipeline_.empty() &&
      H5Dget_storage_size(dataset_.get()) % chunk_bytes() != 0) {
    throw input_error(url_, "the chunks have another size than the dataset says", kCopyAgain);
  }
  virtual_ = layout == H5D_VIRTUAL;
  if (virtual_) check_virtual_sources(properties.get());
  if (layout == H5D_CONTIGUOUS) check_external_files(properties.get());
  if (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) {
    const std::uint64_t stored = H5Dget_storage_size(dataset_.get());
    if (stored == 0) {
      throw input_error(url_, "no pixel was ever written to this dataset", "wait until the file is written");
    }
    // The library reads what the shape claims, whatever is stored.
    const std::uint64_t frame_bytes = shape_.size() * stored_element_;
    if (stored / frame_bytes != frames_ || stored % frame_bytes != 0) {
      throw input_error(url_,
                        fmt::format("{} bytes are stored for {} frames of {}", stored, frames_, frame_bytes),
                        kCopyAgain);
    }
  }
}

void Hdf5Dataset::read_type() {
  const Hdf5Handle type(H5Dget_type(dataset_.get()), H5Tclose);
  if (!type) throw hdf5_error(url_, "the type cannot be read", kCopyAgain);
  H5T_class_t kind = H5Tget_class(type.get());
  H5T_sign_t sign = H5T_SGN_NONE;
  if (kind == H5T_INTEGER) sign = H5Tget_sign(type.get());
  const auto elements = [this, &type](PixelType found) {
    type_ = found;
    native_ = is_native(type.get(), found);
    swapped_ = !native_ && is_big_endian(type.get(), found);
  };
  // h5py stores booleans as an enumeration of int8.
  const std::size_t size = H5Tget_size(type.get());
  stored_element_ = size;
  if (kind == H5T_ENUM && size == 1) kind = H5T_INTEGER;
  if (kind == H5T_INTEGER || kind == H5T_BITFIELD) {
    const bool is_signed = sign == H5T_SGN_2;
    switch (size) {
      case 1:
        return elements(is_signed ? PixelType::kI8 : PixelType::kU8);
      case 2:
        return elements(is_signed ? PixelType::kI16 : PixelType::kU16);
      case 4:
        return elements(is_signed ? PixelType::kI32 : PixelType::kU32);
      case 8:
        return elements(is_signed ? PixelType::kI64 : PixelType::kU64);
      default:
        break;
    }
  }
  // Half floats are exact in it.
  if (kind == H5T_FLOAT && (size == 2 || size == 4)) return elements(PixelType::kF32);
  if (kind == H5T_FLOAT && size == 8) return elements(PixelType::kF64);
  throw input_error(url_, "the elements are no integers or floats of up to 64 bits",
                    "name a dataset of images");
}

void Hdf5Dataset::read_shape() {
  const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  rank_ = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank_ < 2) {
    throw input_error(url_, fmt::format("{} dimensions: neither an image nor a stack of images", rank_),
                      "2 dimensions make an image, 3 a stack of them, more a grid");
  }
  std::vector<hsize_t> extent(static_cast<std::size_t>(rank_));
  if (H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr) != rank_) {
    throw hdf5_error(url_, "the shape cannot be read", kCopyAgain);
  }
  const auto side = [](hsize_t value) {
    return static_cast<std::int64_t>(std::min<hsize_t>(value, INT64_MAX));
  };
  shape_ = checked_shape(url_, side(*(extent.end() - 2)), side(extent.back()));
  grid_.sides.assign(extent.begin(), extent.end() - 2);
  frames_ = 1;
  for (const hsize_t points : grid_.sides) {
    if (__builtin_mul_overflow(frames_, points, &frames_))
      throw input_error(url_, "the grid has more points than can be counted", kCopyAgain);
  }
}

void Hdf5Dataset::read_filters(hid_t properties) {
  const int filters = H5Pget_nfilters(properties);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    std::vector<unsigned> values(32);
    std::size_t count = values.size();
    std::array<char, 64> name{};
    const H5Z_filter_t id = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &count,
                                           values.data(), name.size(), name.data(), &config);
    H5Eclear2(H5E_DEFAULT);
    values.resize(std::min(count, values.size()));
    pipeline_.push_back({id, std::move(values)});
  }
}

void Hdf5Dataset::choose_way() {
  const bool plain_elements = native_ || swapped_;
  const auto packing =
      chunk_.empty() || !plain_elements ? std::nullopt : known_packing(url_, pipeline_, stored_element_);
  if (!packing) return require_filters();
  packing_ = *packing;
  packing_.swapped = swapped_;
  const bool frame_a_chunk =
      !swapped_ && chunk_[0] == 1 && chunk_[1] == shape_.rows && chunk_[2] == shape_.cols;
  const bool for_backends =
      packing_.kind == ChunkPacking::Kind::kNone ||
      (packing_.kind == ChunkPacking::Kind::kCodec && !is_float(type_) && stored_element_ <= 4);
  way_ = frame_a_chunk && for_backends ? Way::kWhole : Way::kTiles;
  if (way_ == Way::kTiles)
    tile_layout_ = std::make_shared<const TileLayout>(TileLayout{url_, shape_, type_, chunk_, grid_});
}

// The library keeps 1 MiB of chunks unless told otherwise, and unpacks what does not fit for every frame.
void Hdf5Dataset::cache_chunks() {
  const std::size_t chunks = held_bytes() / chunk_bytes();
  // A slot for each chunk of a frame: the library numbers them by the bits of their places.
  const std::size_t slots = std::clamp<std::size_t>(4 * chunks + 1, 521, 1 << 18);
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  if (!access || H5Pset_chunk_cache(access.get(), slots, held_bytes(), 1) < 0)
    throw hdf5_error(url_, "chunks cannot be kept", kCopyAgain);
  dataset_.reset();  // one that is open keeps its cache
  dataset_ = Hdf5Handle(H5Dopen2(file_.get(), place_.path.c_str(), access.get()), H5Dclose);
  if (!dataset_) throw hdf5_error(url_, "cannot be opened as a dataset", kCopyAgain);
}

void Hdf5Dataset::require_filters() const {
  for (const Hdf5Filter& filter : pipeline_) {
    const H5Z_filter_t id = filter.id;
    // The plugin knows LZ4 only, and would take packed bytes for pixels.
    if (id == kBitshuffleFilter && filter.values.size() > 4 && filter.values[4] == kWithZstd) {
      throw input_error(url_, "it needs the HDF5 library to unpack bitshuffle with Zstd, which cannot do it",
                        "Zstd is read as the only filter of integers and of floats of 32 or 64 bits, "
                        "not as a source of a virtual dataset");
    }
    const htri_t available = id >= 0 ? H5Zfilter_avail(id) : 0;
    H5Eclear2(H5E_DEFAULT);
    if (available > 0) continue;
    const auto known = std::ranges::find(kKnownFilters, id, &KnownFilter::id);
    if (known != std::end(kKnownFilters)) {
      throw input_error(url_, fmt::format("HDF5 filter {} ({}) is not installed", id, known->name),
                        fmt::format("install the Debian package {}", known->package));
    }
    throw input_error(url_, fmt::format("HDF5 filter {} is not installed", id),
                      "install its plugin and let HDF5_PLUGIN_PATH name the plugin's folder");
  }
}

}  // namespace annulus
