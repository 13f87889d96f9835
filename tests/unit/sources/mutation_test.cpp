// Damaged files of every format: each must give an image or an annulus::Error, and nothing else.
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/sources/writers.hpp>

#include <hdf5.h>
#include <sys/mman.h>
#include <tiffio.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "test_files.hpp"

namespace annulus {
namespace {

// Each file gets this much time at most; ANNULUS_FUZZ_SECONDS gives all of that much, for a longer search.
std::chrono::duration<double> time_limit(bool& given) {
  const char* seconds = std::getenv("ANNULUS_FUZZ_SECONDS");
  given = seconds != nullptr;
  return std::chrono::duration<double>(given ? std::atof(seconds) : 1.5);
}

class MutationTest : public FormatsTest {
 protected:
  // Flips, overwrites, cuts, repeats: a few at once, most of them where the header is.
  std::string mutate(std::string text, std::size_t header) {
    const int changes = 1 + static_cast<int>(random_() % 4);
    for (int i = 0; i < changes && !text.empty(); ++i) {
      const std::size_t range = random_() % 4 == 0 ? text.size() : std::min(header, text.size());
      const std::size_t at = random_() % std::max<std::size_t>(range, 1);
      switch (random_() % 8) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ (1 << random_() % 8));
          break;
        case 1:
          text[at] = static_cast<char>(random_());
          break;
        case 2:
          text[at] = "\x00\xff\x7f\x80"[random_() % 4];
          break;
        case 3:
          text.resize(random_() % 3 == 0 ? at
                                         : text.size() - random_() % std::min<std::size_t>(text.size(), 16));
          break;
        case 4:
          text.erase(at, 1 + random_() % 8);
          break;
        case 5:
          text.insert(at, text.substr(at, 1 + random_() % 40));
          break;
        case 6: {  // a number of the header, or what was none
          const std::string numbers[] = {"-1",         "0",     "99999999999999999999",
                                         "2147483648", "65536", "4294967297"};
          const auto digit = text.find_first_of("0123456789", at);
          if (digit < header) text.replace(digit, 1, numbers[random_() % std::size(numbers)]);
          break;
        }
        default: {
          const std::uint32_t words[] = {
              0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x10000, static_cast<std::uint32_t>(random_())};
          if (at + 4 <= text.size()) std::memcpy(text.data() + at, &words[random_() % std::size(words)], 4);
        }
      }
    }
    return text;
  }

  // All frames, so that every reader's own code and the decoder run.
  void run(const std::string& original, std::size_t header, int cases) {
    run_mutations([&] { return mutate(original, header); }, cases);
  }

  template <typename Mutation>
  void run_mutations(Mutation&& mutation, int cases) {
    bool search = false;
    const auto limit = time_limit(search);
    const auto start = std::chrono::steady_clock::now();
    int images = 0, errors = 0;
    for (int i = 0; (search || i < cases) && std::chrono::steady_clock::now() - start < limit; ++i) {
      const std::string name = store(mutation());
      try {
        const auto source = open_source(name);
        for (std::uint64_t frame = 0; frame < std::min<std::uint64_t>(source->info().frames, 8); ++frame) {
          try {
            const auto image = decode_frame(source->read(frame));
            ASSERT_EQ(image.pixels.size(), image.shape.size());
            ++images;
          } catch (const Error&) {
            ++errors;
          }
        }
      } catch (const Error& error) {
        ASSERT_STRNE(error.what(), "");
        ++errors;
      }
    }
    if (search) std::printf("%d images, %d errors\n", images, errors);
    EXPECT_GT(images, 0);
    EXPECT_GT(errors, 0);
  }

  MutationTest() : memory_(::memfd_create("annulus_mutation", MFD_CLOEXEC)) {}
  ~MutationTest() override { ::close(memory_); }

  void keep_on_disk() { on_disk_ = true; }
  std::uint64_t random() { return random_(); }

 private:
  // In memory: the disk would take most of the time.
  std::string store(const std::string& text) {
    if (on_disk_) return write("mutated", text);
    EXPECT_EQ(::ftruncate(memory_, 0), 0);
    EXPECT_EQ(::pwrite(memory_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return "/proc/self/fd/" + std::to_string(memory_);
  }

  int memory_;
  bool on_disk_ = false;
  std::mt19937_64 random_{20250101};
};

std::vector<std::int32_t> some_pixels(std::size_t count) {
  std::vector<std::int32_t> pixels(count);
  std::mt19937 random(5);
  for (auto& pixel : pixels) pixel = static_cast<std::int32_t>(random() >> (random() % 31 + 1));
  return pixels;
}

TEST_F(MutationTest, CbfGivesAnImageOrAnError) {
  CbfMetadata metadata;
  metadata.detector = "X";
  metadata.count_cutoff = 1000;
  metadata.wavelength = 1e-10;
  write_cbf(path("a"), {9, 11}, some_pixels(99), metadata);
  const auto text = slurp(path("a"));
  run(text, text.find("\x0c\x1a\x04\xd5") + 200, 20000);
}

TEST_F(MutationTest, EdfGivesAnImageOrAnError) {
  write_edf(path("a"), Image<std::int32_t>{{9, 11}, some_pixels(99)}, {{"WaveLength", "1e-10"}});
  const auto text = slurp(path("a"));
  run(text + text + text, 2 * 512 + 400, 20000);
}

TEST_F(MutationTest, NpyGivesAnImageOrAnError) {
  const std::string header = "{'descr': '>i4', 'fortran_order': False, 'shape': (2, 3, 5), }";
  const std::string padded = header + std::string(117 - header.size(), ' ') + "\n";
  run(std::string("\x93NUMPY\x01\x00\x76\x00", 10) + padded + bytes_of(some_pixels(30)), 128, 20000);
}

TEST_F(MutationTest, GzipGivesAnImageOrAnError) {
  write_edf(path("a"), Image<std::int32_t>{{9, 11}, some_pixels(99)}, {});
  const auto text = gzipped(slurp(path("a")));
  run(text, text.size(), 20000);
}

TEST_F(MutationTest, TiffGivesAnImageOrAnError) {
  for (const int compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
    for (const bool tiled : {false, true}) {
      TIFF* tiff = TIFFOpen(path("a").c_str(), "w");
      for (int page = 0; page < 2; ++page) {
        auto pixels = some_pixels(32 * 16);
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 16u);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 32u);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 32);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_INT);
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
        if (tiled) {
          TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 16u);
          TIFFSetField(tiff, TIFFTAG_TILELENGTH, 16u);
          for (std::uint32_t row = 0; row < 32; row += 16)
            TIFFWriteTile(tiff, pixels.data() + 16 * row, 0, row, 0, 0);
        } else {
          TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 5u);
          for (std::uint32_t row = 0; row < 32; ++row) TIFFWriteScanline(tiff, pixels.data() + 16 * row, row);
        }
        TIFFWriteDirectory(tiff);
      }
      TIFFClose(tiff);
      const auto text = slurp(path("a"));
      run(text, text.size(), 4000);
    }
  }
}

// Only the chunks: what the HDF5 library makes of damaged structures is its own affair (it leaks, and asks
// for absurd memory). A search with ANNULUS_FUZZ_SECONDS goes there too.
TEST_F(MutationTest, Hdf5ChunksGiveAnImageOrAnError) {
  constexpr H5Z_filter_t kLz4 = 32004, kBitshuffle = 32008;
  using Case = std::pair<H5Z_filter_t, hsize_t>;  // frames of a chunk
  for (const auto& [filter, together] :
       {Case{H5Z_FILTER_DEFLATE, 1}, {kLz4, 1}, {kBitshuffle, 1}, {kBitshuffle, 2}}) {
    if (H5Zfilter_avail(filter) <= 0) continue;
    const hid_t file = H5Fcreate(path("a").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t shape[] = {3, 45, 51}, chunk[] = {together, 45, 51};
    const hid_t space = H5Screate_simple(3, shape, nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 3, chunk);
    if (filter == H5Z_FILTER_DEFLATE) {
      H5Pset_shuffle(properties);
      H5Pset_deflate(properties, 6);
    } else {
      const unsigned values[] = {filter == kLz4 ? 1024u : 256u, 2};  // block size, LZ4
      H5Pset_filter(properties, filter, H5Z_FLAG_MANDATORY, filter == kLz4 ? 1 : 2, values);
    }
    const hid_t data = H5Dcreate2(file, "/data", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    std::vector<std::int32_t> pixels = some_pixels(3 * 45 * 51);
    for (auto& pixel : pixels) pixel &= 15;
    ASSERT_GE(H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels.data()), 0);
    H5Fflush(file, H5F_SCOPE_LOCAL);
    std::vector<std::pair<haddr_t, hsize_t>> places;
    for (hsize_t i = 0; i * together < 3; ++i) {
      hsize_t offset[3], size = 0;
      unsigned mask = 0;
      haddr_t address = 0;
      ASSERT_GE(H5Dget_chunk_info(data, space, i, offset, &mask, &address, &size), 0);
      places.emplace_back(address, size);
    }
    H5Dclose(data);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);

    const std::string original = slurp(path("a"));
    keep_on_disk();                        // the library wants a path in a file system
    ::testing::internal::CaptureStdout();  // the LZ4 plugin prints its complaints
    if (std::getenv("ANNULUS_FUZZ_SECONDS") != nullptr) {
      run(original, original.size(), 0);
      ::testing::internal::GetCapturedStdout();
      continue;
    }
    run_mutations(
        [&] {
          std::string text = original;
          for (int change = 0; change < 3; ++change) {
            const auto& [address, size] = places[random() % places.size()];
            const std::uint64_t within = random() % 2 == 0 ? 16 : size;  // often the chunk's own header
            text[address + random() % within] = static_cast<char>(random());
          }
          return text;
        },
        3000);
    ::testing::internal::GetCapturedStdout();
  }
}

}  // namespace
}  // namespace annulus
