#include <annulus/outputs/scan_parts.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PartOfScan part(std::uint64_t number, std::uint64_t count, std::vector<std::string> inputs,
                const char* folder = "/data") {
  return {{number, count}, std::move(inputs), folder};
}

TEST(ScanParts, AreNamedInWords) {
  EXPECT_EQ(names_of({}), "");
  EXPECT_EQ(names_of({{3, 16}}), "part 3 of 16");
  EXPECT_EQ(names_of({{1, 3}, {2, 3}}), "parts 1 and 2 of 3");
  EXPECT_EQ(names_of({{2, 16}, {5, 16}, {6, 16}, {7, 16}, {9, 16}}), "parts 2, 5 to 7 and 9 of 16");
  EXPECT_EQ(names_of({{2, 16}, {2, 16}, {1, 4}}), "part 2 of 16; part 2 of 16; part 1 of 4");
}

TEST(ScanParts, AreReadFromAConfiguration) {
  const auto found = part_of_scan(R"({"part": "3/16", "inputs": ["a.cbf", "b.cbf"]})", "/data");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->part, (Part{3, 16}));
  EXPECT_THAT(found->inputs, ElementsAre("a.cbf", "b.cbf"));
  EXPECT_EQ(found->working_directory, "/data");
  for (const char* other :
       {R"({"part": ""})", R"({"part": 3})", R"({"part": "4/3"})", "{}", "[]", "no JSON", ""})
    EXPECT_FALSE(part_of_scan(other, "/data")) << other;
}

TEST(ScanParts, OfOneScanHaveInputsThatBeginAlike) {
  const PartOfScan one = part(1, 2, {"a", "b"});
  EXPECT_EQ(difference_of_scans(one, part(2, 2, {"a", "b"})), "");
  EXPECT_EQ(difference_of_scans(one, part(2, 2, {"a", "b", "c"})), "");
  EXPECT_EQ(difference_of_scans(one, part(2, 2, {"a"})), "");
  EXPECT_THAT(difference_of_scans(one, part(2, 2, {"a", "c", "b"})),
              HasSubstr("input 2 is b in one and c in"));
  EXPECT_EQ(difference_of_scans(one, part(2, 2, {"../a"}, "/data/deeper")), "");
  EXPECT_EQ(difference_of_scans(one, part(2, 3, {"a", "b"})), "one is part 1 of 2, the other part 2 of 3");
}

TEST(ScanParts, ThatAreMissingAreFoundForEachScan) {
  const auto missing = [](const std::vector<PartOfScan>& there) {
    PartsThere parts;
    for (const PartOfScan& one : there) parts.add(one);
    return parts.missing();
  };
  EXPECT_THAT(missing({}), ElementsAre());
  EXPECT_THAT(missing({part(2, 2, {"a"}), part(1, 2, {"a"})}), ElementsAre());
  EXPECT_THAT(missing({part(2, 4, {"a"})}), ElementsAre(Part{1, 4}, Part{3, 4}, Part{4, 4}));
  // Of two scans, one is all there.
  EXPECT_THAT(missing({part(1, 2, {"a"}), part(2, 2, {"b"}), part(2, 2, {"a"})}), ElementsAre(Part{1, 2}));
  // Nobody knows of which scan they are, but they are of two.
  EXPECT_THAT(missing({part(1, 2, {"a"}, "/x"), part(2, 2, {"a"}, "/y"), part(2, 2, {"a"}, "/z")}),
              ElementsAre(Part{1, 2}));
}

TEST(ScanParts, ThatWereMergedAreKnownFromAnOption) {
  const char* const config = R"({"part": "", "inputs": ["a", "b"]})";
  const MergedParts merged{
      {part(1, 4, {"a", "b"}), part(3, 4, {"a", "b"}), part(2, 2, {"c"}, "/other")}, 30, false};
  const std::string text = text_of(merged, config, "/data");
  // What the configuration says already is not said again.
  EXPECT_EQ(text, R"({"frames":30,"finished":false,"scans":[{"count":4,"numbers":[1,3]},)"
                  R"({"count":2,"numbers":[2],"inputs":["c"],"working_directory":"/other"}]})");
  const auto read = [&](const std::string& option, std::uint64_t frames) {
    return merged_parts({{"npt", "100"}, {kMergedPartsOption, option}}, config, "/data", frames);
  };
  const auto found = read(text, 30);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->finished);
  ASSERT_EQ(found->parts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found->parts[i].part, merged.parts[i].part);
    EXPECT_EQ(found->parts[i].inputs, merged.parts[i].inputs);
    EXPECT_EQ(found->parts[i].working_directory, merged.parts[i].working_directory);
  }
  EXPECT_FALSE(read(text, 31));  // a run went on with it
  EXPECT_FALSE(merged_parts({{"npt", "100"}}, config, "/data", 30));
  for (const char* other :
       {"", "{}", "no JSON", "3", R"({"frames":30,"finished":true,"scans":[{"count":4,"numbers":[5]}]})",
        R"({"frames":30,"finished":true,"scans":[{"numbers":["x"]}]})"})
    EXPECT_FALSE(read(other, 30)) << other;
}

}  // namespace
}  // namespace annulus
