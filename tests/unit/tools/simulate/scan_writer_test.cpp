#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/sha256.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/sources/frame_source.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <tools/simulate/powder.hpp>
#include <tools/simulate/scan_writer.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>

namespace annulus {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ScanWriter : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "annulus_scan_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static PowderScan small_scan(const std::string& detector = "Pilatus100k", std::uint64_t frames = 7) {
    SimulationOptions options;
    options.detector = detector;
    options.frames = frames;
    return PowderScan(options);
  }

  ScanOutput output(ScanFormat format, const std::string& subfolder = "new/folder") const {
    ScanOutput output;
    output.folder = folder_ / subfolder;
    output.format = format;
    output.threads = 3;
    return output;
  }

  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The kind and message of what write_scan throws.
  static std::pair<ErrorKind, std::string> failure(const PowderScan& scan, const ScanOutput& output) {
    try {
      write_scan(scan, output);
    } catch (const Error& error) {
      return {error.kind(), error.what()};
    }
    return {ErrorKind::kInterrupted, "no error"};
  }

  fs::path folder_;
};

// By HDF5's own filters and types.
template <typename Pixel>
std::vector<Pixel> read_stack(const fs::path& path, hid_t type, std::vector<hsize_t>& extent,
                              bool& has_sign) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
  const hid_t space = H5Dget_space(set);
  extent.resize(3);
  H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  const hid_t stored = H5Dget_type(set);
  has_sign = H5Tget_sign(stored) == H5T_SGN_2;
  std::vector<Pixel> pixels(extent[0] * extent[1] * extent[2]);
  EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels.data()), 0);
  H5Tclose(stored);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  return pixels;
}

TEST_F(ScanWriter, WritesCbfFilesThatReadBackAsTheFrames) {
  const PowderScan scan = small_scan();
  const ScanFiles files = write_scan(scan, output(ScanFormat::kCbf));
  ASSERT_EQ(files.frames.size(), 7u);
  EXPECT_EQ(files.frames.front().filename(), "scan_00001.cbf");
  EXPECT_EQ(files.frames.back().filename(), "scan_00007.cbf");
  OpenOptions checked;
  checked.verify_checksum = true;
  for (std::uint64_t i = 0; i < 7; ++i) {
    const auto source = open_source(files.frames[i].string(), checked);
    EXPECT_EQ(source->info().max_count, scan.options().count_cutoff);
    ASSERT_TRUE(source->info().wavelength.has_value());
    EXPECT_NEAR(*source->info().wavelength, *scan.geometry().wavelength, 1e-15);
    const Image<double> read = decode_frame(source->read(0));
    const Image<std::int32_t> expected = scan.frame(i);
    ASSERT_EQ(read.shape, expected.shape);
    ASSERT_TRUE(std::equal(read.pixels.begin(), read.pixels.end(), expected.pixels.begin())) << i;
  }
}

TEST_F(ScanWriter, WritesOneHdf5FileThatReadsBackAsTheFrames) {
  const PowderScan scan = small_scan();
  const ScanFiles files = write_scan(scan, output(ScanFormat::kHdf5));
  ASSERT_EQ(files.frames.size(), 1u);
  EXPECT_EQ(files.frames.front().filename(), "scan.h5");
  std::vector<hsize_t> extent;
  bool has_sign = false;
  const auto pixels = read_stack<std::int32_t>(files.frames.front(), H5T_NATIVE_INT32, extent, has_sign);
  EXPECT_THAT(extent, ::testing::ElementsAre(7, 195, 487));
  EXPECT_TRUE(has_sign);
  const std::size_t size = scan.shape().size();
  for (std::uint64_t i = 0; i < 7; ++i) {
    const Image<std::int32_t> expected = scan.frame(i);
    EXPECT_TRUE(std::equal(expected.pixels.begin(), expected.pixels.end(),
                           pixels.begin() + static_cast<std::ptrdiff_t>(i * size)))
        << i;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(files.poni.parent_path()), {}), 2);  // no .part is left
}

TEST_F(ScanWriter, WritesStacksThatAreSourcesOfFrames) {
  for (const char* detector : {"Pilatus100k", "Eiger500k"}) {
    const PowderScan scan = small_scan(detector, 3);
    const ScanFiles files = write_scan(scan, output(ScanFormat::kHdf5, detector));
    const auto source = open_source(files.frames.front().string());
    EXPECT_EQ(source->info().frames, 3u);
    EXPECT_EQ(source->info().max_count, scan.options().count_cutoff);
    ASSERT_TRUE(source->info().wavelength.has_value());
    EXPECT_NEAR(*source->info().wavelength, *scan.geometry().wavelength, 1e-20);
    const Image<double> read = decode_frame(source->read(2));
    const Image<std::int32_t> expected = scan.frame(2);
    ASSERT_EQ(read.shape, expected.shape);
    for (std::size_t i = 0; i < expected.pixels.size(); ++i) {
      const std::int64_t value = expected.pixels[i];
      const bool wraps = value < 0 && source->info().type == PixelType::kU32;
      ASSERT_EQ(read.pixels[i], static_cast<double>(wraps ? (std::int64_t{1} << 32) + value : value)) << i;
    }
  }
}

TEST_F(ScanWriter, EigerStacksAreUnsignedWithTopValuesForMarks) {
  const PowderScan scan = small_scan("Eiger1M", 2);
  const ScanFiles files = write_scan(scan, output(ScanFormat::kHdf5));
  std::vector<hsize_t> extent;
  bool has_sign = true;
  const auto pixels = read_stack<std::uint32_t>(files.frames.front(), H5T_NATIVE_UINT32, extent, has_sign);
  EXPECT_FALSE(has_sign);
  const Image<std::int32_t> expected = scan.frame(0);
  std::size_t marks = 0;
  for (std::size_t i = 0; i < expected.pixels.size(); ++i) {
    const std::int64_t value = expected.pixels[i];
    marks += value < 0;
    ASSERT_EQ(std::int64_t{pixels[i]}, value < 0 ? (std::int64_t{1} << 32) + value : value) << i;
  }
  EXPECT_GT(marks, 10000u);
}

TEST_F(ScanWriter, WritesTheMatchingPoni) {
  const PowderScan scan = small_scan();
  const Geometry read = read_poni(write_scan(scan, output(ScanFormat::kHdf5)).poni);
  EXPECT_EQ(read.detector.name, scan.geometry().detector.name);
  EXPECT_EQ(read.distance, scan.geometry().distance);
  EXPECT_EQ(read.poni1, scan.geometry().poni1);
  EXPECT_EQ(read.poni2, scan.geometry().poni2);
  EXPECT_EQ(read.wavelength, scan.geometry().wavelength);
}

TEST_F(ScanWriter, FilesDoNotDependOnThreads) {
  const PowderScan scan = small_scan();
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5}) {
    ScanOutput one = output(format, std::string(name_of(format)) + "/one");
    one.threads = 1;
    ScanOutput four = output(format, std::string(name_of(format)) + "/four");
    four.threads = 4;
    const ScanFiles a = write_scan(scan, one);
    const ScanFiles b = write_scan(scan, four);
    ASSERT_EQ(a.frames.size(), b.frames.size());
    for (std::size_t i = 0; i < a.frames.size(); ++i) {
      EXPECT_FALSE(bytes_of(a.frames[i]).empty());
      EXPECT_TRUE(bytes_of(a.frames[i]) == bytes_of(b.frames[i])) << a.frames[i];
    }
  }
}

// Recorded before phantoms came: the scans of before keep their bytes.
TEST_F(ScanWriter, WritesTheBytesItAlwaysWrote) {
  const ScanFiles files = write_scan(small_scan("Pilatus100k", 6), output(ScanFormat::kCbf));
  Sha256 sum;
  const std::string bytes = bytes_of(files.frames[3]);
  sum.add(std::as_bytes(std::span(bytes.data(), bytes.size())));
  EXPECT_EQ(sum.finish(), "ecf6e19d774ed97395b1fd2ea1aac9be8ba7c9a5698a1420cc307ea3a98b83a5");
}

TEST_F(ScanWriter, RefusesToOverwriteUnlessTold) {
  const PowderScan scan = small_scan("Pilatus100k", 2);
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5}) {
    ScanOutput where = output(format, std::string(name_of(format)));
    const fs::path last = scan_files(scan, where).frames.back();
    fs::create_directories(where.folder);
    std::ofstream(last) << "precious";
    const auto [kind, message] = failure(scan, where);
    EXPECT_EQ(kind, ErrorKind::kOutput);
    EXPECT_THAT(message, HasSubstr(last.string()));
    EXPECT_EQ(bytes_of(last), "precious");
    EXPECT_EQ(std::distance(fs::directory_iterator(where.folder), {}), 1) << "nothing else is written";
    where.overwrite = true;
    write_scan(scan, where);
    EXPECT_NE(bytes_of(last), "precious");
  }
}

TEST_F(ScanWriter, SaysWhichFolderCannotBeMade) {
  std::ofstream(folder_ / "file") << "not a folder";
  const auto [kind, message] = failure(small_scan(), output(ScanFormat::kCbf, "file/below"));
  EXPECT_EQ(kind, ErrorKind::kOutput);
  EXPECT_THAT(message, HasSubstr("file/below"));
}

TEST_F(ScanWriter, RefusesPrefixesThatAreNotFileNames) {
  for (const std::string& prefix : {std::string(), std::string("a/b"), std::string("a\0b", 3)}) {
    ScanOutput where = output(ScanFormat::kCbf);
    where.prefix = prefix;
    EXPECT_EQ(failure(small_scan(), where).first, ErrorKind::kUsage) << prefix;
  }
}

TEST_F(ScanWriter, ReportsProgressToTheEnd) {
  const PowderScan scan = small_scan();
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5}) {
    ScanOutput where = output(format, std::string(name_of(format)));
    std::vector<std::uint64_t> calls;
    where.progress = [&](std::uint64_t done, std::uint64_t total) {
      EXPECT_EQ(total, 7u);
      calls.push_back(done);
    };
    write_scan(scan, where);
    EXPECT_THAT(calls, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7));
  }
}

TEST_F(ScanWriter, StopsWhenProgressThrows) {
  const PowderScan scan = small_scan("Pilatus100k", 200);
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5}) {
    ScanOutput where = output(format, std::string(name_of(format)));
    where.progress = [](std::uint64_t done, std::uint64_t) {
      if (done == 3) throw Error(ErrorKind::kInterrupted, "test", "stop");
    };
    EXPECT_THROW(write_scan(scan, where), Error);
    EXPECT_LT(std::distance(fs::directory_iterator(where.folder), {}), 20);
    EXPECT_FALSE(fs::exists(where.folder / "scan.h5"));
    EXPECT_FALSE(fs::exists(where.folder / "scan.h5.part"));
  }
}

// A limit on file sizes stands for a disk that fills up while frames are written.
TEST_F(ScanWriter, NamesTheFileThatDoesNotFitTheDisk) {
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5}) {
    const PowderScan scan = small_scan();
    ScanOutput where = output(format, std::string(name_of(format)));
    const auto attempt = [&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{60000, 60000};
      setrlimit(RLIMIT_FSIZE, &limit);
      const auto [kind, message] = failure(scan, where);
      const bool named = message.find((where.folder / "scan").string()) != std::string::npos;
      std::fputs(message.c_str(), stderr);
      std::_Exit(kind == ErrorKind::kOutput && named && !fs::exists(where.folder / "scan.h5") ? 0 : 1);
    };
    EXPECT_EXIT(attempt(), ::testing::ExitedWithCode(0), "");
  }
}

TEST(ScanFormat, HasNames) {
  EXPECT_EQ(scan_format_from_name("cbf"), ScanFormat::kCbf);
  EXPECT_EQ(scan_format_from_name("hdf5"), ScanFormat::kHdf5);
  EXPECT_EQ(scan_format_from_name("png"), std::nullopt);
}

TEST_F(ScanWriter, AnEigerScanHasAMasterAndDataFiles) {
  const PowderScan scan = small_scan("Eiger500k");
  ScanOutput eiger = output(ScanFormat::kEiger);
  eiger.images_per_file = 3;
  const ScanFiles files = write_scan(scan, eiger);
  ASSERT_EQ(files.frames.size(), 1u);
  EXPECT_EQ(files.frames.front().filename(), "scan_master.h5");
  ASSERT_EQ(files.data.size(), 3u);
  EXPECT_EQ(files.data.back().filename(), "scan_data_000003.h5");
  for (const auto& entry : fs::directory_iterator(eiger.folder)) EXPECT_NE(entry.path().extension(), ".part");

  const auto source = open_source(files.frames.front().string());
  ASSERT_EQ(source->info().frames, 7u);
  EXPECT_EQ(source->info().promised, 7u);
  EXPECT_EQ(source->info().type, PixelType::kU32);
  EXPECT_EQ(source->info().max_count, scan.options().count_cutoff);
  const auto mask = source->pixel_mask();
  ASSERT_TRUE(mask);
  for (std::uint64_t i = 0; i < 7; ++i) {
    const Frame frame = source->read(i);
    EXPECT_EQ(frame.codec, Codec::kBitshuffleLz4);
    const Image<double> found = decode_frame(frame);
    const Image<std::int32_t> expected = scan.frame(i);
    for (std::size_t pixel = 0; pixel < found.pixels.size(); ++pixel) {
      const std::int32_t value = expected.pixels[pixel];
      ASSERT_EQ(found.pixels[pixel], value < 0 ? 4294967295.0 : value)
          << "frame " << i << ", pixel " << pixel;
      ASSERT_EQ(mask->pixels[pixel], value < 0) << "pixel " << pixel;
    }
  }
}

// A plugin that was loaded earlier in the program, as one for bitshuffle does it, writes its own parameters.
herr_t change_parameters(hid_t properties, hid_t, hid_t) {
  const unsigned values[] = {9, 9, 9, 9, 9, 9};
  return H5Pmodify_filter(properties, 32008, H5Z_FLAG_OPTIONAL, std::size(values), values);
}

std::size_t pass_on(unsigned, std::size_t, const unsigned*, std::size_t bytes, std::size_t*, void**) {
  return bytes;
}

TEST_F(ScanWriter, APluginInTheProgramDoesNotChangeEigerFiles) {
  const PowderScan scan = small_scan("Eiger500k", 2);
  const ScanFiles without = write_scan(scan, output(ScanFormat::kEiger, "without"));
  const H5Z_class2_t plugin{H5Z_CLASS_T_VERS, 32008, 1, 1, "test", nullptr, change_parameters, pass_on};
  ASSERT_GE(H5Zregister(&plugin), 0);
  const ScanFiles with = write_scan(scan, output(ScanFormat::kEiger, "with"));
  EXPECT_EQ(bytes_of(with.data.front()), bytes_of(without.data.front()));
  EXPECT_EQ(open_source(with.frames.front().string())->read(1).codec, Codec::kBitshuffleLz4);
}

TEST_F(ScanWriter, SmallPixelsOfEigerFilesOverloadBelowTheirMarks) {
  for (const auto& [type, cutoff] : {std::pair{PixelType::kU16, 65532}, {PixelType::kU8, 252}}) {
    SimulationOptions options;
    options.detector = "Eiger500k";
    options.frames = 1;
    options.ring_counts = 100000;
    const PowderScan scan(options);
    ScanOutput eiger = output(ScanFormat::kEiger, std::string(name_of(type)));
    eiger.eiger_type = type;
    const auto source = open_source(write_scan(scan, eiger).frames.front().string());
    EXPECT_EQ(source->info().max_count, cutoff);
    EXPECT_EQ(source->info().type, type);
    const Image<double> found = decode_frame(source->read(0));
    const Image<std::int32_t> expected = scan.frame(0);
    std::size_t overloaded = 0;
    for (std::size_t pixel = 0; pixel < found.pixels.size(); ++pixel) {
      const std::int32_t value = expected.pixels[pixel];
      ASSERT_EQ(found.pixels[pixel], value < 0 ? cutoff + 3 : std::min(value, cutoff + 1))
          << "pixel " << pixel;
      overloaded += value > cutoff;
    }
    EXPECT_GT(overloaded, 0u);
  }
}

TEST_F(ScanWriter, RefusesWhatNoEigerWrites) {
  const PowderScan scan = small_scan("Eiger500k", 2);
  ScanOutput eiger = output(ScanFormat::kEiger);
  eiger.eiger_type = PixelType::kI32;
  EXPECT_EQ(failure(scan, eiger).first, ErrorKind::kUsage);
  eiger.eiger_type = PixelType::kU32;
  eiger.images_per_file = 0;
  EXPECT_EQ(failure(scan, eiger).first, ErrorKind::kUsage);
  EXPECT_FALSE(fs::exists(eiger.folder));
  eiger.images_per_file = 1;
  fs::create_directories(eiger.folder);
  std::ofstream(eiger.folder / "scan_data_000002.h5") << "mine";
  const auto [kind, text] = failure(scan, eiger);
  EXPECT_EQ(kind, ErrorKind::kOutput);
  EXPECT_THAT(text, HasSubstr("scan_data_000002.h5"));
  EXPECT_FALSE(fs::exists(eiger.folder / "scan_master.h5"));
}

}  // namespace
}  // namespace annulus
