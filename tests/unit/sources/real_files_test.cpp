// Real detector files, against the shapes, extremes and sums that FabIO and h5py gave (MANIFEST.tsv).
#include <annulus/sources/header_text.hpp>
#include <annulus/sources/source_json.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

class RealFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared_data() / "MANIFEST.tsv")) {
      GTEST_SKIP() << "no shared data at " << shared_data() << " (set ANNULUS_SHARED_DATA)";
    }
  }
};

std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns;
  while (true) {
    const auto tab = line.find('\t');
    columns.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

TEST_F(RealFilesTest, HaveTheShapesExtremesAndSumsOfTheManifest) {
  const std::string manifest = slurp(shared_data() / "MANIFEST.tsv");
  std::string_view rest = manifest;
  take_line(rest);
  int images = 0;
  while (!rest.empty()) {
    const auto columns = columns_of(take_line(rest));
    if (columns.size() < 12 || columns[11].empty() || columns[6].starts_with("stream")) continue;
    SCOPED_TRACE(columns[0]);
    std::vector<std::int64_t> shape;
    for (std::string_view sides = columns[7]; !sides.empty();) {
      const auto x = sides.find('x');
      shape.push_back(parse_integer(sides.substr(0, x)).value_or(-1));
      sides.remove_prefix(x == std::string_view::npos ? sides.size() : x + 1);
    }
    ASSERT_GE(shape.size(), 2u);
    OpenOptions options;
    options.verify_checksum = true;
    options.raw_shape =
        Shape{static_cast<std::uint32_t>(shape[shape.size() - 2]), static_cast<std::uint32_t>(shape.back())};
    const auto path = (shared_data() / columns[0]).string();
    const auto json = describe_source(*open_source(path, options), path);
    EXPECT_EQ(json["shape"][0], shape[shape.size() - 2]);
    EXPECT_EQ(json["shape"][1], shape.back());
    EXPECT_DOUBLE_EQ(json["min"].get<double>(), parse_real(columns[9]).value());
    EXPECT_DOUBLE_EQ(json["max"].get<double>(), parse_real(columns[10]).value());
    EXPECT_NEAR(json["sum"].get<double>(), parse_real(columns[11]).value(),
                1e-12 * std::abs(json["sum"].get<double>()));
    // This mask has 32 bits a pixel; the manifest's type is that of the mask it stands for.
    if (!columns[6].starts_with("TIFF mask")) {
      EXPECT_EQ(json["type"], columns[8]);
    }
    ++images;
  }
  EXPECT_GE(images, 20);
}

TEST_F(RealFilesTest, KeepTheirNamesFromDecidingTheFormat) {
  const auto path =
      (shared_data() / "swaxs-reduction/b_tassone_Standards_LaB6_T20_ctr0_scan1_0000.cbf").string();
  EXPECT_EQ(open_source(path)->info().format, "EDF");
}

TEST_F(RealFilesTest, AreRefusedWhenDamaged) {
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(open_fault((shared_data() / "xraylarch/Pilatus.damaged.tiff").string()),
              HasSubstr("strip 48 is not in the file"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(RealFilesTest, GiveSaturationAndWavelength) {
  const auto cbf = open_source((shared_data() / "dials/ximg2701_00001.cbf").string());
  EXPECT_EQ(cbf->info().max_count, 1221554);
  EXPECT_DOUBLE_EQ(cbf->info().wavelength.value(), 0.68940e-10);
  EXPECT_EQ(open_source((shared_data() / "xraylarch/Pilatus.tiff").string())->info().max_count, 239516);
}

}  // namespace
}  // namespace annulus
