#include <annulus/backends/fpga/xrt_card.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace annulus {
namespace {

TEST(XrtCards, OneThatCannotBeOpenedDoesNotHideThoseAfterIt) {
  const auto cards = describe_cards(3, [](unsigned index) -> std::string {
    if (index == 1) throw std::runtime_error("Permission denied");
    return "u50";
  });
  ASSERT_EQ(cards.size(), 3u);
  EXPECT_EQ(cards[0].text, "0: u50");
  EXPECT_EQ(cards[1].text, "1: cannot be opened: Permission denied");
  EXPECT_EQ(cards[2].text, "2: u50");
  EXPECT_TRUE(cards[0].usable);
  EXPECT_FALSE(cards[1].usable);
  EXPECT_TRUE(cards[2].usable);
}

TEST(XrtCards, NoneIsNoError) {
  EXPECT_TRUE(describe_cards(0, [](unsigned) { return std::string(); }).empty());
}

}  // namespace
}  // namespace annulus
