// Sums of integers that no word of the machine holds, exact, and rounded once.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace annulus {

// Numbers of up to 64 x kWords bits, sign included. Up to 2^62 of them can be added.
template <std::size_t kWords>
class WideSum {
 public:
  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;
  static constexpr int kWordBits = 64;

  // value x 2^shift
  void add(std::int64_t value, int shift = 0) {
    const auto word = static_cast<std::size_t>(shift / kWordBits);
    const Wide product = Wide{value} * (Wide{1} << (shift % kWordBits));
    parts_[word] += static_cast<std::uint64_t>(product);
    parts_[word + 1] += static_cast<std::int64_t>(product >> kWordBits);
  }

  // The number as signed words, the least significant first, in the only way that it has. What remains beyond
  // them is returned: 0, unless the number needs more.
  Wide signed_words(std::size_t count, std::int64_t* words, std::size_t stride) const {
    Wide carry = 0;
    for (std::size_t word = 0; word < count; ++word) {
      const Wide sum = parts_[word] + carry;
      const auto value = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum));
      words[word * stride] = value;
      carry = (sum - value) >> kWordBits;
    }
    return parts_[count] + carry;
  }

  // The nearest double, the even one of two, of the number x 2^exponent.
  double rounded(int exponent = 0) const {
    // In two's complement, and then without sign.
    std::array<std::uint64_t, kWords + 2> words{};
    Wide carry = 0;
    for (std::size_t word = 0; word < words.size(); ++word) {
      const Wide sum = carry + (word < parts_.size() ? parts_[word] : Wide{0});
      words[word] = static_cast<std::uint64_t>(sum);
      carry = sum >> kWordBits;
    }
    const bool negative = carry < 0;
    if (negative) {
      UnsignedWide next = 1;
      for (std::uint64_t& word : words) {
        next += static_cast<std::uint64_t>(~word);
        word = static_cast<std::uint64_t>(next);
        next >>= kWordBits;
      }
    }
    std::size_t top = words.size() - 1;
    while (top > 0 && words[top] == 0) --top;
    // Two words have all bits that a double can take; of the others counts only whether there is anything.
    UnsignedWide leading = words[top];
    int shift = 0;
    if (top > 0) {
      leading = leading << kWordBits | words[top - 1];
      shift = kWordBits * static_cast<int>(top - 1);
      const bool anything_below =
          std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(top - 1),
                      [](std::uint64_t word) { return word != 0; });
      if (anything_below) leading |= 1;
    }
    const double magnitude = std::ldexp(static_cast<double>(leading), shift + exponent);
    return negative ? -magnitude : magnitude;
  }

 private:
  std::array<Wide, kWords + 1> parts_{};  // to be carried over
};

}  // namespace annulus
