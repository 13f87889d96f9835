#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/core/url.hpp>
#include <annulus/engine/share.hpp>
#include <annulus/sources/image_names.hpp>

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace annulus {
namespace {

// So that no place overflows.
constexpr std::uint64_t kMostParts = std::uint64_t{1} << 20;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

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

Part parse_part(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = whole_number(std::string_view(text).substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : whole_number(std::string_view(text).substr(slash + 1));
  if (!number || !count || *number == 0 || *number > *count || *count > kMostParts) {
    throw Error(ErrorKind::kUsage, "`part`", fmt::format("{} is not a part", in_quotes(text)),
                "give it as K/N, the K-th of N parts, for example 3/16; parts count from 1");
  }
  return {*number, *count};
}

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
