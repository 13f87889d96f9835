#include <annulus/core/error.hpp>
#include <annulus/engine/inputs.hpp>

#include <gtest/gtest.h>

#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

TEST(Inputs, DirectoryGivesImagesInNaturalOrder) {
  const ScratchFolder folder;
  for (const char* name :
       {"img_10.cbf", "img_9.cbf", "img_1.cbf.gz", ".hidden.cbf", "notes.txt", "scan.poni", "A.TIF"}) {
    folder.write(name, "x");
  }
  EXPECT_EQ(expand_inputs({folder.path().string()}),
            (std::vector<std::string>{folder.file("A.TIF"), folder.file("img_1.cbf.gz"),
                                      folder.file("img_9.cbf"), folder.file("img_10.cbf")}));
}

TEST(Inputs, DataFilesOfAMasterAreLeftToIt) {
  const ScratchFolder folder;
  for (const char* name : {"a_master.h5", "a_data_000001.h5", "a_data_000002.h5", "a_data_x.h5",
                           "b_data_000001.h5", "a_data_000001.cbf"}) {
    folder.write(name, "x");
  }
  EXPECT_EQ(expand_inputs({folder.path().string()}),
            (std::vector<std::string>{folder.file("a_data_000001.cbf"), folder.file("a_data_x.h5"),
                                      folder.file("a_master.h5"), folder.file("b_data_000001.h5")}));
  EXPECT_EQ(expand_inputs({folder.file("a_data_000002.h5")}).size(), 1u) << "by its name it is meant";
}

TEST(Inputs, PatternsMatchInNaturalOrderAndKeepTheDataset) {
  const ScratchFolder folder;
  folder.write("a2.h5", "x");
  folder.write("a10.h5", "x");
  EXPECT_EQ(expand_inputs({folder.file("a*.h5") + "::/entry/data"}),
            (std::vector<std::string>{folder.file("a2.h5") + "::/entry/data",
                                      folder.file("a10.h5") + "::/entry/data"}));
}

TEST(Inputs, FileWhoseNameLooksLikeAPatternIsItself) {
  const ScratchFolder folder;
  const std::string name = folder.write("frame[1].cbf", "x");
  folder.write("frame1.cbf", "x");
  EXPECT_EQ(expand_inputs({name}), std::vector<std::string>{name});
}

TEST(Inputs, ListsNameOneInputALineWithComments) {
  const ScratchFolder folder;
  const std::string a = folder.write("a.cbf", "x"), b = folder.write("b.cbf", "x");
  const std::string list = folder.write("list.txt", "# my scan\r\n" + b + "\r\n\n  " + a + "  \n");
  EXPECT_EQ(expand_inputs({"@" + list}), (std::vector<std::string>{b, a}));
}

TEST(Inputs, WhatYieldsNothingIsAnError) {
  const ScratchFolder folder;
  folder.write("empty/notes.txt", "x");
  const std::string list = folder.write("empty.txt", "# nothing\n");
  const std::string circle = folder.file("circle.txt");
  folder.write("circle.txt", "@" + circle + "\n");
  for (const std::string& argument : {folder.file("missing.cbf"), folder.file("*.cbf"), folder.file("empty"),
                                      "@" + list, "@" + folder.file("no.txt"), "@" + circle}) {
    EXPECT_THROW(expand_inputs({argument}), Error) << argument;
  }
  EXPECT_THROW(expand_inputs({}), Error);
}

TEST(Inputs, AFolderOfImagesIsFollowedAloneAndOneOfHdf5FilesFileByFile) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  const std::string a = folder.file("a");
  EXPECT_EQ(folder_to_follow({a}), a);  // empty: frames will come
  const std::string image = folder.write("a/img_1.cbf", "x");
  EXPECT_EQ(folder_to_follow({a}), a);
  EXPECT_FALSE(folder_to_follow({image}));
  EXPECT_THROW(folder_to_follow({a, image}), Error);
  folder.write("a/scan_master.h5", "x");
  EXPECT_THROW(folder_to_follow({a}), Error);
  std::filesystem::remove(image);
  EXPECT_FALSE(folder_to_follow({a}));
}

}  // namespace
}  // namespace annulus::testing
