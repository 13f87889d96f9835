#include <annulus/core/url.hpp>
#include <annulus/outputs/frame_words.hpp>

#include <fmt/format.h>

namespace annulus {

std::string frame_count(std::uint64_t frames) {
  return fmt::format("{} frame{}", frames, frames == 1 ? "" : "s");
}

std::string frame_name(const FrameRecord& record) {
  const bool several = record.frame_in_source > 0 || split_url(record.source).dataset.has_value();
  return several ? fmt::format("{}, frame {}", record.source, record.frame_in_source) : record.source;
}

}  // namespace annulus
