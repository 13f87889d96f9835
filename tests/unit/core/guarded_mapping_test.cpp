#include <annulus/core/guarded_mapping.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace annulus {
namespace {

// A file of so many bytes, each with its own value, that is gone afterwards.
class TestFile {
 public:
  explicit TestFile(std::size_t size) : content_(size) {
    std::iota(content_.begin(), content_.end(), std::uint8_t{1});
    rewrite();
  }
  ~TestFile() { std::fclose(file_); }

  void rewrite() const {
    EXPECT_EQ(::pwrite(descriptor(), content_.data(), content_.size(), 0), std::ssize(content_));
  }
  void cut_to(std::size_t size) const { EXPECT_EQ(::ftruncate(descriptor(), static_cast<off_t>(size)), 0); }
  int descriptor() const { return ::fileno(file_); }
  std::byte at(std::size_t i) const { return std::byte{content_[i]}; }

 private:
  std::FILE* file_ = std::tmpfile();
  std::vector<std::uint8_t> content_;
};

constexpr std::size_t kSize = 100'000;

TEST(GuardedMapping, GivesTheBytesOfTheFile) {
  const TestFile file(kSize);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, kSize - 1}) {
    const auto bytes = map_guarded(file.descriptor(), offset, kSize - offset);
    ASSERT_TRUE(bytes);
    ASSERT_EQ(bytes->size(), kSize - offset);
    for (std::size_t i = 0; i < bytes->size(); ++i) ASSERT_EQ(bytes->data()[i], file.at(offset + i)) << i;
    EXPECT_TRUE(bytes->intact());
  }
  EXPECT_FALSE(map_guarded(file.descriptor(), 1, kSize));
  EXPECT_FALSE(map_guarded(file.descriptor(), 0, 0));
  EXPECT_FALSE(map_guarded(-1, 0, 1));
}

TEST(GuardedMapping, LeavesDescriptorsForOthers) {
  const TestFile file(kSize);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{60, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Bytes> mapped;
  while (auto bytes = map_guarded(file.descriptor(), 0, kSize)) mapped.push_back(std::move(*bytes));
  EXPECT_EQ(mapped.size(), 30u);
  mapped.pop_back();
  EXPECT_TRUE(map_guarded(file.descriptor(), 0, kSize));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(GuardedMapping, AFileThatIsCutCanBeReadToItsEndAndIsNotIntact) {
  for (const std::size_t left : {std::size_t{0}, std::size_t{10}, std::size_t{40'000}, kSize - 1}) {
    const TestFile file(kSize);
    const auto bytes = map_guarded(file.descriptor(), 3, kSize - 3);
    ASSERT_TRUE(bytes);
    const Bytes slice = bytes->slice(100, kSize - 200);
    file.cut_to(left);
    unsigned sum = 0;
    for (std::size_t i = 0; i < bytes->size(); ++i) sum += std::to_integer<unsigned>(bytes->data()[i]);
    EXPECT_LT(sum, 255u * kSize);
    EXPECT_FALSE(bytes->intact()) << left;
    EXPECT_FALSE(slice.intact()) << left;
  }
}

TEST(GuardedMapping, AFileThatIsRewrittenIsNotIntact) {
  const TestFile file(kSize);
  const auto bytes = map_guarded(file.descriptor(), 0, kSize);
  ASSERT_TRUE(bytes);
  ::usleep(20'000);  // more than a tick of the clock that files are stamped by
  file.rewrite();
  EXPECT_FALSE(bytes->intact());
}

TEST(GuardedMapping, PlacesAreGivenBackAndTheirEndIsNoFault) {
  const TestFile file(kSize);
  for (int round = 0; round < 2; ++round) {
    std::vector<Bytes> many;
    while (auto bytes = map_guarded(file.descriptor(), 0, kSize)) {
      many.push_back(*bytes);
      ASSERT_LT(many.size(), 100'000u);
    }
    EXPECT_GE(many.size(), 100u);
  }
  EXPECT_TRUE(map_guarded(file.descriptor(), 0, kSize));
}

TEST(GuardedMappingDeathTest, AnotherBusErrorEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // Whatever ends it: the signal, or a sanitizer's report.
  EXPECT_DEATH(
      {
        const TestFile file(kSize);
        const auto ours = map_guarded(file.descriptor(), 0, kSize);
        void* const other = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
        file.cut_to(0);
        static_cast<void>(static_cast<const volatile char*>(other)[50'000]);
        std::exit(0);
      },
      "");
}

}  // namespace
}  // namespace annulus
