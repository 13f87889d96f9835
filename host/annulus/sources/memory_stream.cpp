#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/streams.hpp>

#include <cstddef>
#include <utility>

namespace annulus {
namespace {

class MemoryStream final : public FrameStream {
 public:
  MemoryStream(std::vector<Frame> frames, std::string name, std::vector<std::string> columns);

  const ScanInfo& info(std::stop_token stop) override;
  std::optional<StreamItem> next(std::stop_token stop) override;

 private:
  std::vector<Frame> frames_;
  ScanInfo info_;
  std::size_t handed_out_ = 0;
};

MemoryStream::MemoryStream(std::vector<Frame> frames, std::string name, std::vector<std::string> columns)
    : frames_(std::move(frames)) {
  info_.name = std::move(name);
  for (std::string& column : columns) info_.columns.push_back({std::move(column)});
  info_.count = frames_.size();
  info_.frames.format = "memory";
  info_.frames.frames = frames_.size();
  if (frames_.empty()) return;
  const Frame& first = frames_.front();
  info_.frames.codec = first.codec;
  info_.frames.type = first.type;
  info_.frames.shape = first.shape;
  info_.frames.max_count = first.max_count;
}

const ScanInfo& MemoryStream::info(std::stop_token) {
  if (frames_.empty()) throw input_error(info_.name, "no frame to read");
  return info_;
}

std::optional<StreamItem> MemoryStream::next(std::stop_token stop) {
  if (stop.stop_requested() || handed_out_ == frames_.size()) return std::nullopt;
  Frame frame = std::move(frames_[handed_out_]);
  frame.id.index = handed_out_;
  if (frame.id.source.empty()) frame.id = {handed_out_, info_.name, handed_out_, frames_.size() > 1};
  ++handed_out_;
  return frame;
}

}  // namespace

std::unique_ptr<FrameStream> stream_memory(std::vector<Frame> frames, std::string name,
                                           std::vector<std::string> columns) {
  return std::make_unique<MemoryStream>(std::move(frames), std::move(name), std::move(columns));
}

}  // namespace annulus
