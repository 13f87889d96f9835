#include <annulus/backends/common/backend.hpp>

#include <utility>

namespace annulus {

Error damaged_frame(const Frame& frame, std::string fault) {
  return {ErrorKind::kInput, describe(frame), std::move(fault),
          "the file is damaged or still being written; `keep_going` skips such frames"};
}

}  // namespace annulus
