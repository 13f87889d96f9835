// Numbers of 128 bits as the words of sums.
#pragma once

#include <annulus/plan/sums.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

__extension__ using Int128 = __int128;

inline void store_words(Sums& sums, Quantity quantity, const std::vector<Int128>& numbers) {
  const auto words = sums.make(quantity, numbers.size(), 2);
  for (std::size_t bin = 0; bin < numbers.size(); ++bin) {
    const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(numbers[bin]));
    words[bin] = low;
    words[numbers.size() + bin] = static_cast<std::int64_t>((numbers[bin] - low) >> 64);
  }
}

}  // namespace annulus
