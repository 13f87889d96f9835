// Tomograms of all bins, read back: means and patterns are those of the numbers that were written, and damage
// is named.
#include <annulus/core/error.hpp>
#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/xrd_ct/volume_file.hpp>
#include <annulus/xrd_ct/volume_reader.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

// Sides that are no multiples of those of chunks, nor of the pieces in which a file is read.
constexpr std::size_t kVolumeSize = 37, kVolumeBins = 150;
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

float value_at(std::size_t y, std::size_t x, std::size_t bin) {
  if ((y == 3 && x == 4) || (y == 5 && bin == 70)) return kNoNumber;
  return static_cast<float>(100 * y + x) * 0.5F + static_cast<float>(bin * bin % 97);
}

double centre_of(std::size_t bin) { return 2 + 0.25 * static_cast<double>(bin); }

VolumeDescription described() {
  VolumeDescription made;
  made.input = "patterns.nxs";
  made.plan_hash = "hash";
  made.options = {{"method", "fbp"}};
  made.radial.name = "2theta";
  made.radial.units = "deg";
  for (std::size_t i = 0; i < kVolumeBins; ++i) made.radial.centres.push_back(centre_of(i));
  for (std::size_t i = 0; i <= kVolumeBins; ++i) made.radial.edges.push_back(centre_of(i) - 0.125);
  made.y = {"y", "mm", {}};
  made.x = {"x", "mm", {}};
  for (std::size_t i = 0; i < kVolumeSize; ++i) {
    made.y.positions.push_back(0.1 * static_cast<double>(i));
    made.x.positions.push_back(-1 + 0.2 * static_cast<double>(i));
  }
  return made;
}

class VolumeReader : public ::testing::Test {
 protected:
  VolumeReader() {
    const Hdf5Session session;
    write_volume(path_, false, [](hid_t file) {
      VolumeWriter writer(file, described(), 1);
      Tomogram tomogram(kVolumeSize, kVolumeBins);
      for (std::size_t i = 0; i < tomogram.values.size(); ++i)
        tomogram.values[i] =
            value_at(i / kVolumeBins / kVolumeSize, i / kVolumeBins % kVolumeSize, i % kVolumeBins);
      writer.write_tomogram(0, tomogram);
      writer.write_facts({{"angles", 18U},
                          {"stripes", true},
                          {"centre", 0.5},
                          {"note", "some \u00e4"},
                          {"left_out", std::vector<std::int64_t>{3, -4}}});
    });
  }

  void change(const std::function<void(hid_t file)>& how) {
    const Hdf5Session session;
    const Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    how(file.get());
  }

  std::string fault() {
    return message_of(ErrorKind::kInput, [this] { VolumeFile(path_).describe(); });
  }

  const testing::ScratchFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "volume.nxs";
};

void expect_means(const GridImage& image, std::size_t first, std::size_t end) {
  ASSERT_EQ(image.values.size(), kVolumeSize * kVolumeSize);
  for (std::size_t y = 0; y < kVolumeSize; ++y) {
    for (std::size_t x = 0; x < kVolumeSize; ++x) {
      double sum = 0;
      int count = 0;
      for (std::size_t bin = first; bin < end; ++bin) {
        if (std::isnan(value_at(y, x, bin))) continue;
        sum += value_at(y, x, bin);
        ++count;
      }
      if (count == 0) {
        EXPECT_TRUE(std::isnan(image.at(y, x))) << y << " " << x;
      } else {
        EXPECT_EQ(image.at(y, x), sum / count) << y << " " << x;  // halves: exact in any order
      }
    }
  }
}

TEST_F(VolumeReader, TheImageIsTheMeanOfTheBins) {
  const VolumeFile volume(path_);
  const GridImage all = volume.mean_image({});
  expect_means(all, 0, kVolumeBins);
  EXPECT_EQ(all.title, "mean of all 150 bins");
  EXPECT_EQ(all.rows.positions, described().y.positions);
  EXPECT_EQ(all.columns.positions, described().x.positions);
  EXPECT_EQ(all.columns.unit, "mm");
  // Ends are included: bins 60 to 130, over two borders of chunks.
  const GridImage part = volume.mean_image(Range{centre_of(60), centre_of(130)});
  expect_means(part, 60, 131);
  EXPECT_EQ(part.title, "mean of 71 bins, 17 to 34.5 deg");
  expect_means(volume.mean_image(Range{centre_of(70) - 0.1, centre_of(70) + 0.1}), 70, 71);
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] {
                           volume.mean_image(Range{50, 60});
                         }),
              ::testing::AllOf(HasSubstr("no bin from 50 to 60"), HasSubstr("from 1.875 to 39.375 deg")));
}

TEST_F(VolumeReader, APatternIsThatOfItsVoxel) {
  const VolumeFile volume(path_);
  const std::vector<double> pattern = volume.pattern(20, 36);
  ASSERT_EQ(pattern.size(), kVolumeBins);
  for (std::size_t bin = 0; bin < kVolumeBins; ++bin) EXPECT_EQ(pattern[bin], value_at(20, 36, bin));
  EXPECT_EQ(volume.radial(), described().radial);
  for (const auto& voxel : {std::pair{kVolumeSize, std::size_t{0}}, {std::size_t{0}, kVolumeSize}})
    EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { volume.pattern(voxel.first, voxel.second); }),
                HasSubstr("0,0 to 36,36"));
}

TEST_F(VolumeReader, ItSaysWhatItIs) {
  const nlohmann::json said = VolumeFile(path_).describe();
  EXPECT_EQ(said["kind"], "tomogram of all bins");
  EXPECT_EQ(said["shape"], (nlohmann::json{kVolumeSize, kVolumeSize, kVolumeBins}));
  EXPECT_EQ(said["range"], (nlohmann::json{1.875, 39.375}));
  EXPECT_EQ(said["x"]["range"].front(), -1);
  EXPECT_EQ(said["parameters"], (nlohmann::json{{"angles", 18},
                                                {"stripes", true},
                                                {"centre", 0.5},
                                                {"note", "some \u00e4"},
                                                {"left_out", {3, -4}},
                                                {"raw_file", "patterns.nxs"},
                                                {"plan_hash", "hash"}}));
  EXPECT_EQ(said["options"], (nlohmann::json{{"method", "fbp"}}));
  EXPECT_NO_THROW(touch_volume(path_));
  EXPECT_NO_THROW(touch_volume(folder_.path() / "absent"));
}

TEST_F(VolumeReader, DamageIsNamed) {
  const auto keep = folder_.path() / "kept.nxs";
  std::filesystem::copy_file(path_, keep);
  const auto fault_after = [&](const std::function<void(hid_t file)>& how) {
    std::filesystem::copy_file(keep, path_, std::filesystem::copy_options::overwrite_existing);
    change(how);
    return fault();
  };
  const auto remove = [](const char* name) {
    return [name](hid_t file) { H5Ldelete(file, name, H5P_DEFAULT); };
  };
  EXPECT_THAT(fault_after(remove("/entry/data/data")), HasSubstr("data/data does not have the shape"));
  EXPECT_THAT(fault_after(remove("/entry/data/y")), HasSubstr("data/y is not there"));
  EXPECT_THAT(fault_after(remove("/entry/data/radial_axis")), HasSubstr("is not a tomogram of all bins"));
  EXPECT_THAT(fault_after([](hid_t file) {
                H5Ldelete(file, "/entry/data/y", H5P_DEFAULT);
                const Hdf5Handle group(H5Gopen2(file, "/entry/data", H5P_DEFAULT), H5Gclose);
                write_array(group.get(), "y", std::vector<double>(kVolumeSize - 1));
              }),
              HasSubstr("data/data does not have the shape"));
  EXPECT_THAT(fault_after([](hid_t file) {
                const Hdf5Handle group(H5Gopen2(file, "/entry/reconstruction/options", H5P_DEFAULT),
                                       H5Gclose);
                write_text(group.get(), "more", std::string_view("of variable length"));
              }),
              HasSubstr("options/more is not a text of fixed length"));
  EXPECT_THAT(fault_after([](hid_t file) {
                const Hdf5Handle axis(H5Dopen2(file, "/entry/data/radial_axis", H5P_DEFAULT), H5Dclose);
                H5Adelete(axis.get(), "units");
                write_attribute(axis.get(), "units", std::string_view("deg"));
              }),
              HasSubstr("the attribute units of /entry/data/radial_axis is not a text of fixed length"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { VolumeFile(folder_.path() / "absent.nxs"); }),
              HasSubstr("does not exist"));
}

}  // namespace
}  // namespace annulus
