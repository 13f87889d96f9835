// Linked with what takes the place of the OpenCL method in a build without OpenCL.
#include <annulus/tomography/fbp_method.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"

namespace annulus {
namespace {

TEST(WithoutOpenCl, BackProjectionOnDevicesIsRefusedByName) {
  EXPECT_THAT(
      message_of(ErrorKind::kBackend, [] { make_opencl_method({}, {}, 10); }),
      ::testing::AllOf(::testing::HasSubstr("`way`: 'opencl' is not available: this build has no OpenCL"),
                       ::testing::HasSubstr("the direct way")));
}

}  // namespace
}  // namespace annulus
