#include <annulus/sources/frame_stream.hpp>

namespace annulus {

// NOLINTNEXTLINE(performance-unnecessary-value-param): other streams keep it
void FrameStream::share(std::shared_ptr<FrameDealer> /*dealer*/) {
  throw Error(ErrorKind::kUsage, info({}).name, "frames of this stream cannot be shared by several processes",
              "let one process reduce them");
}

}  // namespace annulus
