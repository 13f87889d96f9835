#include <annulus/maps/window.hpp>

#include <gmock/gmock.h>

#include <fstream>

#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Window, IsARangeWithOrWithoutNameAndSides) {
  const Window plain = parse_window("2.5:3", 4);
  EXPECT_EQ(plain.name, "window4");
  EXPECT_EQ(plain.range, (Range{2.5, 3}));
  EXPECT_FALSE(plain.sides);
  const Window peak = parse_window("Au_111=2.5:3,-1:2.5,3:1e1", 1);
  EXPECT_EQ(peak.name, "Au_111");
  ASSERT_TRUE(peak.sides);
  EXPECT_EQ(peak.sides->first, (Range{-1, 2.5}));
  EXPECT_EQ(peak.sides->second, (Range{3, 10}));
}

TEST(Window, WhatIsNoneIsNamed) {
  const auto refusal = [](const std::string& text) {
    return message_of(ErrorKind::kUsage, [&] { parse_window(text, 1); });
  };
  for (const char* text : {"", "1", "1:2:3", "a=", "1:b", "a=1:2,", "1:2;3:4"})
    EXPECT_THAT(refusal(text), AllOf(HasSubstr("`window`"), HasSubstr("is no window"), HasSubstr("FROM:TO")))
        << text;
  EXPECT_THAT(refusal("1:2,3:4"), HasSubstr("has not one range or three"));
  EXPECT_THAT(refusal("2:2"), HasSubstr("the peak from 2 to 2 has no extent"));
  EXPECT_THAT(refusal("3:2"), HasSubstr("the peak from 3 to 2 ends before it begins"));
  EXPECT_THAT(refusal("nan:2"), HasSubstr("is no range"));
  EXPECT_THAT(refusal("5:6,4:3,7:8"), HasSubstr("the left side from 4 to 3 ends before it begins"));
  EXPECT_THAT(refusal("5:6,4:5.5,7:8"), HasSubstr("not between its two sides"));
  EXPECT_THAT(refusal("5:6,7:8,3:4"), HasSubstr("not between its two sides"));
  EXPECT_THAT(refusal("a b=1:2"), HasSubstr("has the name 'a b'"));
  EXPECT_THAT(refusal("../x=1:2"), HasSubstr("a name is made of letters"));
}

std::filesystem::path table_of(const ScratchFolder& folder, const std::string& text) {
  std::ofstream(folder.path() / "windows.csv") << text;
  return folder.path() / "windows.csv";
}

TEST(WindowTable, HasAWindowPerLine) {
  const ScratchFolder folder;
  const std::vector<Window> windows = all_windows({"first=1:2"}, table_of(folder,
                                                                          "\xef\xbb\xbf# peaks of a scan\r\n"
                                                                          "to,from,name,left_from,left_to,"
                                                                          "right_from,right_to\r\n"
                                                                          "3,2.5,Au,1,2,3,4\n"
                                                                          "\n"
                                                                          "7,6,\"Ce\",,,,\n"));
  ASSERT_EQ(windows.size(), 3);
  EXPECT_EQ(windows[1].name, "Au");
  EXPECT_EQ(windows[1].range, (Range{2.5, 3}));
  EXPECT_EQ(windows[1].sides->second, (Range{3, 4}));
  EXPECT_EQ(windows[2].name, "Ce");
  EXPECT_FALSE(windows[2].sides);
}

TEST(WindowTable, FaultsNameTheLine) {
  const ScratchFolder folder;
  const auto refusal = [&](const std::string& text) {
    return message_of(ErrorKind::kInput, [&] { read_windows(table_of(folder, text)); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("has no line with a window"));
  EXPECT_THAT(refusal("name,from,to\n"), HasSubstr("has no line with a window"));
  EXPECT_THAT(refusal("name,from\na,1\n"), HasSubstr("line 1: there is no column to"));
  EXPECT_THAT(refusal("name,from,to,colour\n"), HasSubstr("line 1: 'colour' is no column"));
  EXPECT_THAT(refusal("name,from,to,from\na,1,2,3\n"), HasSubstr("line 1: there are two columns from"));
  EXPECT_THAT(refusal("name,from,to\na,1\n"), HasSubstr("line 2: it has 2 fields, the first line has 3"));
  EXPECT_THAT(refusal("name,from,to\na,1,x\n"), HasSubstr("line 2: 'x' is no number"));
  EXPECT_THAT(refusal("name,from,to\na,,2\n"), HasSubstr("line 2: the range has no beginning"));
  EXPECT_THAT(refusal("name,from,to\n\na,2,1\n"), HasSubstr("line 3: the peak from 2 to 1"));
  EXPECT_THAT(refusal("name,from,to\n\"a,2,1\n"), HasSubstr("line 2: a quote does not end"));
  EXPECT_THAT(refusal("name,from,to,left_from,left_to,right_from,right_to\na,2,3,1,,4,5\n"),
              HasSubstr("line 2: a background needs all four ends"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { read_windows(folder.path() / "absent.csv"); }),
              HasSubstr("absent.csv"));
}

TEST(Window, ThereAreNotMoreThanAFileHolds) {
  EXPECT_THAT(message_of(ErrorKind::kUsage, [] { all_windows(std::vector<std::string>(1001, "1:2"), {}); }),
              HasSubstr("1001 windows are too many"));
}

TEST(Window, ABinAtACommonEndIsOfThePeakAlone) {
  Axis axis{AxisKind::kRadial, "q", "1/nm"};
  for (int i = 0; i < 10; ++i) axis.centres.push_back(i);
  const WindowBins bins = bins_of(parse_window("3:5,1:3,5:8", 1), axis);
  EXPECT_EQ(bins.peak, (BinRange{3, 6}));
  EXPECT_EQ(bins.sides->first, (BinRange{1, 3}));
  EXPECT_EQ(bins.sides->second, (BinRange{6, 9}));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { bins_of(parse_window("3:5,2.5:3,5:8", 1), axis); }),
              HasSubstr("a side has no bin that is not of the peak"));
}

TEST(Window, NamesAreUnique) {
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [] {
                           all_windows({"a=1:2", "a=3:4"}, {});
                         }),
              HasSubstr("two windows are called a"));
}

TEST(Window, HasTheBinsWhoseCentresAreInIt) {
  Axis axis{AxisKind::kRadial, "q", "1/nm"};
  for (int i = 0; i < 10; ++i) axis.centres.push_back(0.5 + i);
  for (int i = 0; i <= 10; ++i) axis.edges.push_back(i);
  const WindowBins bins = bins_of(parse_window("2.5:4.5,0:1,8:100", 1), axis);
  EXPECT_EQ(bins.peak, (BinRange{2, 5}));
  EXPECT_EQ(bins.sides->first, (BinRange{0, 1}));
  EXPECT_EQ(bins.sides->second, (BinRange{8, 10}));
  EXPECT_THAT(
      message_of(ErrorKind::kUsage, [&] { bins_of(parse_window("a=2.6:3.4", 1), axis); }),
      AllOf(HasSubstr("a: the peak from 2.6 to 3.4 has no bin"), HasSubstr("from 0 to 10 1/nm in 10 bins")));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { bins_of(parse_window("2:4,1:1.2,5:6", 1), axis); }),
              HasSubstr("the left side"));
}

}  // namespace
}  // namespace annulus::testing
