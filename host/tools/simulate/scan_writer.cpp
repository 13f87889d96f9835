#include <annulus/core/error.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/sources/writers.hpp>

#include <fmt/core.h>
#include <tools/simulate/eiger_writer.hpp>
#include <tools/simulate/frame_runner.hpp>
#include <tools/simulate/output_files.hpp>
#include <tools/simulate/scan_columns.hpp>
#include <tools/simulate/scan_writer.hpp>
#include <tools/simulate/stack_writer.hpp>

#include <algorithm>

namespace annulus {
namespace {

namespace fs = std::filesystem;

CbfMetadata metadata_of(const SimulatedScan& scan) {
  const Geometry& geometry = scan.geometry();
  CbfMetadata metadata;
  metadata.detector = geometry.detector.name + ", simulated";
  metadata.pixel_size_x = geometry.detector.pixel2;
  metadata.pixel_size_y = geometry.detector.pixel1;
  metadata.count_cutoff = scan.beamline().count_cutoff;
  metadata.wavelength = geometry.wavelength;
  metadata.distance = geometry.distance;
  // The PONI is where the beam hits only if the detector is not tilted; otherwise the PONI file has to tell.
  if (geometry.rot1 == 0 && geometry.rot2 == 0) {
    metadata.beam_xy = {geometry.poni2 / geometry.detector.pixel2, geometry.poni1 / geometry.detector.pixel1};
  }
  return metadata;
}

void write_cbf_files(const SimulatedScan& scan, const ScanOutput& output, const ScanFiles& files) {
  const CbfMetadata metadata = metadata_of(scan);
  FrameRunner(scan.frames(), output.threads, output.progress).run(false, [&](std::uint64_t i) {
    return [&files, &metadata, &scan, i, image = scan.frame(i)] {
      CbfMetadata of_frame = metadata;
      if (scan.phantom() != nullptr) of_frame.extra = header_lines(*scan.phantom(), i);
      write_cbf(files.frames[i], image.shape, image.pixels, of_frame);
    };
  });
}

void write_hdf5_file(const SimulatedScan& scan, const ScanOutput& output, const ScanFiles& files) {
  StackWriter writer(files.frames.front(), scan);
  FrameRunner(scan.frames(), output.threads, output.progress).run(true, [&](std::uint64_t i) {
    return [&writer, i, chunk = StackWriter::compress(scan.frame(i).pixels)] { writer.append(i, chunk); };
  });
  writer.close();
}

EigerLayout eiger_layout(const ScanOutput& output) {
  const PixelType type = output.eiger_type;
  if (type != PixelType::kU8 && type != PixelType::kU16 && type != PixelType::kU32) {
    throw Error(ErrorKind::kUsage, fmt::format("pixel type {}", name_of(type)),
                "no Eiger file has such pixels", "uint8, uint16 or uint32");
  }
  if (output.images_per_file == 0) {
    throw Error(ErrorKind::kUsage, "images per file", "0 images are no file", "give at least 1");
  }
  return {output.folder, output.prefix, type, output.images_per_file};
}

void write_eiger_files(const SimulatedScan& scan, const ScanOutput& output) {
  EigerWriter writer(eiger_layout(output), scan);
  FrameRunner(scan.frames(), output.threads, output.progress).run(true, [&](std::uint64_t i) {
    return [&writer, i, chunk = pack_eiger_frame(scan, i, output.eiger_type)] { writer.append(i, chunk); };
  });
}

}  // namespace

std::string_view name_of(ScanFormat format) {
  switch (format) {
    case ScanFormat::kCbf:
      return "cbf";
    case ScanFormat::kHdf5:
      return "hdf5";
    case ScanFormat::kEiger:
      break;
  }
  return "eiger";
}

std::optional<ScanFormat> scan_format_from_name(std::string_view name) {
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5, ScanFormat::kEiger}) {
    if (name == name_of(format)) return format;
  }
  return std::nullopt;
}

ScanFiles scan_files(const SimulatedScan& scan, const ScanOutput& output) {
  check_prefix(output.prefix);
  ScanFiles files;
  files.poni = output.folder / (output.prefix + ".poni");
  if (scan.phantom() != nullptr) files.columns = output.folder / (output.prefix + ".csv");
  // Not .h5, which would make it a frame of its folder.
  if (!scan.truth().empty())
    files.truth = output.folder / fmt::format("{}_{}.nxs", output.prefix, scan.truth());
  if (output.format == ScanFormat::kHdf5) {
    files.frames.push_back(output.folder / (output.prefix + ".h5"));
    return files;
  }
  if (output.format == ScanFormat::kEiger) {
    const EigerLayout layout = eiger_layout(output);
    files.frames.push_back(layout.master());
    for (std::uint64_t number = 1; number <= layout.data_files(scan.frames()); ++number)
      files.data.push_back(layout.data_file(number));
    return files;
  }
  const std::size_t digits = std::max<std::size_t>(5, std::to_string(scan.frames()).size());
  for (std::uint64_t i = 1; i <= scan.frames(); ++i) {
    files.frames.push_back(output.folder / fmt::format("{}_{:0{}}.cbf", output.prefix, i, digits));
  }
  return files;
}

ScanFiles write_scan(const SimulatedScan& scan, const ScanOutput& output) {
  ScanFiles files = scan_files(scan, output);
  make_folder(output.folder);
  if (!output.overwrite) {
    refuse_existing(files.poni);
    for (const fs::path& path : files.frames) refuse_existing(path);
    for (const fs::path& path : files.data) refuse_existing(path);
    for (const auto& path : {files.columns, files.truth}) {
      if (path) refuse_existing(*path);
    }
  }
  write_poni(files.poni, scan.geometry());
  if (files.columns) write_columns(*files.columns, *scan.phantom());
  if (files.truth) scan.write_truth(*files.truth);
  if (output.format == ScanFormat::kCbf) {
    write_cbf_files(scan, output, files);
  } else if (output.format == ScanFormat::kHdf5) {
    write_hdf5_file(scan, output, files);
  } else {
    write_eiger_files(scan, output);
  }
  return files;
}

}  // namespace annulus
