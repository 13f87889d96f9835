#include <annulus/core/parallel.hpp>

#include <gmock/gmock.h>
#include <pthread.h>

#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace annulus {
namespace {

// While it lives, no thread can be made: there is no room for its stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&usual_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&usual_);
    pthread_attr_destroy(&usual_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_;
};

void expect_all_is_done() {
  std::vector<int> calls(1000);
  parallel_ranges(calls.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++calls[i];
  });
  EXPECT_THAT(calls, ::testing::Each(1));
  for (const unsigned threads : {1u, 4u}) {
    int done = 0;
    SideTask task(threads, [&] { ++done; });
    task.finish();
    EXPECT_EQ(done, 1);
    SideTask failing(threads, [] { throw std::runtime_error("of the task"); });
    EXPECT_THROW(failing.finish(), std::runtime_error);
  }
}

TEST(Parallel, AllIsDoneOnce) { expect_all_is_done(); }

TEST(Parallel, WhereNoThreadCanBeMadeTheCallingOneDoesTheWork) {
  const NoThreads scope;
  EXPECT_THROW(std::jthread([] {}), std::system_error);
  expect_all_is_done();
}

}  // namespace
}  // namespace annulus
