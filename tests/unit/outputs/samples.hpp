// A small plan, frames whose numbers are known in closed form, a folder that disappears, and a plain reader.
#pragma once

#include <annulus/outputs/sink.hpp>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace annulus::samples {

class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "annulus-outputs-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  // Where nothing waits for a disk, if there is such a place: for tests that write hundreds of files.
  static std::filesystem::path memory() {
    const std::filesystem::path place = "/dev/shm";
    return access(place.c_str(), W_OK) == 0 ? place : std::filesystem::temp_directory_path();
  }

 private:
  std::filesystem::path path_;
};

// Weights of 2^4, squared weights of 2^5, normalisation of 2^3 and dark of 2^2; bin b has normalisation b
// (bin 0 is empty).
inline std::shared_ptr<Plan> make_plan(std::uint32_t bins = 6, bool with_errors = true,
                                       bool with_dark = false) {
  auto plan = std::make_shared<Plan>();
  plan->options.bins = bins;
  plan->options.unit = Unit::kTwoThetaDeg;
  plan->options.polarization = 0.95;
  plan->geometry.distance = 0.25;
  plan->geometry.wavelength = 1e-10;
  plan->geometry.detector.name = "Pilatus100k";
  plan->geometry.detector.pixel1 = 172e-6;
  plan->geometry.detector.pixel2 = 173e-6;
  plan->weight_bits = 4;
  plan->variance_bits = with_errors ? 5 : 0;
  plan->normalization_bits = 3;
  plan->dark_bits = 2;
  plan->hash = std::string(60, 'a') + (with_errors ? "1" : "0") + (with_dark ? "1" : "0") + "00";
  Axis& radial = plan->axes.emplace_back(Axis{AxisKind::kRadial, "2theta", "deg"});
  for (std::uint32_t bin = 0; bin < bins; ++bin) {
    radial.centres.push_back(1.5 + bin);
    radial.edges.push_back(1.0 + bin);
    plan->totals.count.push_back(std::int64_t{bin} << 4);
    plan->totals.normalization.push_back(std::int64_t{bin} << 7);
    if (with_dark) plan->totals.dark.push_back(std::int64_t{bin} << 6);
  }
  radial.edges.push_back(1.0 + bins);
  return plan;
}

// Errors where the plan has bits for them.
inline Job job_of(std::shared_ptr<const Plan> plan) {
  const ErrorModel model = plan->variance_bits > 0 ? ErrorModel::kPoisson : ErrorModel::kNone;
  return {std::move(plan), {model}};
}

// The same bins, as lines of `radial`.
inline std::shared_ptr<Plan> make_cake(std::uint32_t azimuthal, std::uint32_t radial,
                                       bool with_dark = false) {
  const auto plan = make_plan(azimuthal * radial, true, with_dark);
  plan->options.bins = radial;
  plan->options.azimuth_bins = azimuthal;
  plan->axes[0].centres.resize(radial);
  plan->axes[0].edges.resize(radial + 1);
  Axis& azimuths = plan->axes.emplace_back(Axis{AxisKind::kAzimuth, "chi", "degrees"});
  for (std::uint32_t bin = 0; bin <= azimuthal; ++bin) {
    azimuths.edges.push_back(-180 + 360.0 * bin / azimuthal);
    if (bin < azimuthal) azimuths.centres.push_back(-180 + 360.0 * (bin + 0.5) / azimuthal);
  }
  plan->hash[0] = 'c';
  return plan;
}

inline bool is_bad(std::uint64_t index) { return index % 11 == 5; }
inline bool lacks_pixels(std::uint64_t index) { return index % 13 == 4; }
inline std::string source_of(std::uint64_t index) { return "/data/scan_" + std::to_string(index) + ".cbf"; }

// Bin b of frame i counts 4 * (i + b) photons of variance 4 * (i + 1)^2, over b * 2 of normalisation, or one
// pixel less where pixels are missing. So I and sigma follow without the library.
inline double expected_intensity(std::uint64_t index, std::uint32_t bin, bool with_dark = false) {
  if (is_bad(index) || bin == 0) return std::numeric_limits<double>::quiet_NaN();
  const double pixels = bin - (lacks_pixels(index) ? 0.5 : 0.0);
  const double counts = 4.0 * static_cast<double>(index + bin) - (with_dark ? pixels : 0);
  return counts / (2 * pixels);
}

inline double expected_error(std::uint64_t index, std::uint32_t bin) {
  if (is_bad(index) || bin == 0) return std::numeric_limits<double>::quiet_NaN();
  const double pixels = bin - (lacks_pixels(index) ? 0.5 : 0.0);
  return 2.0 * static_cast<double>(index + 1) / (2 * pixels);
}

inline ReducedFrame make_frame(const Plan& plan, std::uint64_t index) {
  ReducedFrame frame;
  frame.id.index = index;
  frame.id.source = source_of(index);
  frame.id.in_source = index % 3;
  frame.normalization = 2;
  if (is_bad(index)) {
    frame.fault = "the file is truncated";
    return frame;
  }
  Sums& sums = frame.sums;
  const auto signal = sums.make(Quantity::kSignal, plan.bins());
  const auto variance = sums.make(Quantity::kVariance, (plan.variance_bits > 0) ? plan.bins() : 0);
  const std::size_t lacking = lacks_pixels(index) ? plan.bins() : 0;
  const auto missing_count = sums.make(Quantity::kMissingCount, lacking);
  const auto missing_normalization = sums.make(Quantity::kMissingNormalization, lacking);
  const auto missing_dark = sums.make(Quantity::kMissingDark, plan.totals.dark.empty() ? 0 : lacking);
  frame.pattern.intensity = PooledArray<double>(plan.bins());
  frame.pattern.error = PooledArray<double>(variance.size());
  const auto i = static_cast<std::int64_t>(index);
  for (std::uint32_t bin = 0; bin < plan.bins(); ++bin) {
    signal[bin] = (4 * (i + bin)) << 4;
    frame.pattern.intensity[bin] = expected_intensity(index, bin, !plan.totals.dark.empty());
    if ((plan.variance_bits > 0)) {
      variance[bin] = (4 * (i + 1) * (i + 1)) << 5;
      frame.pattern.error[bin] = expected_error(index, bin);
    }
    if (!lacks_pixels(index)) continue;
    // Half a pixel a bin, and at the end what makes them whole pixels.
    const bool fills_up = bin > 1 && bin + 1 == plan.bins() && bin % 2 == 1;
    missing_count[bin] = bin == 0 ? 0 : fills_up ? 16 : 8;
    missing_normalization[bin] = bin == 0 ? 0 : 64;
    if (!missing_dark.empty()) missing_dark[bin] = bin == 0 ? 0 : 32;
  }
  for (const std::int64_t count : missing_count) sums.invalid_pixels += static_cast<std::uint64_t>(count);
  sums.invalid_pixels >>= plan.weight_bits;
  return frame;
}

inline std::vector<ReducedFrame> make_frames(const Plan& plan, std::uint64_t first, std::uint64_t count) {
  std::vector<ReducedFrame> frames;
  for (std::uint64_t i = first; i < first + count; ++i) frames.push_back(make_frame(plan, i));
  return frames;
}

inline RunDescription make_run() {
  RunDescription run;
  run.program_version = "1.2.3";
  run.backend = "cpu";
  run.options = {{"unit", "2th_deg"}, {"bins", "6"}, {"poni", "a.poni"}, {"error-model", "poisson"}};
  run.poni_text = "poni_version: 2\nDistance: 0.25\n";
  run.config_json = "{\"bins\": 6}";
  return run;
}

template <typename T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  return H5T_NATIVE_UINT8;
}

struct Extent {
  std::vector<hsize_t> size;
  hsize_t stored_bytes = 0;
};

// A file opened with nothing but HDF5's own calls and its default driver.
class PlainFile {
 public:
  explicit PlainFile(const std::filesystem::path& path)
      : id_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    EXPECT_GE(id_, 0) << path << " does not open";
  }
  ~PlainFile() { H5Fclose(id_); }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
};

template <typename T>
std::vector<T> read_all(const PlainFile& file, const char* dataset, Extent* extent = nullptr) {
  const hid_t id = H5Dopen2(file.id(), dataset, H5P_DEFAULT);
  EXPECT_GE(id, 0) << dataset;
  if (id < 0) return {};
  const hid_t space = H5Dget_space(id);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(id, native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << dataset;
  if (extent != nullptr) {
    extent->size.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, extent->size.data(), nullptr);
    extent->stored_bytes = H5Dget_storage_size(id);
  }
  H5Sclose(space);
  H5Dclose(id);
  return values;
}

template <typename T>
std::vector<T> read_all(const std::filesystem::path& path, const char* dataset, Extent* extent = nullptr) {
  return read_all<T>(PlainFile(path), dataset, extent);
}

// Texts of fixed length.
inline std::vector<std::string> read_texts(const PlainFile& file, const char* dataset) {
  const hid_t id = H5Dopen2(file.id(), dataset, H5P_DEFAULT);
  EXPECT_GE(id, 0) << dataset;
  if (id < 0) return {};
  const hid_t type = H5Dget_type(id);
  const hid_t space = H5Dget_space(id);
  const std::size_t length = H5Tget_size(type);
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
  std::vector<char> bytes(count * length + 1);
  EXPECT_GE(H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    texts.emplace_back(bytes.data() + i * length, strnlen(bytes.data() + i * length, length));
  }
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(id);
  return texts;
}

inline std::vector<std::string> read_texts(const std::filesystem::path& path, const char* dataset) {
  return read_texts(PlainFile(path), dataset);
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The number of frames in the file, all of which must be those that make_frame makes.
inline std::uint64_t check_frames(const std::filesystem::path& path, const Plan& plan) {
  const PlainFile file(path);
  if (file.id() < 0) return 0;
  Extent extent;
  const auto status = read_all<std::uint8_t>(file, "/entry/frames/status");
  const auto intensity = read_all<double>(file, "/entry/data/I", &extent);
  const auto sources = read_texts(file, "/entry/frames/source");
  const auto faults = read_texts(file, "/entry/frames/fault");
  EXPECT_EQ(extent.size, (std::vector<hsize_t>{status.size(), plan.bins()}));
  EXPECT_EQ(sources.size(), status.size());
  EXPECT_EQ(faults.size(), status.size());
  EXPECT_EQ(read_all<std::int64_t>(file, "/entry/reduction/accumulators/signal").size(), intensity.size());
  if (::testing::Test::HasFailure()) return status.size();
  for (std::size_t i = 0; i < status.size(); ++i) {
    EXPECT_EQ(status[i], is_bad(i) ? 1 : 0) << "frame " << i;
    EXPECT_EQ(sources[i], source_of(i)) << "frame " << i;
    EXPECT_EQ(faults[i].empty(), !is_bad(i)) << "frame " << i;
    for (std::uint32_t bin = 0; bin < plan.bins(); ++bin) {
      const double got = intensity[i * plan.bins() + bin];
      if (same(got, expected_intensity(i, bin))) continue;
      ADD_FAILURE() << "frame " << i << " bin " << bin << ": expected " << expected_intensity(i, bin)
                    << ", got " << got;
      return status.size();
    }
  }
  return status.size();
}

}  // namespace annulus::samples
