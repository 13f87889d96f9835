#include <annulus/core/error.hpp>
#include <annulus/core/large_vector.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/whole_file.hpp>
#include <annulus/version.hpp>
#include <annulus/xrd_ct/volume_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefinition = "NXtomoproc";
constexpr const char* kReconstruction = "/entry/reconstruction";

// A compromise: an image of one bin reads 64 times as much as it needs, a pattern of one voxel 256 times as
// much (docs/xrd_ct.md has the times).
constexpr std::array<hsize_t, 3> kChunk = {16, 16, 64};

bool is_volume(hid_t file) {
  return derived_file(file) == DerivedFile::kVolume &&
         read_text(file, std::string(kReconstruction) + "/program", TextLength::kFixed) == layout::kProgram;
}

void write_axis(hid_t group, const std::string& name, const std::vector<double>& values,
                const std::string& unit, const std::string& title) {
  const Hdf5Handle dataset = write_array(group, name.c_str(), values);
  if (!unit.empty()) write_attribute(dataset.get(), "units", FixedText{unit});
  if (!title.empty()) write_attribute(dataset.get(), "long_name", FixedText{title});
}

void add_link(hid_t group, const char* target, const char* name) {
  if (H5Lcreate_hard(group, target, group, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
    throw_hdf5(ErrorKind::kOutput, group, fmt::format("cannot link \"{}\"", name));
}

void write_radial(hid_t group, const Axis& radial) {
  write_axis(group, layout::axis_field(AxisKind::kRadial), radial.centres, radial.units, radial.name);
  if (!radial.edges.empty()) {
    write_axis(group, layout::edges_field(AxisKind::kRadial), radial.edges, radial.units,
               radial.name + " bin edges");
  }
}

}  // namespace

// Of three dimensions, the last of which is the radial axis; all 0 until it is written.
class VolumeCube {
 public:
  VolumeCube(hid_t group, const char* title, std::array<hsize_t, 3> extent)
      : extent_(extent), chunk_(kChunk) {
    for (std::size_t i = 0; i < 3; ++i) chunk_[i] = std::min(chunk_[i], extent_[i]);
    const Hdf5Handle space(H5Screate_simple(3, extent_.data(), nullptr), H5Sclose);
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation.get(), 3, chunk_.data());
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_IFSET);
    dataset_ = Hdf5Handle(
        H5Dcreate2(group, "data", H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    if (!dataset_) throw_hdf5(ErrorKind::kOutput, group, "cannot create the field \"data\"");
    write_attribute(dataset_.get(), "long_name", FixedText{title});
    write_attribute(dataset_.get(), "units", FixedText{"arbitrary units"});
  }

  // values: [extent 0][extent 1][bins]
  void write(std::size_t first_bin, std::size_t bins, const float* values, unsigned threads) {
    const bool whole_chunks =
        first_bin % chunk_[2] == 0 && (bins % chunk_[2] == 0 || first_bin + bins == extent_[2]);
    if (whole_chunks) {
      write_chunks(first_bin, bins, values, threads);
    } else {
      write_slab(first_bin, bins, values);
    }
  }

 private:
  // Chunks are put together by the threads, a row of them at a time, and written past the library's cache.
  void write_chunks(std::size_t first_bin, std::size_t bins, const float* values, unsigned threads) {
    const std::size_t across = (extent_[1] + chunk_[1] - 1) / chunk_[1];
    const std::size_t deep = (bins + chunk_[2] - 1) / chunk_[2];
    const std::size_t chunk_values = chunk_[0] * chunk_[1] * chunk_[2];
    chunks_.resize(across * deep * chunk_values);
    for (std::size_t top = 0; top < extent_[0]; top += chunk_[0]) {
      parallel_ranges(across * deep, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          gather(top, i / deep * chunk_[1], i % deep * chunk_[2], bins, values,
                 chunks_.data() + i * chunk_values);
      });
      for (std::size_t i = 0; i < across * deep; ++i) {
        const std::array<hsize_t, 3> place = {top, i / deep * chunk_[1], first_bin + i % deep * chunk_[2]};
        if (H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, place.data(), chunk_values * sizeof(float),
                           chunks_.data() + i * chunk_values) < 0)
          throw_hdf5(ErrorKind::kOutput, dataset_.get(), "cannot write a chunk");
      }
    }
  }

  // What lies beyond the extent is 0.
  void gather(std::size_t top, std::size_t left, std::size_t bin, std::size_t bins, const float* values,
              float* chunk) const {
    const std::size_t width = std::min<std::size_t>(chunk_[2], bins - bin);
    const std::size_t bottom = std::min<std::size_t>(top + chunk_[0], extent_[0]);
    const std::size_t right = std::min<std::size_t>(left + chunk_[1], extent_[1]);
    const bool part = width < chunk_[2] || bottom - top < chunk_[0] || right - left < chunk_[1];
    if (part) std::fill_n(chunk, chunk_[0] * chunk_[1] * chunk_[2], 0.0F);
    for (std::size_t y = top; y < bottom; ++y) {
      for (std::size_t x = left; x < right; ++x) {
        std::copy_n(values + (y * extent_[1] + x) * bins + bin, width,
                    chunk + ((y - top) * chunk_[1] + (x - left)) * chunk_[2]);
      }
    }
  }

  void write_slab(std::size_t first_bin, std::size_t bins, const float* values) const {
    const std::array<hsize_t, 3> start = {0, 0, first_bin}, count = {extent_[0], extent_[1], bins};
    const Hdf5Handle memory(H5Screate_simple(3, count.data(), nullptr), H5Sclose);
    const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dwrite(dataset_.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, values) < 0)
      throw_hdf5(ErrorKind::kOutput, dataset_.get(), "cannot write bins");
  }

  std::array<hsize_t, 3> extent_, chunk_;
  Hdf5Handle dataset_;
  LargeVector<float> chunks_;
};

namespace {

Hdf5Handle create_data(hid_t entry, const char* name, const std::vector<FixedText>& axes) {
  Hdf5Handle group = create_group(entry, name, "NXdata");
  write_attribute(group.get(), "signal", FixedText{"data"});
  write_attribute(group.get(), "axes", axes);
  return group;
}

// An object of texts, numbers, truths and lists, as fields of a group.
void write_fields(hid_t group, const nlohmann::ordered_json& facts) {
  for (const auto& [name, value] : facts.items()) {
    if (value.is_boolean()) {
      write_flag(group, name.c_str(), value.get<bool>());
    } else if (value.is_number_unsigned()) {
      write_number(group, name.c_str(), value.get<std::uint64_t>());
    } else if (value.is_number()) {
      write_number(group, name.c_str(), value.get<double>(), nullptr);
    } else if (value.is_string()) {
      write_text(group, name, FixedText{value.get_ref<const std::string&>()});
    } else if (!value.empty() && value.front().is_string()) {
      std::string lines;
      for (const auto& line : value) lines += line.get<std::string>() + "\n";
      write_text(group, name, FixedText{lines});
    } else if (!value.empty()) {
      write_array(group, name.c_str(), value.get<std::vector<std::int64_t>>());
    }
  }
}

}  // namespace

struct VolumeWriter::Parts {
  unsigned threads;
  Hdf5Handle parameters;
  std::optional<VolumeCube> tomogram, sinogram;

  Parts(hid_t file, const VolumeDescription& description, unsigned thread_count);
};

VolumeWriter::Parts::Parts(hid_t file, const VolumeDescription& description, unsigned thread_count)
    : threads(thread_count) {
  const std::string now = iso_time();
  write_root(file, kVersion, now);
  const Hdf5Handle entry = create_group(file, "entry", "NXentry");
  write_attribute(entry.get(), "default", FixedText{"data"});
  write_text(entry.get(), "title", FixedText{"XRD-CT: a diffraction pattern in every voxel"});
  write_text(entry.get(), "definition", FixedText{kDefinition});
  {
    // What NXtomoproc asks for and patterns do not say.
    const Hdf5Handle instrument = create_group(entry.get(), "instrument", "NXinstrument");
    const Hdf5Handle source = create_group(instrument.get(), "SOURCE", "NXsource");
    write_text(source.get(), "name", FixedText{"unknown"});
    write_text(source.get(), "type", FixedText{"unknown"});
    write_text(source.get(), "probe", FixedText{"x-ray"});
    const Hdf5Handle sample = create_group(entry.get(), "sample", "NXsample");
    write_text(sample.get(), "name", FixedText{"unknown"});
  }
  const Hdf5Handle process = create_group(entry.get(), "reconstruction", "NXprocess");
  write_text(process.get(), "program", FixedText{layout::kProgram});
  write_text(process.get(), "version", FixedText{kVersion});
  write_text(process.get(), "date", FixedText{now});
  parameters = create_group(process.get(), "parameters", "NXparameters");
  write_text(parameters.get(), "raw_file", FixedText{description.input.native()});
  write_text(parameters.get(), "plan_hash", FixedText{description.plan_hash});
  const Hdf5Handle options = create_group(process.get(), "options", "NXparameters");
  for (const auto& [key, text] : description.options) write_text(options.get(), key, FixedText{text});

  const Hdf5Handle data = create_data(entry.get(), "data", {{"y"}, {"x"}, {"radial_axis"}});
  const auto& [y, x] = std::tie(description.y, description.x);
  write_axis(data.get(), "y", y.positions, y.unit, y.name);
  write_axis(data.get(), "x", x.positions, x.unit, x.name);
  write_radial(data.get(), description.radial);
  // NXtomoproc calls the third axis z. Here it is that of the patterns.
  add_link(data.get(), "radial_axis", "z");
  write_attribute(
      data.get(), "description",
      FixedText{"A pattern in every voxel: data[y, x] over radial_axis, which is also called z. x "
                "and y are distances from the axis of rotation. A value is what a voxel adds to "
                "the intensity that the beam through it has."});
  tomogram.emplace(data.get(), "intensity of a voxel",
                   std::array<hsize_t, 3>{y.positions.size(), x.positions.size(), description.radial.bins()});
  if (description.sinogram) {
    const auto& [angle, translation] = *description.sinogram;
    const Hdf5Handle group =
        create_data(entry.get(), "sinogram", {{"angle"}, {"translation"}, {"radial_axis"}});
    write_axis(group.get(), "angle", angle.positions, angle.unit, angle.name);
    write_axis(group.get(), "translation", translation.positions, translation.unit, translation.name);
    write_radial(group.get(), description.radial);
    sinogram.emplace(group.get(), "intensity, as it was reconstructed",
                     std::array<hsize_t, 3>{angle.positions.size(), translation.positions.size(),
                                            description.radial.bins()});
  }
}

VolumeWriter::VolumeWriter(hid_t file, const VolumeDescription& description, unsigned threads)
    : parts_(std::make_unique<Parts>(file, description, threads)) {}

VolumeWriter::~VolumeWriter() = default;

void VolumeWriter::write_tomogram(std::size_t first_bin, const Tomogram& tomogram) {
  parts_->tomogram->write(first_bin, tomogram.bins, tomogram.values.data(), parts_->threads);
}

void VolumeWriter::write_sinogram(std::size_t first_bin, const Sinogram& sinogram) {
  parts_->sinogram->write(first_bin, sinogram.bins, sinogram.values.data(), parts_->threads);
}

void VolumeWriter::write_facts(const nlohmann::ordered_json& facts) {
  write_fields(parts_->parameters.get(), facts);
}

void write_volume(const fs::path& output, bool overwrite, const std::function<void(hid_t file)>& fill) {
  write_whole_file(output, overwrite, {"tomogram of all bins", "`output`", is_volume}, fill);
}

}  // namespace annulus
