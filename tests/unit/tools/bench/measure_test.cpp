#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tools/bench/measure.hpp>

#include <stdexcept>

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Candidates that write their names down.
std::vector<Candidate> named_candidates(std::string names, std::string& log) {
  std::vector<Candidate> candidates;
  for (const char name : names) {
    candidates.push_back({std::string(1, name), {}, {}, [&log, name](std::vector<double>& seconds) {
                            log += name;
                            seconds.push_back(static_cast<double>(log.size()));
                          }});
  }
  return candidates;
}

TEST(Measure, WarmsUpOnceThenTakesTurnsThatBeginWithAnotherCandidateEachRound) {
  std::string log;
  const auto figures = measure(named_candidates("abc", log), 4, [] {});
  EXPECT_EQ(log, "abcabcbcacababc");
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_THAT(figures[0].seconds, ElementsAre(4, 9, 11, 13));  // the places of its letter, but for the first
  EXPECT_EQ(figures[1].bench, "b");
}

TEST(Measure, KeepsAllSamplesOfARun) {
  const Candidate three{"three", {}, {}, [](std::vector<double>& seconds) {
                          seconds.insert(seconds.end(), {1, 2, 3});
                        }};
  EXPECT_THAT(measure({three}, 2, [] {}).front().seconds, ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(Measure, AsksBeforeEveryRunAndEndsWithWhatIsThrown) {
  std::string log;
  int asked = 0;
  const auto stop_at_fourth = [&] {
    if (++asked == 4) throw std::runtime_error("enough");
  };
  EXPECT_THROW(measure(named_candidates("ab", log), 7, stop_at_fourth), std::runtime_error);
  EXPECT_EQ(log, "aba");
}

TEST(Measure, OfNothingIsNothing) {
  EXPECT_THAT(measure({}, 7, [] {}), IsEmpty());
}

TEST(Statistics, AreThoseOfNumPy) {
  // numpy.median, min, (percentile 75 - percentile 25) / median of [5, 1, 4, 2]: 3, 1, (4.25 - 1.75) / 3
  const Statistics even = statistics_of({5, 1, 4, 2});
  EXPECT_DOUBLE_EQ(even.median, 3);
  EXPECT_DOUBLE_EQ(even.minimum, 1);
  EXPECT_DOUBLE_EQ(even.spread, 2.5 / 3);
  // of [7, 3, 5]: 5, 3, (6 - 4) / 5
  const Statistics odd = statistics_of({7, 3, 5});
  EXPECT_DOUBLE_EQ(odd.median, 5);
  EXPECT_DOUBLE_EQ(odd.spread, 0.4);
  const Statistics one = statistics_of({2});
  EXPECT_DOUBLE_EQ(one.median, 2);
  EXPECT_DOUBLE_EQ(one.spread, 0);
}

}  // namespace
}  // namespace annulus
