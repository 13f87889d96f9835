#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/splitting.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

namespace annulus {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr Wide kLimit = Wide{1} << 63;

// Halves up, as std::lround does, without the call: a plan has millions of shares.
std::uint32_t round_positive(double value) {
  const auto whole = static_cast<std::uint32_t>(value);
  return whole + (value - whole >= 0.5 ? 1 : 0);
}

}  // namespace

int safe_weight_bits(std::uint64_t pixels_in_bin, std::int64_t max_value) {
  const Wide product = Wide{std::max<std::uint64_t>(pixels_in_bin, 1)} *
                       static_cast<std::uint64_t>(std::max<std::int64_t>(max_value, 1));
  int bits = kMaxWeightBits;
  while (bits > 0 && (product << bits) >= kLimit) --bits;
  return bits;
}

int safe_value_bits(double largest, double largest_sum, std::int64_t largest_count) {
  if (!(largest > 0)) return 0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  int bits = 30 - exponent;  // largest < 2^exponent
  // Rounding adds up to half a unit per value. The margin is for the sum, which was made in double.
  constexpr double kSumLimit = 0x1p63 * (1 - 1e-6);
  while (std::ldexp(largest_sum, bits) + 0.5 * static_cast<double>(largest_count) >= kSumLimit) --bits;
  return bits;
}

void quantise_shares(std::vector<Share>& shares, int bits, std::vector<std::uint32_t>& weights) {
  weights.clear();
  const auto scale = static_cast<double>(std::int64_t{1} << bits);
  std::int64_t residue = shares.empty() ? 0 : std::int64_t{1} << bits;
  for (const Share& share : shares) {
    weights.push_back(round_positive(share.share * scale));
    residue -= weights.back();
  }

  // Rounding leaves at most half a unit a share, so at least |residue| shares are there to take one unit each
  // and, if units are taken away, were rounded up and have one to give. More than that is left only by shares
  // that do not sum to 1, and handing it out would make up intensities.
  if (static_cast<std::uint64_t>(std::abs(residue)) > shares.size()) {
    throw std::logic_error(
        fmt::format("the {} shares of a pixel are off by {} units of 2^-{} from a sum of 1", shares.size(),
                    residue, bits));
  }
  if (residue != 0) {
    std::vector<std::uint32_t> by_size(shares.size());
    std::iota(by_size.begin(), by_size.end(), 0u);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return shares[a].share > shares[b].share; });
    const int step = residue > 0 ? 1 : -1;
    for (std::size_t i = 0; residue != 0; ++i, residue -= step) weights[by_size[i]] += step;
  }

  std::size_t kept = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (weights[i] == 0) continue;
    shares[kept] = shares[i];
    weights[kept++] = weights[i];
  }
  shares.resize(kept);
  weights.resize(kept);
}

}  // namespace annulus
