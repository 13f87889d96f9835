// Correlations by number-theoretic transforms modulo three primes: exact by construction, and unlike anything
// else here.
#pragma once

#include <annulus/correlation/correlation_sums.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

class ModularField {
 public:
  // The prime of this number, counted downwards from 2^31, that has roots of unity of this order.
  ModularField(std::uint64_t order, int number) {
    for (prime_ = (std::uint64_t{1} << 31U) / order * order + 1;; prime_ -= order) {
      if (is_prime(prime_) && number-- == 0) break;
    }
    for (std::uint64_t base = 2;; ++base) {
      root_ = power(base, (prime_ - 1) / order);
      if (has_order(order)) break;
    }
  }

  std::uint64_t prime() const { return prime_; }
  std::uint64_t root() const { return root_; }
  std::uint64_t of(std::int64_t value) const {
    const std::int64_t rest = value % static_cast<std::int64_t>(prime_);
    return static_cast<std::uint64_t>(rest < 0 ? rest + static_cast<std::int64_t>(prime_) : rest);
  }
  std::uint64_t power(std::uint64_t base, std::uint64_t exponent) const {
    std::uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1U, base = base * base % prime_) {
      if (exponent & 1U) result = result * base % prime_;
    }
    return result;
  }
  std::uint64_t inverse(std::uint64_t value) const { return power(value, prime_ - 2); }

  // sum over j of values[j] root^(j k), by splitting off the smallest factor of the length.
  std::vector<std::uint64_t> transform(const std::vector<std::uint64_t>& values, std::uint64_t root) const {
    const std::size_t n = values.size();
    if (n == 1) return values;
    std::size_t factor = 2;
    while (n % factor != 0) ++factor;
    std::vector<std::vector<std::uint64_t>> parts;
    for (std::size_t part = 0; part < factor; ++part) {
      std::vector<std::uint64_t> taken;
      for (std::size_t j = part; j < n; j += factor) taken.push_back(values[j]);
      parts.push_back(transform(taken, power(root, factor)));
    }
    std::vector<std::uint64_t> result(n, 0);
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint64_t turn = power(root, k);
      std::uint64_t twiddle = 1;
      for (const auto& part : parts) {
        result[k] = (result[k] + part[k % part.size()] * twiddle) % prime_;
        twiddle = twiddle * turn % prime_;
      }
    }
    return result;
  }

 private:
  static bool is_prime(std::uint64_t value) {
    for (std::uint64_t factor = 2; factor * factor <= value; ++factor) {
      if (value % factor == 0) return false;
    }
    return true;
  }
  bool has_order(std::uint64_t order) const {
    for (std::uint64_t k = 1; k < order; ++k) {
      if (power(root_, k) == 1) return false;
    }
    return true;
  }

  std::uint64_t prime_ = 0, root_ = 0;
};

// The signal [q][q' >= q][d] of images [image][q][phi].
inline std::vector<std::int64_t> modular_sums(const PolarShape& shape, std::span<const std::int16_t> images) {
  const std::size_t n = shape.angles;
  std::array<std::vector<std::uint64_t>, 3> residues;
  std::vector<ModularField> fields;
  for (int number = 0; number < 3; ++number) {
    const ModularField& field = fields.emplace_back(n, number);
    const std::uint64_t prime = field.prime();
    std::vector<std::vector<std::uint64_t>> sums(shape.pairs(), std::vector<std::uint64_t>(n, 0));
    for (std::size_t first = 0; first < images.size(); first += shape.values()) {
      std::vector<std::vector<std::uint64_t>> spectra;
      for (std::size_t q = 0; q < shape.rings; ++q) {
        std::vector<std::uint64_t> ring;
        for (std::size_t phi = 0; phi < n; ++phi) ring.push_back(field.of(images[first + q * n + phi]));
        spectra.push_back(field.transform(ring, field.root()));
      }
      for (std::size_t q = 0; q < shape.rings; ++q) {
        for (std::size_t other = q; other < shape.rings; ++other) {
          for (std::size_t k = 0; k < n; ++k) {
            std::uint64_t& sum = sums[shape.pair(q, other)][k];
            sum = (sum + spectra[q][(n - k) % n] * spectra[other][k]) % prime;
          }
        }
      }
    }
    const std::uint64_t scale = field.inverse(n);
    for (const auto& sum : sums) {
      for (const std::uint64_t value : field.transform(sum, field.inverse(field.root()))) {
        residues[static_cast<std::size_t>(number)].push_back(value * scale % prime);
      }
    }
  }
  // Garner's way from residues to digits of mixed radix; the largest third of all numbers are the negative
  // ones.
  const std::uint64_t a = fields[0].prime(), b = fields[1].prime(), c = fields[2].prime();
  std::vector<std::int64_t> signal;
  for (std::size_t i = 0; i < residues[0].size(); ++i) {
    const std::uint64_t x = residues[0][i];
    const std::uint64_t y = (residues[1][i] + b - x % b) % b * fields[1].inverse(a % b) % b;
    const std::uint64_t below = (x + a % c * (y % c)) % c;
    const std::uint64_t z = (residues[2][i] + c - below) % c * fields[2].inverse(a % c * (b % c) % c) % c;
    const auto wide =
        static_cast<__int128>(x) + static_cast<__int128>(a) * y + static_cast<__int128>(a) * b * z;
    const __int128 all = static_cast<__int128>(a) * b * c;
    signal.push_back(static_cast<std::int64_t>(wide > all / 2 ? wide - all : wide));
  }
  return signal;
}

}  // namespace annulus
