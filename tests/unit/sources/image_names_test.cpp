#include <annulus/sources/image_names.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

TEST(ImageNames, NaturalOrderComparesNumbersAsNumbers) {
  EXPECT_TRUE(natural_less("a2", "a10"));
  EXPECT_FALSE(natural_less("a10", "a2"));
  EXPECT_TRUE(natural_less("a1b3", "a01b4"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_FALSE(natural_less("a1", "a1"));
  EXPECT_NE(natural_less("a01", "a1"), natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("x99999999999999999999998", "x99999999999999999999999"));
}

TEST(ImageNames, ImagesAreKnownByTheirExtension) {
  for (const char* name : {"a.cbf", "A.TIF", "a.edf.gz", "a.tiff.bz2", "folder/a.npy", "a.h5", "a.raw"})
    EXPECT_TRUE(is_image_name(name)) << name;
  for (const char* name : {".a.cbf", "a.cbf.part", "a.txt", "a.gz", "cbf", "a.poni"})
    EXPECT_FALSE(is_image_name(name)) << name;
  EXPECT_TRUE(is_hdf5_name("A.H5"));
  EXPECT_FALSE(is_hdf5_name("a.cbf"));
}

}  // namespace
}  // namespace annulus
