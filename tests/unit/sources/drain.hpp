// What comes out of a stream, without the pauses.
#pragma once

#include <annulus/sources/frame_stream.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace annulus::testing {

// The next frame, or why there is none.
struct Item {
  FrameId id;
  std::optional<Frame> frame;
  std::optional<Error> fault;
};

inline std::optional<Item> next_item(FrameStream& stream, std::stop_token stop = {}) {
  while (true) {
    auto item = stream.next(stop);
    if (!item) return std::nullopt;
    if (auto* const bad = std::get_if<BadFrame>(&*item)) return Item{bad->id, std::nullopt, bad->error};
    if (auto* const frame = std::get_if<Frame>(&*item))
      return Item{frame->id, std::move(*frame), std::nullopt};
  }
}

}  // namespace annulus::testing
