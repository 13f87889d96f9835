// Small files for the tests of readers.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/sources/frame_source.hpp>

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// A folder of its own for each test.
class FormatsTest : public ::testing::Test {
 protected:
  FormatsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "annulus_formats_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FormatsTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// The pixels of a raw frame as T.
template <typename T>
std::vector<T> pixels_of(const Frame& frame) {
  EXPECT_EQ(frame.codec, Codec::kRaw);
  EXPECT_EQ(size_of(frame.type), sizeof(T));
  EXPECT_EQ(frame.payload.size(), frame.shape.size() * sizeof(T));
  std::vector<T> pixels(frame.payload.size() / sizeof(T));
  if (!pixels.empty()) std::memcpy(pixels.data(), frame.payload.data(), frame.payload.size());
  return pixels;
}

// The message of the kInput error that `action` must throw.
template <typename Action>
std::string input_fault(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "no error";
}

// Opening, or reading the first frame, must fail.
inline std::string open_fault(const std::string& url, const OpenOptions& options = {}) {
  return input_fault([&] { open_source(url, options)->read(0); });
}

// Real files, absent where only the sources were copied.
inline std::filesystem::path shared_data() {
  const char* folder = std::getenv("ANNULUS_SHARED_DATA");
  return folder != nullptr && *folder != '\0' ? folder : ANNULUS_SHARED_DATA_DIR;
}

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace annulus
