#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/sources/writers.hpp>

#include <fmt/core.h>
#include <tools/simulate/eiger_writer.hpp>
#include <tools/simulate/phantom_file.hpp>
#include <tools/simulate/scan_columns.hpp>
#include <tools/simulate/scan_writer.hpp>
#include <tools/simulate/stack_writer.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Runs the frames on threads, in order of their start; the first exception stops all and is thrown again.
class FrameRunner {
 public:
  FrameRunner(std::uint64_t frames, const ScanOutput& output) : frames_(frames), output_(output) {}

  // compute(i) runs anywhere; the function it returns is called before the frame counts as done, in the order
  // of the frames if `ordered`.
  template <typename Compute>
  void run(bool ordered, const Compute& compute) {
    const auto work = [&] {
      try {
        for (std::uint64_t i = next_++; i < frames_ && !stopped_; i = next_++) {
          auto finish = compute(i);
          if (!ordered) finish();
          std::unique_lock lock(mutex_);
          if (ordered) {
            turn_.wait(lock, [&] { return done_ == i || stopped_; });
            if (stopped_) return;
            finish();
          }
          ++done_;
          if (output_.progress) output_.progress(done_, frames_);
          turn_.notify_all();
        }
      } catch (...) {
        stop(std::current_exception());
      }
    };
    const auto threads = std::min<std::uint64_t>(resolve_threads(output_.threads), frames_);
    {
      std::vector<std::jthread> workers;
      for (std::uint64_t t = 1; t < threads; ++t) workers.emplace_back(work);
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void stop(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stopped_ = true;
    turn_.notify_all();
  }

  std::uint64_t frames_;
  const ScanOutput& output_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t done_ = 0;
  std::exception_ptr failure_;
};

void refuse_existing(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  throw Error(ErrorKind::kOutput, path.string(), "the file is already there",
              "choose another folder or prefix, or give `overwrite`");
}

CbfMetadata metadata_of(const PowderScan& scan) {
  const Geometry& geometry = scan.geometry();
  CbfMetadata metadata;
  metadata.detector = geometry.detector.name + ", simulated";
  metadata.pixel_size_x = geometry.detector.pixel2;
  metadata.pixel_size_y = geometry.detector.pixel1;
  metadata.count_cutoff = scan.options().count_cutoff;
  metadata.wavelength = geometry.wavelength;
  metadata.distance = geometry.distance;
  // The PONI is where the beam hits only if the detector is not tilted; otherwise the PONI file has to tell.
  if (geometry.rot1 == 0 && geometry.rot2 == 0) {
    metadata.beam_xy = {geometry.poni2 / geometry.detector.pixel2, geometry.poni1 / geometry.detector.pixel1};
  }
  return metadata;
}

void write_cbf_files(const PowderScan& scan, const ScanOutput& output, const ScanFiles& files) {
  const CbfMetadata metadata = metadata_of(scan);
  FrameRunner(scan.frames(), output).run(false, [&](std::uint64_t i) {
    return [&files, &metadata, &scan, i, image = scan.frame(i)] {
      CbfMetadata of_frame = metadata;
      if (scan.phantom() != nullptr) of_frame.extra = header_lines(*scan.phantom(), i);
      write_cbf(files.frames[i], image.shape, image.pixels, of_frame);
    };
  });
}

void write_hdf5_file(const PowderScan& scan, const ScanOutput& output, const ScanFiles& files) {
  StackWriter writer(files.frames.front(), scan);
  FrameRunner(scan.frames(), output).run(true, [&](std::uint64_t i) {
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

void write_eiger_files(const PowderScan& scan, const ScanOutput& output) {
  EigerWriter writer(eiger_layout(output), scan);
  FrameRunner(scan.frames(), output).run(true, [&](std::uint64_t i) {
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

ScanFiles scan_files(const PowderScan& scan, const ScanOutput& output) {
  if (output.prefix.empty() || output.prefix.find('/') != std::string::npos ||
      output.prefix.find('\0') != std::string::npos) {
    throw Error(ErrorKind::kUsage, fmt::format("prefix '{}'", output.prefix), "it cannot begin a file's name",
                "use letters, digits, '_' and '-'");
  }
  ScanFiles files;
  files.poni = output.folder / (output.prefix + ".poni");
  if (scan.phantom() != nullptr) {
    files.columns = output.folder / (output.prefix + ".csv");
    // Not .h5, which would make it a frame of its folder.
    files.truth = output.folder / (output.prefix + "_phantom.nxs");
  }
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

ScanFiles write_scan(const PowderScan& scan, const ScanOutput& output) {
  ScanFiles files = scan_files(scan, output);
  std::error_code error;
  fs::create_directories(output.folder, error);
  if (error && !output.folder.empty()) {
    throw Error(ErrorKind::kOutput, output.folder.string(),
                fmt::format("the folder cannot be made: {}", error.message()),
                "choose a folder that can be written");
  }
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
  if (files.truth) write_phantom_file(*files.truth, scan);
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
