#include <fmt/core.h>
#include <tools/simulate/hdf5_output.hpp>
#include <tools/simulate/scan_columns.hpp>
#include <tools/simulate/stack_writer.hpp>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr int kDeflateLevel = 1;

Hdf5Handle create_stack(hid_t parent, const SimulatedScan& scan, const fs::path& path) {
  const Shape shape = scan.shape();
  const std::array<hsize_t, 3> extent = {scan.frames(), shape.rows, shape.cols};
  const std::array<hsize_t, 3> chunk = {1, shape.rows, shape.cols};
  const Hdf5Handle space = checked(H5Screate_simple(3, extent.data(), nullptr), H5Sclose, path);
  const Hdf5Handle properties = timeless(path);
  if (H5Pset_chunk(properties.get(), 3, chunk.data()) < 0 || H5Pset_shuffle(properties.get()) < 0 ||
      H5Pset_deflate(properties.get(), kDeflateLevel) < 0) {
    fail_writing(path);
  }
  // Eiger files count without sign: the marks -1 and -2 are then the type's top values.
  const bool eiger = scan.geometry().detector.name.starts_with("Eiger");
  return checked(H5Dcreate2(parent, "data", eiger ? H5T_STD_U32LE : H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                            properties.get(), H5P_DEFAULT),
                 H5Dclose, path);
}

void describe_instrument(hid_t entry, const SimulatedScan& scan, const Describer& describe) {
  const Geometry& geometry = scan.geometry();
  const Hdf5Handle instrument = describe.group(entry, "instrument", "NXinstrument");
  const Hdf5Handle beam = describe.group(instrument.get(), "beam", "NXbeam");
  describe.number(beam.get(), "incident_wavelength", *geometry.wavelength * 1e10, "angstrom");
  const Hdf5Handle detector = describe.group(instrument.get(), "detector", "NXdetector");
  describe.text(detector.get(), "description", geometry.detector.name);
  describe.number(detector.get(), "y_pixel_size", geometry.detector.pixel1, "m");
  describe.number(detector.get(), "x_pixel_size", geometry.detector.pixel2, "m");
  describe.number(detector.get(), "distance", geometry.distance, "m");
  describe.number(detector.get(), "saturation_value", scan.beamline().count_cutoff);
  const Hdf5Handle specific = describe.group(detector.get(), "detectorSpecific", "NXcollection");
  describe.number(specific.get(), "countrate_correction_count_cutoff", scan.beamline().count_cutoff);
  if (scan.phantom() != nullptr) describe_columns(entry, detector.get(), *scan.phantom(), describe);
}

}  // namespace

struct StackWriter::File {
  explicit File(const fs::path& path) : file(path) {}

  PartialFile file;
  Hdf5Handle data;  // closed first
};

StackWriter::StackWriter(const fs::path& path, const SimulatedScan& scan) {
  const Hdf5Session session;
  file_ = std::make_unique<File>(path);
  const Describer describe(file_->file.path());
  const hid_t root = file_->file.get();
  describe.attribute(root, "NX_class", "NXroot");
  describe.attribute(root, "default", "entry");
  const Hdf5Handle entry = describe.group(root, "entry", "NXentry");
  describe.attribute(entry.get(), "default", "data");
  describe.text(entry.get(), "title", fmt::format("{}, {}", scan.title(), scan.geometry().detector.name));
  describe_instrument(entry.get(), scan, describe);
  const Hdf5Handle group = describe.group(entry.get(), "data", "NXdata");
  describe.attribute(group.get(), "signal", "data");
  file_->data = create_stack(group.get(), scan, path);
}

StackWriter::~StackWriter() {
  const Hdf5Session session;
  file_.reset();
}

std::vector<std::byte> StackWriter::compress(std::span<const std::int32_t> pixels) {
  const std::size_t count = pixels.size();
  std::vector<Bytef> shuffled(count * sizeof(std::int32_t));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint32_t>(pixels[i]);
    for (std::size_t byte = 0; byte < sizeof(value); ++byte) {
      shuffled[byte * count + i] = static_cast<Bytef>(value >> (8 * byte));
    }
  }
  uLongf size = compressBound(shuffled.size());
  std::vector<std::byte> chunk(size);
  // It fails for want of memory only: the buffer is large enough by construction.
  if (compress2(reinterpret_cast<Bytef*>(chunk.data()), &size, shuffled.data(), shuffled.size(),
                kDeflateLevel) != Z_OK) {
    throw std::bad_alloc();
  }
  chunk.resize(size);
  return chunk;
}

void StackWriter::append(std::uint64_t frame, std::span<const std::byte> chunk) {
  const Hdf5Session session;
  const std::array<hsize_t, 3> offset = {frame, 0, 0};
  if (H5Dwrite_chunk(file_->data.get(), H5P_DEFAULT, 0, offset.data(), chunk.size(), chunk.data()) < 0)
    fail_writing(file_->file.path());
}

void StackWriter::close() {
  const Hdf5Session session;
  file_->data = {};
  file_->file.close();
  file_.reset();
}

}  // namespace annulus
