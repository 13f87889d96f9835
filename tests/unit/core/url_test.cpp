#include <annulus/core/url.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

TEST(Url, WithoutColonsIsAFile) {
  const Url url = split_url("folder/scan_1:2.cbf");
  EXPECT_EQ(url.file, "folder/scan_1:2.cbf");
  EXPECT_FALSE(url.dataset);
}

TEST(Url, TheDatasetFollowsTheLastTwoColons) {
  const Url url = split_url("a::b.h5::/entry/data");
  EXPECT_EQ(url.file, "a::b.h5");
  EXPECT_EQ(url.dataset, "/entry/data");
  EXPECT_EQ(join_url(url.file, *url.dataset), "a::b.h5::/entry/data");
}

TEST(Url, ColonsWithNothingBehindThemAskForTheDatasetThatTheFileNames) {
  const Url url = split_url("scan.h5::");
  EXPECT_EQ(url.file, "scan.h5");
  EXPECT_EQ(url.dataset, "");
}

}  // namespace
}  // namespace annulus
