#include <annulus/engine/share.hpp>

#include <fmt/core.h>

#include <optional>

namespace annulus {
namespace {

class StaticDealer final : public FrameDealer {
 public:
  explicit StaticDealer(Part part) : part_(part) {}

  std::optional<FrameRange> next() override {
    const std::uint64_t block = part_.number - 1 + part_.count * dealt_++;
    return FrameRange{block * kFramesPerBlock, (block + 1) * kFramesPerBlock};
  }

  bool is_fixed() const override { return true; }

 private:
  Part part_;
  std::uint64_t dealt_ = 0;
};

}  // namespace

std::string suffix_of_part(const std::string& text) {
  if (text.empty()) return {};
  const Part part = parse_part(text);
  const std::string count = std::to_string(part.count);
  return fmt::format("_{:0{}}_of_{}", part.number, count.size(), count);
}

std::shared_ptr<FrameDealer> deal_part(Part part) { return std::make_shared<StaticDealer>(part); }

Share share_of(Part part) {
  return {[part](std::uint64_t) { return deal_part(part); }};
}

}  // namespace annulus
