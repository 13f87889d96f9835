#include <annulus/core/guarded_mapping.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
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

// What a program that had a handler before sees. Each case runs in a process of its own, as the guard is
// installed once, and ends with what the handler counted.
volatile sig_atomic_t calls = 0;
volatile sig_atomic_t calls_without_its_mask = 0;
sigjmp_buf after_fault;

void note_call() {
  calls = calls + 1;
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  if (::sigismember(&now, SIGUSR1) != 1) calls_without_its_mask = calls_without_its_mask + 1;
}

void plain_handler(int signal) {
  note_call();
  siglongjmp(after_fault, signal);
}

void handler_with_info(int signal, siginfo_t* info, void* context) {
  note_call();
  if (info->si_addr == nullptr || context == nullptr) std::_Exit(9);
  siglongjmp(after_fault, signal);
}

void install(void (*plain)(int), void (*with_info)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  ::sigemptyset(&action.sa_mask);
  ::sigaddset(&action.sa_mask, SIGUSR1);
  if (with_info != nullptr) {
    action.sa_sigaction = with_info;
    action.sa_flags = SA_SIGINFO;
  } else {
    action.sa_handler = plain;
  }
  ::sigaction(SIGBUS, &action, nullptr);
}

bool can_be_read(const void* address) {
  if (sigsetjmp(after_fault, 1) != 0) return false;
  static_cast<void>(*static_cast<const volatile char*>(address));
  return true;
}

// 0 if faults of others reach the handler and those of the guarded mapping do not, before and after it.
int faults_that_reach_the_wrong_one() {
  const TestFile file(kSize);
  const auto ours = map_guarded(file.descriptor(), 0, kSize);
  const char* const other =
      static_cast<const char*>(::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, file.descriptor(), 0));
  file.cut_to(0);
  int wrong = 0;
  wrong += can_be_read(other + 50'000) || calls != 1;
  wrong += !can_be_read(ours->data() + 50'000) || calls != 1 || ours->intact();
  wrong += can_be_read(other + 50'000) || calls != 2;
  return wrong + calls_without_its_mask;
}

bool has_handler() {
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL;
}

TEST(GuardedMappingDeathTest, NoHandlerIsInstalledWhereMappingIsForbidden) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        install(SIG_DFL, nullptr);
        const TestFile file(kSize);
        allow_mapping(false);
        const bool mapped = map_guarded(file.descriptor(), 0, kSize).has_value();
        const bool installed = has_handler();
        allow_mapping(true);
        const bool later = map_guarded(file.descriptor(), 0, kSize).has_value() && has_handler();
        std::_Exit(!mapped && !installed && later ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(GuardedMappingDeathTest, FaultsOfOthersReachTheHandlerThatWasThereBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        install(plain_handler, nullptr);
        std::_Exit(faults_that_reach_the_wrong_one());
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        install(nullptr, handler_with_info);
        std::_Exit(faults_that_reach_the_wrong_one());
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(GuardedMappingDeathTest, ASignalThatIsSentDoesWhatItDidBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto guard = [] {
    const TestFile file(kSize);
    if (!map_guarded(file.descriptor(), 0, kSize)) std::_Exit(8);
  };
  EXPECT_EXIT(
      {
        install(SIG_DFL, nullptr);
        guard();
        ::kill(::getpid(), SIGBUS);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        install(SIG_IGN, nullptr);
        const TestFile file(kSize);
        const auto ours = map_guarded(file.descriptor(), 0, kSize);
        ::kill(::getpid(), SIGBUS);
        file.cut_to(0);
        std::_Exit(can_be_read(ours->data() + 50'000) && !ours->intact() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        install([](int) { note_call(); }, nullptr);
        guard();
        ::kill(::getpid(), SIGBUS);
        std::_Exit(calls == 1 && calls_without_its_mask == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace annulus
