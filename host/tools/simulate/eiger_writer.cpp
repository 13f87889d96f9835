#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/hdf5/without_plugin.hpp>
#include <annulus/sources/hdf5_filters.hpp>

#include <fmt/core.h>
#include <tools/simulate/eiger_writer.hpp>
#include <tools/simulate/hdf5_output.hpp>
#include <tools/simulate/scan_columns.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataPath = "/entry/data/data";
constexpr double kElectronvoltMetre = 1.239841984e-6;  // photon energy times wavelength

// Marks at the top of the type: -1, -2 and -3 of signed files.
constexpr std::int64_t kMarks = 3;

// Bits of the pixel mask, as NXmx has them.
constexpr std::uint32_t kMaskGap = 1;
constexpr std::uint32_t kMaskDead = 2;

hid_t stored_type(PixelType type) {
  if (type == PixelType::kU8) return H5T_STD_U8LE;
  return type == PixelType::kU16 ? H5T_STD_U16LE : H5T_STD_U32LE;
}

// A dataset whose chunks, of the last two dimensions, are packed by bitshuffle and LZ4.
Hdf5Handle create_packed(hid_t parent, const char* name, PixelType type, const std::vector<hsize_t>& extent,
                         const fs::path& path) {
  std::vector<hsize_t> chunk = extent;
  if (chunk.size() == 3) chunk.front() = 1;
  // Version, element size, the default block, compression.
  const std::array<unsigned, 5> values = {0, 2, static_cast<unsigned>(size_of(type)), 0, kWithLz4};
  const auto rank = static_cast<int>(extent.size());
  const Hdf5Handle space = checked(H5Screate_simple(rank, extent.data(), nullptr), H5Sclose, path);
  const Hdf5Handle properties = timeless(path);
  const WithoutPlugin without(kBitshuffleFilter);
  if (!without || H5Pset_chunk(properties.get(), rank, chunk.data()) < 0 ||
      H5Pset_filter(properties.get(), kBitshuffleFilter, H5Z_FLAG_OPTIONAL, values.size(), values.data()) <
          0) {
    fail_writing(path);
  }
  return checked(
      H5Dcreate2(parent, name, stored_type(type), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, path);
}

void write_packed(const Hdf5Handle& dataset, const std::vector<hsize_t>& offset,
                  std::span<const std::byte> chunk, const fs::path& path) {
  if (H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, offset.data(), chunk.size(), chunk.data()) < 0)
    fail_writing(path);
}

void write_pixel_mask(hid_t parent, const SimulatedScan& scan, const fs::path& path) {
  const Shape shape = scan.shape();
  std::vector<std::uint32_t> mask(shape.size());
  const Image<std::int32_t> frame = scan.frame(0);
  std::ranges::transform(frame.pixels, mask.begin(), [](std::int32_t pixel) {
    if (pixel == kGapMark) return kMaskGap;
    return pixel == kDefectMark ? kMaskDead : 0u;
  });
  const Hdf5Handle dataset =
      create_packed(parent, "pixel_mask", PixelType::kU32, {shape.rows, shape.cols}, path);
  write_packed(dataset, {0, 0}, encode_bitshuffle_lz4(std::as_bytes(std::span(mask)), sizeof(std::uint32_t)),
               path);
}

std::string description_of(const SimulatedScan& scan) {
  return "Dectris " + scan.geometry().detector.name + ", simulated";
}

}  // namespace

fs::path EigerLayout::master() const { return folder / (prefix + "_master.h5"); }

std::string EigerLayout::data_name(std::uint64_t number) const {
  return fmt::format("{}_data_{:06}.h5", prefix, number);
}

fs::path EigerLayout::data_file(std::uint64_t number) const { return folder / data_name(number); }

std::uint64_t EigerLayout::data_files(std::uint64_t frames) const {
  return (frames + images_per_file - 1) / images_per_file;
}

std::int64_t eiger_cutoff(const SimulatedScan& scan, PixelType type) {
  const std::int64_t top = (std::int64_t{1} << (8 * size_of(type))) - 1;
  return std::min(scan.beamline().count_cutoff, top - kMarks);
}

std::vector<std::byte> pack_eiger_frame(const SimulatedScan& scan, std::uint64_t frame, PixelType type) {
  const Image<std::int32_t> image = scan.frame(frame);
  const std::int64_t overloaded = eiger_cutoff(scan, type) + 1;
  return visit_pixel_type(type, [&](auto zero) -> std::vector<std::byte> {
    using Pixel = decltype(zero);
    if constexpr (std::is_integral_v<Pixel> && std::is_unsigned_v<Pixel> && sizeof(Pixel) <= 4) {
      std::vector<Pixel> pixels(image.pixels.size());
      std::ranges::transform(image.pixels, pixels.begin(), [&](std::int32_t pixel) {
        if (pixel < 0) return std::numeric_limits<Pixel>::max();
        return static_cast<Pixel>(std::min<std::int64_t>(pixel, overloaded));
      });
      return encode_bitshuffle_lz4(std::as_bytes(std::span(pixels)), sizeof(Pixel));
    }
    return {};  // no other type is offered
  });
}

struct EigerWriter::DataFile {
  explicit DataFile(const fs::path& path) : file(path) {}

  PartialFile file;
  Hdf5Handle data;  // closed first
};

EigerWriter::EigerWriter(EigerLayout layout, const SimulatedScan& scan)
    : layout_(std::move(layout)), scan_(scan) {
  write_master();
}

EigerWriter::~EigerWriter() {
  const Hdf5Session session;
  file_.reset();
}

void EigerWriter::write_master() const {
  const Hdf5Session session;
  PartialFile file(layout_.master());
  const Describer describe(file.path());
  const Geometry& geometry = scan_.geometry();
  const std::int64_t cutoff = eiger_cutoff(scan_, layout_.type);
  {
    describe.attribute(file.get(), "NX_class", "NXroot");
    describe.attribute(file.get(), "default", "entry");
    const Hdf5Handle entry = describe.group(file.get(), "entry", "NXentry");
    describe.text(entry.get(), "definition", "NXmx");
    describe.text(entry.get(), "title", scan_.title());
    const Hdf5Handle data = describe.group(entry.get(), "data", "NXdata");
    for (std::uint64_t number = 1; number <= layout_.data_files(scan_.frames()); ++number) {
      const std::string link = fmt::format("data_{:06}", number);
      if (H5Lcreate_external(layout_.data_name(number).c_str(), kDataPath, data.get(), link.c_str(),
                             H5P_DEFAULT, H5P_DEFAULT) < 0) {
        fail_writing(file.path());
      }
    }
    const Hdf5Handle instrument = describe.group(entry.get(), "instrument", "NXinstrument");
    const Hdf5Handle beam = describe.group(instrument.get(), "beam", "NXbeam");
    describe.number(beam.get(), "incident_wavelength", *geometry.wavelength * 1e10, "angstrom");
    const Hdf5Handle detector = describe.group(instrument.get(), "detector", "NXdetector");
    describe.text(detector.get(), "description", description_of(scan_));
    describe.number(detector.get(), "x_pixel_size", geometry.detector.pixel2, "m");
    describe.number(detector.get(), "y_pixel_size", geometry.detector.pixel1, "m");
    describe.number(detector.get(), "detector_distance", geometry.distance, "m");
    // The beam hits the PONI only if the detector is not tilted; otherwise the PONI file has to tell.
    if (geometry.rot1 == 0 && geometry.rot2 == 0) {
      describe.number(detector.get(), "beam_center_x", geometry.poni2 / geometry.detector.pixel2, "pixel");
      describe.number(detector.get(), "beam_center_y", geometry.poni1 / geometry.detector.pixel1, "pixel");
    }
    describe.number(detector.get(), "bit_depth_image", static_cast<std::int64_t>(8 * size_of(layout_.type)));
    describe.number(detector.get(), "count_time", kFrameSeconds, "s");
    describe.number(detector.get(), "frame_time", kFrameSeconds, "s");
    describe.number(detector.get(), "saturation_value", cutoff);
    const Hdf5Handle specific = describe.group(detector.get(), "detectorSpecific", "NXcollection");
    describe.number(specific.get(), "x_pixels_in_detector", std::int64_t{scan_.shape().cols});
    describe.number(specific.get(), "y_pixels_in_detector", std::int64_t{scan_.shape().rows});
    describe.number(specific.get(), "nimages", static_cast<std::int64_t>(scan_.frames()));
    describe.number(specific.get(), "ntrigger", std::int64_t{1});
    describe.number(specific.get(), "photon_energy", kElectronvoltMetre / *geometry.wavelength, "eV");
    describe.number(specific.get(), "countrate_correction_count_cutoff", cutoff);
    write_pixel_mask(specific.get(), scan_, file.path());
    if (scan_.phantom() != nullptr) describe_columns(entry.get(), detector.get(), *scan_.phantom(), describe);
  }
  file.close();
}

void EigerWriter::open_data_file(std::uint64_t number) {
  file_ = std::make_unique<DataFile>(layout_.data_file(number));
  const fs::path& path = file_->file.path();
  const std::uint64_t first = (number - 1) * layout_.images_per_file;
  const std::uint64_t frames = std::min(layout_.images_per_file, scan_.frames() - first);
  const Describer describe(path);
  describe.attribute(file_->file.get(), "NX_class", "NXroot");
  const Hdf5Handle entry = describe.group(file_->file.get(), "entry", "NXentry");
  const Hdf5Handle data = describe.group(entry.get(), "data", "NXdata");
  describe.attribute(data.get(), "signal", "data");
  const Shape shape = scan_.shape();
  file_->data = create_packed(data.get(), "data", layout_.type, {frames, shape.rows, shape.cols}, path);
  describe.attribute(file_->data.get(), "image_nr_low", static_cast<std::int64_t>(first + 1));
  describe.attribute(file_->data.get(), "image_nr_high", static_cast<std::int64_t>(first + frames));
}

void EigerWriter::append(std::uint64_t frame, std::span<const std::byte> chunk) {
  const Hdf5Session session;
  const std::uint64_t place = frame % layout_.images_per_file;
  if (place == 0) open_data_file(frame / layout_.images_per_file + 1);
  write_packed(file_->data, {place, 0, 0}, chunk, file_->file.path());
  if (place + 1 < layout_.images_per_file && frame + 1 < scan_.frames()) return;
  file_->data = {};
  file_->file.close();
  file_.reset();
}

}  // namespace annulus
