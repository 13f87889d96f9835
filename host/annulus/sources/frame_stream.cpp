#include <annulus/sources/frame_stream.hpp>

namespace annulus {

void FrameStream::share(std::shared_ptr<FrameDealer> /*dealer*/) {
  throw Error(ErrorKind::kUsage, info({}).name, "frames of this stream cannot be shared by several processes",
              "let one process reduce them");
}

}  // namespace annulus
