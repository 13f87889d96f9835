#include <annulus/sources/column_stream.hpp>
#include <annulus/sources/file_stream.hpp>
#include <annulus/sources/header_number.hpp>
#include <annulus/sources/streams.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "drain.hpp"
#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

std::string lines(const std::string& name, int from, int to) {
  std::string text = name;
  for (int i = from; i < to; ++i) text += (text.empty() ? "" : "\n") + std::to_string(10 * i);
  return text + "\n";
}

// Raw files of one pixel each, and a table beside them.
class ColumnStreamTest : public ::testing::Test {
 protected:
  ColumnStreamTest() {
    settings_.open.raw_shape = Shape{1, 1};
    settings_.threads = 1;
  }

  void add_files(int files, int frames_in_each = 1) {
    for (int i = 0; i < files; ++i)
      urls_.push_back(folder_.write("f_" + std::to_string(urls_.size()) + ".raw",
                                    std::string(static_cast<std::size_t>(4 * frames_in_each), '\1')));
  }
  void table(const std::string& content) { table_ = folder_.write("t.csv", content); }
  void add_rows(const std::string& text) const { std::ofstream(table_, std::ios::app) << text; }

  ColumnStream& open() {
    columns_.columns = {parse_column("x=" + table_ + "#x", "`column`")};
    stream_ = std::make_unique<ColumnStream>(stream_files(urls_, settings_), columns_);
    return *stream_;
  }

  ScratchFolder folder_;
  std::vector<std::string> urls_;
  FileStreamSettings settings_;
  ColumnSettings columns_;
  std::string table_;
  std::unique_ptr<ColumnStream> stream_;
};

TEST_F(ColumnStreamTest, EveryFrameHasTheValueOfItsRow) {
  add_files(5);
  table(lines("x", 0, 5));
  ColumnStream& stream = open();
  ASSERT_EQ(stream.info({}).columns.size(), 1u);
  EXPECT_EQ(stream.info({}).columns[0].name, "x");
  for (int i = 0; i < 5; ++i) EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(10 * i));
  EXPECT_FALSE(next_item(stream));
  EXPECT_THAT(stream.take_remarks(), IsEmpty());
}

TEST_F(ColumnStreamTest, FramesThatAreLeftOutHaveTheirRowsToo) {
  add_files(4);
  table(lines("x", 0, 4));
  ColumnStream& stream = open();
  stream.info({});
  stream.leave_out([&](const FrameId& id) { return id.source == urls_[0] || id.source == urls_[2]; });
  const auto first = next_item(stream), second = next_item(stream);
  EXPECT_EQ(first->id.index, 0u);
  EXPECT_THAT(first->frame->point, ElementsAre(10));
  EXPECT_EQ(second->id.index, 1u);
  EXPECT_THAT(second->frame->point, ElementsAre(30));
  EXPECT_FALSE(next_item(stream));
}

TEST_F(ColumnStreamTest, ATableOfAnotherLengthIsRefusedWhereTheScanIsKnown) {
  add_files(1, 4);
  for (const int rows : {3, 5}) {
    table(lines("x", 0, rows));
    EXPECT_THAT(message_of(ErrorKind::kInput, [&] { open().info({}); }),
                AllOf(HasSubstr("column x: it has " + std::to_string(rows) + " rows, the scan has 4 frames"),
                      HasSubstr("t.csv#x")));
  }
  columns_.rows_must_exist = false;
  open().info({});
  EXPECT_THAT(stream_->take_remarks(), ElementsAre(HasSubstr("it has 5 rows, the scan has 4 frames")));
}

TEST_F(ColumnStreamTest, AFrameWithoutARowIsBadAndSaysWhy) {
  add_files(3);
  table(lines("x", 0, 2));
  ColumnStream& stream = open();
  stream.info({});
  EXPECT_THAT(stream.take_remarks(),
              ElementsAre(HasSubstr("it has 2 rows, the scan seems to have 3 frames")));
  EXPECT_TRUE(next_item(stream)->frame);
  EXPECT_TRUE(next_item(stream)->frame);
  EXPECT_THAT(next_item(stream)->fault->what(),
              HasSubstr("column x: " + table_ + "#x has 2 rows, and this is frame 2 of the scan"));
}

TEST_F(ColumnStreamTest, MissingValuesAreToldAtTheEnd) {
  add_files(4);
  table("x\n1\nnan\n3\n");  // and no fourth row
  columns_.rows_must_exist = false;
  ColumnStream& stream = open();
  stream.info({});
  stream.take_remarks();
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(1));
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(IsNan()));
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(3));
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(IsNan()));
  EXPECT_FALSE(next_item(stream));
  EXPECT_THAT(stream.take_remarks(),
              ElementsAre(AllOf(HasSubstr("column x: 2 frames have no value"), HasSubstr("f_1.raw"))));
}

TEST_F(ColumnStreamTest, BehindABadFileOfOneFrameRowsAreStillKnown) {
  add_files(3);
  table(lines("x", 0, 3));
  std::filesystem::resize_file(urls_[1], 3);
  ColumnStream& stream = open();
  EXPECT_TRUE(next_item(stream)->frame);
  EXPECT_TRUE(next_item(stream)->fault);
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(20));
}

TEST_F(ColumnStreamTest, BehindABadFileOfManyFramesNoRowIsKnown) {
  add_files(3, 2);
  table(lines("x", 0, 6));
  std::filesystem::resize_file(urls_[1], 3);
  ColumnStream& stream = open();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(next_item(stream)->frame);
  EXPECT_TRUE(next_item(stream)->fault);
  const auto lost = next_item(stream);
  ASSERT_TRUE(lost->fault);
  EXPECT_THAT(lost->fault->what(), HasSubstr("cannot be told"));
}

TEST_F(ColumnStreamTest, RowsThatComeLaterAreWaitedFor) {
  add_files(3);
  table("x\n0\n");
  columns_.follow = 20;
  ColumnStream& stream = open();
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(0));
  const auto item = stream.next({});
  ASSERT_TRUE(item && std::holds_alternative<Pause>(*item));  // the caller passes on what it has
  const std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    add_rows("1");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    add_rows("0\n20\n");
  });
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(10));
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(20));
  EXPECT_FALSE(next_item(stream));
}

TEST_F(ColumnStreamTest, RowsThatNeverComeAreNamed) {
  add_files(3);
  table("x\n0\n1");
  columns_.follow = 0.2;
  ColumnStream& stream = open();
  EXPECT_TRUE(next_item(stream)->frame);
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(1));  // the last line is taken for whole then
  EXPECT_THAT(next_item(stream)->fault->what(), HasSubstr("has 2 rows, and this is frame 2"));
}

TEST_F(ColumnStreamTest, AStopEndsTheWaiting) {
  add_files(2);
  table("x\n0\n");
  columns_.follow = 60;
  ColumnStream& stream = open();
  EXPECT_TRUE(next_item(stream)->frame);
  std::stop_source stop;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(next_item(stream, stop.get_token()));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ColumnStreamTest, ATableThatIsNotThereYetIsWaitedFor) {
  add_files(1);
  table_ = folder_.write("later", "");
  std::filesystem::remove(table_);
  columns_.follow = 20;
  const std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    folder_.write("later", "x\n5\n");
  });
  EXPECT_THAT(next_item(open())->frame->point, ElementsAre(5));
}

TEST_F(ColumnStreamTest, ColumnsOfTheStreamComeFirst) {
  std::vector<Frame> frames(2);
  for (std::size_t i = 0; i < 2; ++i) frames[i].point = {100.0 + static_cast<double>(i)};
  const auto memory = stream_memory(std::move(frames), "memory", {"own"});
  table(lines("x", 0, 2));
  columns_.columns = {parse_column("x=" + table_ + "#x", "`column`")};
  ColumnStream stream(*memory, columns_);
  EXPECT_EQ(stream.info({}).columns[0].name, "own");
  EXPECT_EQ(stream.info({}).columns[1].name, "x");
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(100, 0));
  EXPECT_THAT(next_item(stream)->frame->point, ElementsAre(101, 10));
}

TEST(ColumnSpec, KnowsItsThreeForms) {
  const ColumnSpec csv = parse_column("x=a b.csv#motor x", "`column`");
  EXPECT_EQ(csv.place, ColumnPlace::kTable);
  EXPECT_EQ(csv.column.name, "x");
  EXPECT_EQ(csv.file, "a b.csv");
  EXPECT_EQ(csv.key, "motor x");
  const ColumnSpec hdf5 = parse_column("I0=s.h5::/1.1/measurement/I0", "`column`");
  EXPECT_EQ(hdf5.place, ColumnPlace::kDataset);
  EXPECT_EQ(hdf5.file, "s.h5");
  EXPECT_EQ(hdf5.key, "/1.1/measurement/I0");
  const ColumnSpec header = parse_column("phi=header:Phi", "`column`");
  EXPECT_EQ(header.place, ColumnPlace::kHeader);
  EXPECT_EQ(header.key, "Phi");
}

TEST(ColumnSpec, WhatExistsAsAFileIsOne) {
  const ScratchFolder folder;
  const std::string odd = folder.write("run#1::a.csv", "x\n1\n");
  const ColumnSpec spec = parse_column("x=" + odd + "#x", "`column`");
  EXPECT_EQ(spec.place, ColumnPlace::kTable);
  EXPECT_EQ(spec.file, odd);
}

TEST(ColumnSpec, WhatIsNoColumnIsRefusedWithTheForms) {
  const auto refuse = [](const std::string& text) {
    return message_of(ErrorKind::kUsage, [&] { parse_column(text, "`column`"); });
  };
  for (const char* text : {"motors.csv#x", "=a.csv#x", "a b=a.csv#x", "x=", "x=a.csv", "x=a.csv#", "x=#x",
                           "x=a.h5::", "x=::/x", "x=header:", "../x=a.csv#x", ".x=a.csv#x"}) {
    EXPECT_THAT(refuse(text), HasSubstr("NAME=FILE.csv#COLUMN")) << text;
  }
}

TEST(HeaderNumber, HasItsUnitBehindIt) {
  const HeaderPairs header = {{"Exposure_time", "0.1000000 s"},
                              {"Phi", "12.3 deg."},
                              {"N_excluded_pixels", "8"},
                              {"Start_angle", "-0.5deg"},
                              {"Pixel_size", "172e-6 m x 172e-6 m"}};
  EXPECT_EQ(find_header_number(header, "exposure_time")->value, 0.1);
  EXPECT_EQ(find_header_number(header, "Exposure_time")->unit, "s");
  EXPECT_EQ(find_header_number(header, "Phi")->value, 12.3);
  EXPECT_EQ(find_header_number(header, "Phi")->unit, "deg");
  EXPECT_EQ(find_header_number(header, "Start_angle")->value, -0.5);
  EXPECT_EQ(find_header_number(header, "Start_angle")->unit, "deg");
  EXPECT_EQ(find_header_number(header, "N_excluded_pixels")->unit, "");
  EXPECT_EQ(find_header_number(header, "Pixel_size")->value, 172e-6);
  EXPECT_EQ(find_header_number(header, "Pixel_size")->unit, "");
  EXPECT_FALSE(find_header_number(header, "absent"));
}

TEST(HeaderNumber, MotorsAndCountersOfEdfFilesArePairsOfLists) {
  const HeaderPairs header = {{"motor_mne", "x  y phi"},
                              {"motor_pos", "1.5 -2 90.25 7"},
                              {"counter_mne", "mon sec"},
                              {"counter_pos", "12345"}};
  EXPECT_EQ(find_header_number(header, "y")->value, -2);
  EXPECT_EQ(find_header_number(header, "phi")->value, 90.25);
  EXPECT_EQ(find_header_number(header, "mon")->value, 12345);
  EXPECT_THAT(find_header_number(header, "sec")->value, IsNan());
  EXPECT_TRUE(find_header_number(header, "sec")->is_missing);
  EXPECT_FALSE(find_header_number(header, "PHI"));
}

TEST(HeaderNumber, WhatIsNoNumberIsNone) {
  const HeaderPairs header = {
      {"Date", "2026-11-18"}, {"Detector", "PILATUS 2M"}, {"Phi", "(nil)"}, {"T", ""}};
  EXPECT_THAT(find_header_number(header, "Date")->value, IsNan());
  EXPECT_FALSE(find_header_number(header, "Date")->is_missing);
  EXPECT_THAT(find_header_number(header, "Detector")->value, IsNan());
  EXPECT_TRUE(find_header_number(header, "Phi")->is_missing);
  EXPECT_TRUE(find_header_number(header, "T")->is_missing);
}

}  // namespace
}  // namespace annulus::testing
