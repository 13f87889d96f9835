#include <annulus/core/url.hpp>

#include <gtest/gtest.h>

#include <string>

#include "scratch_folder.hpp"

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

TEST(Url, WhatExistsIsAFileWhateverColonsAreInTheNames) {
  const testing::ScratchFolder folder;
  const std::string plain = folder.write("a::b.cbf", "x"), scan = folder.write("a::b.h5", "x");
  EXPECT_EQ(split_url(plain).file, plain);
  EXPECT_FALSE(split_url(plain).dataset);
  for (const std::string dataset : {"/entry/data", "/x::y", "x::y::z", ""}) {
    const Url url = split_url(join_url(scan, dataset));
    EXPECT_EQ(url.file, scan);
    EXPECT_EQ(url.dataset, dataset);
  }
}

}  // namespace
}  // namespace annulus
