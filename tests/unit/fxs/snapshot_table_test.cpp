#include <annulus/fxs/snapshot_table.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Snapshot row_at(std::uint64_t index, std::uint64_t source, SnapshotStatus status = SnapshotStatus::kCounted) {
  Snapshot row;
  row.index = index;
  row.source_id = {2 * source, 0};
  row.status = status;
  return row;
}

std::vector<std::uint64_t> sources_in_order(const SnapshotTable& table) {
  std::vector<std::uint64_t> sources;
  for (const Snapshot& row : table.rows()) sources.push_back(row.source_id[0] / 2);
  return sources;
}

TEST(SnapshotTable, KeepsEveryTextOnceAndCounts) {
  SnapshotTable table;
  table.add(row_at(0, 1), "a", "");
  table.add(row_at(1, 2, SnapshotStatus::kRejected), "b", "dark");
  table.add(row_at(2, 3, SnapshotStatus::kBad), "a", "torn");
  table.add(row_at(3, 4, SnapshotStatus::kRejected), "b", "dark");
  EXPECT_THAT(table.sources(), ElementsAre("a", "b"));
  EXPECT_THAT(table.reasons(), ElementsAre("dark", "torn"));
  EXPECT_EQ(table.source_of(table.rows()[2]), "a");
  EXPECT_EQ(table.reason_of(table.rows()[0]), "");
  EXPECT_EQ(table.reason_of(table.rows()[3]), "dark");
  EXPECT_EQ(table.count(SnapshotStatus::kCounted), 1U);
  EXPECT_EQ(table.count(SnapshotStatus::kRejected), 2U);
  EXPECT_EQ(table.count(SnapshotStatus::kBad), 1U);
}

TEST(SnapshotTable, PartsOfAScanAreJoinedByPlace) {
  SnapshotTable one, other;
  for (const std::uint64_t place : {0, 1, 4}) one.add(row_at(place, place), "x", "");
  for (const std::uint64_t place : {2, 3, 5}) other.add(row_at(place, place), "y", "why");
  const SnapshotTable joined = join({&other, &one});
  EXPECT_THAT(sources_in_order(joined), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(joined.sources(), ElementsAre("x", "y"));
  EXPECT_EQ(joined.reason_of(joined.rows()[2]), "why");
}

TEST(SnapshotTable, ScansAreJoinedOneAfterTheOther) {
  SnapshotTable one, other;
  for (const std::uint64_t place : {0, 1}) one.add(row_at(place, 10 + place), "x", "");
  for (const std::uint64_t place : {0, 1}) other.add(row_at(place, 20 + place), "y", "");
  EXPECT_THAT(sources_in_order(join({&other, &one})), ElementsAre(20, 21, 10, 11));
}

TEST(SnapshotTable, ASnapshotThatIsThereTwiceIsRefused) {
  SnapshotTable one, other;
  one.add(row_at(0, 7), "x.h5", "");
  other.add(row_at(5, 7), "x.h5", "");
  const std::string text = message_of(ErrorKind::kInput, [&] { join({&one, &other}); });
  EXPECT_THAT(text, HasSubstr("x.h5"));
  EXPECT_THAT(text, HasSubstr("twice"));
}

TEST(SnapshotTable, AnImageIsTheSameInAFileThatHasGrown) {
  SnapshotTable one, other;
  Snapshot row = row_at(0, 7);
  one.add(row, "x.npy", "");
  row.source_id[0] |= 1;
  other.add(row, "x.npy", "");
  row.in_source = 1;
  other.add(row, "x.npy", "");
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { join({&one, &other}); }), HasSubstr("twice"));
  EXPECT_TRUE(contains_all(other, one));
  EXPECT_FALSE(contains_all(one, other));
  EXPECT_EQ(without(other, one).rows().size(), 1U);
}

TEST(SnapshotTable, LeavesOutWhatAnotherHas) {
  SnapshotTable table, other;
  for (const std::uint64_t place : {0, 1, 2, 3})
    table.add(row_at(place, place), "x", place == 3 ? "why" : "");
  for (const std::uint64_t place : {5, 2, 0}) other.add(row_at(place, place), "y", "");
  const SnapshotTable rest = without(table, other);
  EXPECT_THAT(sources_in_order(rest), ElementsAre(1, 3));
  EXPECT_EQ(rest.reason_of(rest.rows()[1]), "why");
  EXPECT_FALSE(contains_all(table, other));
  EXPECT_TRUE(contains_all(table, rest));
  EXPECT_TRUE(contains_all(table, {}));
}

TEST(SnapshotTable, NamesSourcesFromTheRootWhereTheFolderIsAnother) {
  SnapshotTable table;
  table.add(row_at(0, 1), "run/a.npy", "");
  table.add(row_at(1, 2), "/data/b.npy", "");
  EXPECT_THAT(named_from("/work", table, "/work").sources(), ElementsAre("run/a.npy", "/data/b.npy"));
  EXPECT_THAT(named_from("/work", table, "/home").sources(), ElementsAre("/home/run/a.npy", "/data/b.npy"));
}

}  // namespace
}  // namespace annulus
