#include <annulus/sources/csv_line.hpp>
#include <annulus/sources/table_column.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "message_of.hpp"
#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

std::vector<double> values_of(const TableColumn& column) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < column.rows(); ++i) values.push_back(column.at(i));
  return values;
}

class CsvTest : public FormatsTest {
 protected:
  std::unique_ptr<TableColumn> open(const std::string& content, const std::string& key,
                                    bool growing = false) {
    return open_csv_column(spec(write("a.csv", content), key), growing);
  }
  static ColumnSpec spec(const std::string& file, const std::string& key) {
    return {{"x", {}, file + "#" + key}, ColumnPlace::kTable, file, key};
  }
  std::vector<double> read(const std::string& content, const std::string& key) {
    return values_of(*open(content, key));
  }
  std::string refuse(const std::string& content, const std::string& key, ErrorKind kind = ErrorKind::kInput) {
    return message_of(kind, [&] { open(content, key); });
  }
  void add(const std::string& text) const { std::ofstream(path("a.csv"), std::ios::app) << text; }
};

TEST_F(CsvTest, ReadsColumnsByNameAndByNumber) {
  const std::string table = "x,y\n1,2.5\n-3e-2,+4\n";
  EXPECT_THAT(read(table, "x"), ElementsAre(1, -0.03));
  EXPECT_THAT(read(table, "y"), ElementsAre(2.5, 4));
  EXPECT_THAT(read(table, "2"), ElementsAre(2.5, 4));
}

TEST_F(CsvTest, ANameThatIsANumberComesBeforeTheNumber) {
  EXPECT_THAT(read("2,x\n10,20\n", "2"), ElementsAre(10));
}

TEST_F(CsvTest, KnowsCommasSemicolonsTabsAndBlanks) {
  for (const std::string between : {",", ";", "\t", " ", "   ", " , ", " \t"}) {
    const std::string table = "x" + between + "y\n1" + between + "2\n3" + between + "4\n";
    EXPECT_THAT(read(table, "y"), ElementsAre(2, 4)) << "'" << between << "'";
  }
}

TEST_F(CsvTest, ATableWithoutNamesHasNumbersAndMayHaveAComment) {
  EXPECT_THAT(read("1 2\n3 4\n", "1"), ElementsAre(1, 3));
  EXPECT_THAT(read("# made by hand\n# x y\n1 2\n3 4\n", "y"), ElementsAre(2, 4));
  EXPECT_THAT(refuse("1 2\n3 4\n", "x", ErrorKind::kUsage), HasSubstr("only the numbers 1 to 2"));
}

TEST_F(CsvTest, SkipsCommentsBlankLinesByteOrderMarksAndCarriageReturns) {
  EXPECT_THAT(read("\xef\xbb\xbf# of today\r\n\r\nx,y\r\n1,2\r\n# the beam was gone\r\n\r\n3,4", "x"),
              ElementsAre(1, 3));
}

TEST_F(CsvTest, QuotesHoldDelimitersAndQuotes) {
  const std::string table = "\"motor, x\",\"say \"\"y\"\"\"\n\"1\",2\n3,\"4\"\n";
  EXPECT_THAT(read(table, "motor, x"), ElementsAre(1, 3));
  EXPECT_THAT(read(table, "say \"y\""), ElementsAre(2, 4));
  EXPECT_THAT(refuse("x,y\n1,\"2\n", "x"), HasSubstr("line 2 has quotes that do not end"));
}

TEST_F(CsvTest, UnitsAreInBrackets) {
  EXPECT_EQ(open("x [mm],t (s),n\n1,2,3\n", "x")->info().unit, "mm");
  EXPECT_EQ(open("x [mm],t (s),n\n1,2,3\n", "t")->info().unit, "s");
  EXPECT_EQ(open("x [mm],t (s),n\n1,2,3\n", "x [mm]")->info().unit, "mm");
  EXPECT_EQ(open("x [mm],t (s),n\n1,2,3\n", "3")->info().unit, "");
}

TEST_F(CsvTest, MissingValuesAreEmptyOrNan) {
  EXPECT_THAT(read("x,y\n,2\nnan,2\nNaN,2\n5,\n", "x"), ElementsAre(IsNan(), IsNan(), IsNan(), 5));
  EXPECT_THAT(read("x,y\n1,2\n3,\n", "y"), ElementsAre(2, IsNan()));
}

// If it were skipped, all values behind it would belong to other frames.
TEST_F(CsvTest, OfASingleColumnAnEmptyLineBetweenValuesIsAMissingOne) {
  EXPECT_THAT(read("x\n1\n\n3\n\n\n", "x"), ElementsAre(1, IsNan(), 3));
  EXPECT_THAT(read("\nx\n\n1\n2", "x"), ElementsAre(IsNan(), 1, 2));
  EXPECT_THAT(read("x,y\n1,2\n\n3,4\n", "x"), ElementsAre(1, 3));
}

TEST_F(CsvTest, FieldsOfOtherColumnsMayBeAnything) {
  EXPECT_THAT(read("x,what\n1,dark\n2,sample\n", "x"), ElementsAre(1, 2));
}

TEST_F(CsvTest, WhatIsNoValueIsNamedWithItsLine) {
  EXPECT_THAT(refuse("x;y\n1;2\n1,5;2\n", "x"),
              HasSubstr("line 3 has '1,5' in column 'x', which is no number"));
  EXPECT_THAT(refuse("x,y\n1,2\n1e999,2\n", "x"), HasSubstr("line 3 has '1e999'"));
  EXPECT_THAT(refuse("x,y\n1,2\n3\n", "x"),
              HasSubstr("line 3 has 1 fields, the first line of the table has 2"));
  EXPECT_THAT(refuse("x,y\n1,2,3\n", "x"), HasSubstr("line 2 has 3 fields"));
  EXPECT_THAT(read("x,y\n1,2,\n", "y"), ElementsAre(2));  // a delimiter at the end of the line
}

TEST_F(CsvTest, AColumnThatIsNotThereIsNamedWithThoseThatAre) {
  EXPECT_THAT(refuse("x,y\n1,2\n", "z", ErrorKind::kUsage),
              AllOf(HasSubstr("has no column 'z'"), HasSubstr("there are: x, y; or a number from 1 to 2")));
  EXPECT_THAT(refuse("x,y\n1,2\n", "3", ErrorKind::kUsage), HasSubstr("has no column '3'"));
  EXPECT_THAT(refuse("x,y\n1,2\n", "0", ErrorKind::kUsage), HasSubstr("has no column '0'"));
  EXPECT_THAT(refuse("x,y,x\n1,2,3\n", "x", ErrorKind::kUsage),
              AllOf(HasSubstr("two columns 'x'"), HasSubstr("1 or 3")));
}

TEST_F(CsvTest, WhatIsNoTableIsRefused) {
  EXPECT_THAT(refuse("", "x"), HasSubstr("has no line with values"));
  EXPECT_THAT(refuse("# only a comment\n", "x"), HasSubstr("has no line with values"));
  EXPECT_THAT(refuse(std::string(std::size_t{2} << 20, 'x'), "x"), HasSubstr("too long"));
  const auto open_path = [](const std::string& path) {
    return message_of(ErrorKind::kInput, [&] { open_csv_column(spec(path, "x"), false); });
  };
  EXPECT_THAT(open_path(path("absent.csv")), HasSubstr("No such file"));
  EXPECT_THAT(open_path(path("")), HasSubstr("not a plain file"));
}

TEST_F(CsvTest, ATableThatGrowsGivesWholeLines) {
  const auto column = open("x,y\n1,2\n3,", "y", true);
  EXPECT_THAT(values_of(*column), ElementsAre(2));
  EXPECT_FALSE(column->grow());
  add("4");  // which may become 42
  EXPECT_FALSE(column->grow());
  add("2\n5,6\n7,8");
  EXPECT_TRUE(column->grow());
  EXPECT_THAT(values_of(*column), ElementsAre(2, 42, 6));
  column->finish();
  EXPECT_THAT(values_of(*column), ElementsAre(2, 42, 6, 8));
}

TEST_F(CsvTest, ATableThatIsReplacedIsReadAgain) {
  const auto column = open("x\n1\n2\n", "x", true);
  write("b.csv", "x\n1\n2\n3\n");
  std::filesystem::rename(path("b.csv"), path("a.csv"));
  EXPECT_TRUE(column->grow());
  EXPECT_THAT(values_of(*column), ElementsAre(1, 2, 3));
}

// Blocks of the reader end anywhere in a line.
TEST_F(CsvTest, ReadsLargeTables) {
  std::string table = "i,twice\n";
  for (int i = 0; i < 200000; ++i) table += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
  const auto column = open(table, "twice");
  ASSERT_EQ(column->rows(), 200000u);
  for (std::uint64_t i = 0; i < column->rows(); ++i) ASSERT_EQ(column->at(i), 2.0 * static_cast<double>(i));
}

TEST(CsvLine, EmptyFieldsCount) {
  EXPECT_THAT(*split_fields(",,", ','), ElementsAre("", "", ""));
  EXPECT_THAT(*split_fields("a\t\tb", '\t'), ElementsAre("a", "", "b"));
  EXPECT_THAT(*split_fields("  a  b ", kBlanks), ElementsAre("a", "b"));
  EXPECT_THAT(*split_fields("", ','), ElementsAre(""));
}

}  // namespace
}  // namespace annulus
