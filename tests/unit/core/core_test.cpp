#include <annulus/core/bytes.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/core/sha256.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace annulus {
namespace {

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  Sha256 empty;
  EXPECT_EQ(empty.finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  const std::string text = "abc";
  abc.add(std::as_bytes(std::span(text).first(1)));
  abc.add(std::as_bytes(std::span(text).subspan(1)));
  EXPECT_EQ(abc.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, ArraysDoNotRunIntoEachOther) {
  Sha256 one, other;
  one.add_array(std::vector<int>{1, 2});
  one.add_array(std::vector<int>{3});
  other.add_array(std::vector<int>{1});
  other.add_array(std::vector<int>{2, 3});
  EXPECT_NE(one.finish(), other.finish());
}

TEST(Threads, AreAsManyAsTheProcessorsThatThisProcessMayUse) {
  EXPECT_EQ(resolve_threads(7), 7u);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(resolve_threads(0), static_cast<unsigned>(CPU_COUNT(&before)));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(resolve_threads(0), 1u);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(ParallelRanges, CoverEveryIndexOnce) {
  for (const std::size_t count : {0, 1, 2, 7, 1000}) {
    for (const unsigned threads : {1u, 2u, 3u, 64u}) {
      std::vector<std::atomic<int>> visits(count);
      parallel_ranges(count, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      for (const auto& visit : visits) EXPECT_EQ(visit, 1);
    }
  }
}

TEST(ParallelRanges, ThrowAgainWhatATaskThrew) {
  EXPECT_THROW(parallel_ranges(100, 4,
                               [](std::size_t begin, std::size_t) {
                                 if (begin > 0) throw std::runtime_error("part");
                               }),
               std::runtime_error);
}

TEST(Error, SaysWhereWhatAndWhatToDo) {
  const Error error(ErrorKind::kInput, "a.cbf", "it is empty", "copy it again");
  EXPECT_STREQ(error.what(), "a.cbf: it is empty (copy it again)");
  EXPECT_STREQ(Error(ErrorKind::kInput, "", "it is empty").what(), "it is empty");
}

TEST(Error, NamesTheOptionThatIsAtFault) {
  EXPECT_EQ(Error(ErrorKind::kUsage, "`max_count`", "it is 0").option(), "max_count");
  EXPECT_EQ(Error(ErrorKind::kPlan, "`npt`, `npt_azim`", "too many").option(), "npt");
  EXPECT_EQ(Error(ErrorKind::kUsage, "`distance` (metre)", "too far").option(), "distance");
  EXPECT_EQ(Error(ErrorKind::kInput, "a.cbf", "give `max_count`").option(), std::nullopt);
  EXPECT_EQ(Error(ErrorKind::kInput, "`", "it is empty").option(), std::nullopt);
  EXPECT_EQ(Error(ErrorKind::kInput, "", "it is empty").option(), std::nullopt);
}

TEST(PixelType, NamesAndSizesAreNumPys) {
  EXPECT_EQ(pixel_type_from_name("uint16"), PixelType::kU16);
  EXPECT_EQ(pixel_type_from_name("float64"), PixelType::kF64);
  EXPECT_FALSE(pixel_type_from_name("complex64"));
  EXPECT_EQ(size_of(PixelType::kI64), 8u);
  EXPECT_EQ(size_of(PixelType::kU8), 1u);
  EXPECT_EQ(name_of(PixelType::kF32), "float32");
  EXPECT_TRUE(is_float(PixelType::kF32));
  EXPECT_FALSE(is_float(PixelType::kI64));
}

TEST(Frame, IsNamedByItsFileAndNumber) {
  Frame frame;
  frame.id.source = "a.cbf";
  EXPECT_EQ(describe(frame), "a.cbf");
  frame.id.source = "a.h5::/entry/data";
  EXPECT_EQ(describe(frame), "a.h5::/entry/data, frame 0");
  frame.id.source = "a.edf";
  frame.id.in_source = 3;
  EXPECT_EQ(describe(frame), "a.edf, frame 3");
  frame.id.source = "a_master.h5";
  frame.id.in_source = 0;
  frame.id.of_several = true;
  EXPECT_EQ(describe(frame), "a_master.h5, frame 0");
}

TEST(Bytes, SlicesKeepTheirOwnerAlive) {
  Bytes part;
  {
    const Bytes whole(std::vector<std::byte>(100, std::byte{7}));
    part = whole.slice(40, 20);
  }
  EXPECT_EQ(part.size(), 20u);
  for (const std::byte byte : part.view()) EXPECT_EQ(byte, std::byte{7});
}

}  // namespace
}  // namespace annulus
