#include <annulus/correlation/correlator.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "correlation/direct_sums.hpp"

namespace annulus {
namespace {

void expect_direct_sums(const PolarShape& shape, const Images& images, const Masks& masks,
                        CorrelatorOptions options = {}) {
  Correlator correlator(shape, 0, options);
  correlator.add(images, masks);
  Masks each = masks;
  while (each.size() < images.size()) each.insert(each.end(), masks.begin(), masks.end());
  const CorrelationSums expected = direct_sums(shape, images, each);
  EXPECT_EQ(correlator.sums().signal, expected.signal);
  EXPECT_EQ(correlator.sums().mask, expected.mask);
}

TEST(Masks, OneForAllImages) {
  for (const PolarShape shape : {PolarShape{6, 24}, PolarShape{5, 21}}) {
    for (const double masked : {0.05, 0.5, 1.0}) {
      expect_direct_sums(shape, random_images(shape, 9, 1), random_masks(shape, 1, 2, masked));
    }
  }
}

TEST(Masks, OneForEachImage) {
  const PolarShape shape{5, 12};
  for (const std::size_t block : {0, 1, 5}) {
    expect_direct_sums(shape, random_images(shape, 40, 3), random_masks(shape, 40, 4, 0.3), {2, block});
  }
}

TEST(Masks, MoreThanAreKept) {
  const PolarShape shape{3, 8};
  const std::size_t images = 3 * MaskTerm::kMasks + 50;
  expect_direct_sums(shape, random_images(shape, images, 5), random_masks(shape, images, 6, 0.3));
}

TEST(Masks, SomeUsedMoreOftenThanOthersAndSomeImagesWithout) {
  const PolarShape shape{4, 10};
  const Masks kinds = random_masks(shape, 6, 7, 0.4);
  Masks masks;
  for (std::size_t image = 0; image < 60; ++image) {
    const std::size_t kind = image * image % 7;
    for (std::size_t i = 0; i < shape.values(); ++i) {
      // Any number but 0 is valid.
      masks.push_back(
          kind == 6 || kinds[kind * shape.values() + i] != 0 ? static_cast<std::uint8_t>(1 + image) : 0);
    }
  }
  Masks expected_masks;
  for (const std::uint8_t value : masks) expected_masks.push_back(value != 0);
  const Images images = random_images(shape, 60, 8);
  Correlator correlator(shape, 0);
  correlator.add(images, masks);
  const CorrelationSums expected = direct_sums(shape, images, expected_masks);
  EXPECT_EQ(correlator.sums().signal, expected.signal);
  EXPECT_EQ(correlator.sums().mask, expected.mask);
}

TEST(Masks, GiveNoNumberWhereNothingIsValid) {
  const PolarShape shape{2, 6};
  Masks mask(shape.values(), 1);
  for (std::size_t phi = 1; phi < 6; ++phi) mask[phi] = 0;  // ring 0 has one value
  Correlator correlator(shape, 2);
  correlator.add(Images(shape.values(), 8), mask);
  const LargeVector<double> found = correlator.sums().normalized();
  EXPECT_EQ(found[0], 4);  // 8 x 8 / 2^4
  for (std::size_t d = 1; d < 6; ++d) EXPECT_TRUE(std::isnan(found[d])) << d;
  for (std::size_t i = 6; i < found.size(); ++i) EXPECT_EQ(found[i], 4) << i;
}

}  // namespace
}  // namespace annulus
