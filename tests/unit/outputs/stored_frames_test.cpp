#include <annulus/core/whole_source.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
namespace fs = std::filesystem;

FrameId frame(const std::string& source, std::uint64_t in_source = 0, bool of_several = false) {
  return {0, source, in_source, of_several};
}

TEST(StoredFrames, ASourceIsTheSameHoweverItsFolderIsWritten) {
  const Folder folder;
  fs::create_directory(folder / "scan");
  fs::create_directory_symlink("scan", folder / "link");
  const StoredFrames here(folder.path()), inside(folder / "scan");
  const SourceId id = here.source_id(frame("scan/a.cbf"));
  for (const fs::path& name :
       {fs::path("./scan/a.cbf"), fs::path("link/a.cbf"), fs::path("link/../scan/a.cbf"),
        folder / "scan/a.cbf", folder / "link/a.cbf"}) {
    EXPECT_EQ(here.source_id(frame(name.string())), id) << name;
  }
  EXPECT_EQ(inside.source_id(frame("a.cbf")), id);
}

TEST(StoredFrames, DifferentSourcesDifferWhateverTheirNamesShare) {
  const StoredFrames frames("/data");
  const std::string tail = "/" + std::string(5000, 'x') + ".h5";
  const std::vector<std::string> names = {"a" + tail,    "b" + tail,     "a\xff.cbf",   "a\xfe.cbf",
                                          "a.h5::/data", "a.h5::/other", "d\xff/a.cbf", "d\xfe/a.cbf"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < names.size(); ++j) {
      EXPECT_EQ(frames.source_id(frame(names[i])) == frames.source_id(frame(names[j])), i == j)
          << i << " " << j;
    }
  }
}

TEST(StoredFrames, FindsFramesByTheirPlaceAndSourcesByTheirOnlyFrame) {
  StoredFrames frames("/data");
  for (const FrameId& id : {frame("one.cbf"), frame("stack.npy", 0, true), frame("stack.npy", 3, true)})
    frames.add(frames.source_id(id), id.in_source, id.in_source == 3);
  EXPECT_EQ(frames.find(frame("one.cbf")), Held::kGood);
  EXPECT_EQ(frames.find(frame("one.cbf", kWholeSource)), Held::kGood);
  EXPECT_EQ(frames.find(frame("two.cbf")), Held::kNot);
  // Asked before anybody knows how many frames the file has.
  EXPECT_EQ(frames.find(frame("stack.npy", 0, false)), Held::kGood);
  EXPECT_EQ(frames.find(frame("stack.npy", 1, true)), Held::kNot);
  EXPECT_EQ(frames.find(frame("stack.npy", 3, true)), Held::kBad);
  EXPECT_EQ(frames.find(frame("stack.npy", kWholeSource)), Held::kNot);
}

TEST(StoredFrames, LooksOnceForADatasetsFile) {
  const Folder folder;
  std::ofstream(folder / "a.h5") << "file";
  const std::string name = (folder / "a.h5").string() + "::x::y";
  const StoredFrames frames("/data");
  const SourceId id = frames.source_id(frame(name));
  fs::remove(folder / "a.h5");
  EXPECT_EQ(frames.source_id(frame(name, 1)), id);
  EXPECT_NE(StoredFrames("/data").source_id(frame(name)), id) << "the file would be a.h5::x";
}

}  // namespace
}  // namespace annulus
