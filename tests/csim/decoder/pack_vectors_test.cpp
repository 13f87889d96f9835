#include <hls/pack_vectors.hpp>

#include "stages.hpp"

namespace decoder_test {
namespace {

TEST(Pack, KeepsTheOrderForEveryFillAndCount) {
  constexpr uint32_t kWidth = 16;
  for (uint32_t fill = 0; fill < kWidth; ++fill) {
    for (uint32_t count = 0; count <= 8; ++count) {
      for (const bool flush : {false, true}) {
        if (flush && count > 0) continue;  // only the frame's last word is followed by a flush
        SCOPED_TRACE(std::to_string(fill) + " held, " + std::to_string(count) + " come, flush " +
                     std::to_string(flush));
        kernels::PackState<kWidth> state;
        std::vector<int32_t> all;
        int32_t value[8];
        for (uint32_t i = 0; i < kWidth; ++i) state.held[i] = i < fill ? 100 + static_cast<int32_t>(i) : -1;
        for (uint32_t i = 0; i < 8; ++i) value[i] = i < count ? 200 + static_cast<int32_t>(i) : -2;
        state.fill = fill;
        all.insert(all.end(), state.held, state.held + fill);
        all.insert(all.end(), value, value + count);
        kernels::Pixels<kWidth> full;
        const bool complete = kernels::pack(state, value, count, flush, full);
        ASSERT_EQ(complete, flush || all.size() >= kWidth);
        if (complete) {
          std::vector<int32_t> sent(all.begin(), all.begin() + std::min<size_t>(all.size(), kWidth));
          sent.resize(kWidth, 0);
          ASSERT_EQ(std::vector<int32_t>(full.value, full.value + kWidth), sent);
          all.erase(all.begin(), all.begin() + std::min<size_t>(all.size(), kWidth));
        }
        ASSERT_EQ(state.fill, all.size());
        ASSERT_EQ(std::vector<int32_t>(state.held, state.held + state.fill), all);
      }
    }
  }
}

}  // namespace
}  // namespace decoder_test
