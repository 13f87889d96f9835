#include <annulus/core/text.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

TEST(Utf8, LeavesValidTextAlone) {
  for (const char* text : {"", "plain", "2θ (°)", "Å⁻¹", "日本", "\U0001F600"})
    EXPECT_EQ(to_utf8(text), text);
}

TEST(Utf8, ReplacesEveryByteThatIsNoText) {
  EXPECT_EQ(to_utf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(to_utf8("\xC3"), "\uFFFD");                                // cut off
  EXPECT_EQ(to_utf8("\xC0\xAF"), "\uFFFD\uFFFD");                      // a slash, longer than needed
  EXPECT_EQ(to_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // half of a pair
  EXPECT_EQ(to_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond Unicode
  EXPECT_EQ(to_utf8(std::string_view("a\0b", 3)),
            "a\uFFFD"
            "b");
}

TEST(Utf8, CutsBetweenCharacters) {
  EXPECT_EQ(keep_tail("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(keep_tail("abcdefghi", 8), "...efghi");
  EXPECT_EQ(keep_head("abcdefghi", 8), "abcde...");
  EXPECT_EQ(keep_tail("ééééé", 8), "...éé");  // the fifth byte from the end is the second half of a letter
  EXPECT_EQ(keep_head("ééééé", 8), "éé...");
}

}  // namespace
}  // namespace annulus
