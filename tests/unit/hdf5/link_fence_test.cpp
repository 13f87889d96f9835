#include <annulus/hdf5/link_fence.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "scratch_folder.hpp"

namespace annulus {
namespace {

namespace fs = std::filesystem;

class LinkFenceTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }

  testing::ScratchFolder folder_;
};

TEST_F(LinkFenceTest, AllowsWhatIsBelowTheFolderOfTheFile) {
  const LinkFence fence(file("in/scan.h5"));
  EXPECT_TRUE(fence.allows(file("in/scan.h5")));
  EXPECT_TRUE(fence.allows(file("in/data.h5")));
  EXPECT_TRUE(fence.allows(file("in/deep/er/data.h5")));
  EXPECT_FALSE(fence.refused());
  EXPECT_FALSE(fence.allows(file("data.h5")));
  EXPECT_FALSE(fence.allows((folder_.path() / "in" / ".." / "data.h5").string()));
  EXPECT_FALSE(fence.allows(file("in_name_only/data.h5"))) << "the name of a folder is more than its start";
  EXPECT_EQ(fence.refused(), fs::canonical(folder_.path() / "data.h5"));
}

TEST_F(LinkFenceTest, FollowsSymbolicLinksBeforeItAnswers) {
  file("in/scan.h5");
  file("out/data.h5");
  fs::create_symlink(folder_.path() / "out" / "data.h5", folder_.path() / "in" / "data.h5");
  fs::create_directory_symlink(folder_.path() / "out", folder_.path() / "in" / "below");
  const LinkFence fence((folder_.path() / "in" / "scan.h5").string());
  EXPECT_FALSE(fence.allows((folder_.path() / "in" / "data.h5").string()));
  EXPECT_FALSE(fence.allows((folder_.path() / "in" / "below" / "data.h5").string()));
}

TEST_F(LinkFenceTest, AFileThatIsASymbolicLinkIsInBothFolders) {
  file("real/scan.h5");
  file("names/own.h5");
  fs::create_symlink(folder_.path() / "real" / "scan.h5", folder_.path() / "names" / "scan.h5");
  const LinkFence fence((folder_.path() / "names" / "scan.h5").string());
  EXPECT_TRUE(fence.allows(file("real/data.h5")));
  EXPECT_TRUE(fence.allows((folder_.path() / "names" / "own.h5").string()));
  EXPECT_FALSE(fence.allows(file("data.h5")));
}

TEST_F(LinkFenceTest, AllowsOneMoreFolderAndThoseOfHdf5sVariables) {
  const std::string scan = file("in/scan.h5");
  EXPECT_TRUE(LinkFence(scan, (folder_.path() / "more").string()).allows(scan))
      << "a folder that is not there";
  file("more/data.h5");
  EXPECT_TRUE(LinkFence(scan, (folder_.path() / "more").string())
                  .allows((folder_.path() / "more" / "data.h5").string()));
  EXPECT_TRUE(LinkFence(scan, "/").allows("/etc/passwd"));
  EXPECT_FALSE(LinkFence(scan).allows("/etc/passwd"));
  setenv("HDF5_EXT_PREFIX", "${ORIGIN}/../more", 1);
  EXPECT_TRUE(LinkFence(scan).allows((folder_.path() / "more" / "data.h5").string()));
  unsetenv("HDF5_EXT_PREFIX");
  EXPECT_FALSE(LinkFence(scan).allows((folder_.path() / "more" / "data.h5").string()));
}

}  // namespace
}  // namespace annulus
