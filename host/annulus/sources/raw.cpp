#include <annulus/sources/formats.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

namespace annulus {
namespace {

class RawSource : public FrameSource {
 public:
  RawSource(std::unique_ptr<InputFile> file, const OpenOptions& options)
      : file_(std::move(file)), offset_(options.raw_offset) {
    info_.format = file_->format_name("raw");
    info_.bytes_held = file_->bytes_held();
    info_.type = options.raw_type;
    info_.shape = checked_shape(file_->path(), options.raw_shape->rows, options.raw_shape->cols);
    frame_bytes_ = info_.shape.size() * size_of(info_.type);
    const std::uint64_t content = file_->size() > offset_ ? file_->size() - offset_ : 0;
    if (content == 0 || content % frame_bytes_ != 0) {
      throw input_error(
          file_->path(),
          fmt::format("{} bytes after the first {} are no whole number of frames of {} {} ({} bytes)",
                      content, offset_, to_string(info_.shape), name_of(info_.type), frame_bytes_),
          "check the shape, type and offset given for raw files");
    }
    info_.frames = content / frame_bytes_;
  }

  const SourceInfo& info() const override { return info_; }

  Frame read(std::uint64_t i) const override {
    check_frame_index(file_->path(), info_, i);
    return make_frame(info_, file_->path(), i, file_->read(offset_ + i * frame_bytes_, frame_bytes_));
  }

 private:
  std::unique_ptr<InputFile> file_;
  std::uint64_t offset_;
  std::uint64_t frame_bytes_ = 0;
  SourceInfo info_;
};

}  // namespace

std::unique_ptr<FrameSource> open_raw(std::unique_ptr<InputFile> file, const OpenOptions& options) {
  return std::make_unique<RawSource>(std::move(file), options);
}

}  // namespace annulus
