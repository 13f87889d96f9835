// Frames that are in memory, as a stream.
#pragma once

#include <annulus/sources/frame_stream.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

class MemoryStream final : public FrameStream {
 public:
  // All frames have the shape and type of the first, and a value for every column. Frames without a source
  // are called `name`, with their number.
  explicit MemoryStream(std::vector<Frame> frames, std::string name = "memory",
                        std::vector<std::string> columns = {});

  const ScanInfo& info(std::stop_token stop) override;
  std::optional<StreamItem> next(std::stop_token stop) override;

 private:
  std::vector<Frame> frames_;
  ScanInfo info_;
  std::size_t handed_out_ = 0;
};

}  // namespace annulus
