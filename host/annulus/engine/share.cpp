#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/core/url.hpp>
#include <annulus/engine/share.hpp>
#include <annulus/sources/image_names.hpp>

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

void check_order(const std::vector<std::string>& files, const HeldFrames& held) {
  const auto refuse = [](const std::string& file, const std::string& what) {
    throw Error(ErrorKind::kOutput, file, what,
                "give the inputs that the output was made of, or choose another `output`");
  };
  std::uint64_t least = 0;     // that the next place can be
  bool is_least_right = true;  // until a file comes of which nobody knows how many frames it has
  for (const std::string& file : files) {
    const bool one_frame = names_one_frame(split_url(file).file);
    if (const auto stored = held.first_place(file)) {
      if (*stored < least || (is_least_right && *stored != least)) {
        refuse(file,
               fmt::format(
                   "was frame {} of the scan when it was reduced, and is frame {} now: other files came or "
                   "went before it",
                   *stored, least));
      }
      least = *stored;
      is_least_right = true;
    } else if (is_least_right && one_frame && held.places->contains(least)) {
      refuse(file,
             fmt::format("is frame {} of the scan now, and another one was when it was reduced", least));
    }
    ++least;
    is_least_right = is_least_right && one_frame;
  }
}

std::shared_ptr<FrameDealer> deal_part(Part part) { return std::make_shared<StaticDealer>(part); }

Share share_of(Part part) {
  return {[part](std::uint64_t) { return deal_part(part); }};
}

}  // namespace annulus
