// Sums of clips and of spreads by their definitions (docs/numerics.md): entry by entry in 128-bit integers,
// each pass anew. The windows between two passes come from the library; tests/oracle holds these against a
// second definition.
#pragma once

#include <annulus/plan/rank_clip.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/spread_table.hpp>

#include <algorithm>
#include <set>

#include "naive_reduction.hpp"

namespace annulus::testing {

// An entry of the matrix with what a frame has there.
struct NaiveEntry {
  std::uint32_t pixel;
  Wide weight, square, divisor, s, raw;
};

class NaiveRobust {
 public:
  NaiveRobust(const Job& job, const std::vector<std::int64_t>& pixels, int fraction_bits)
      : job_(job),
        plan_(*job.plan),
        fraction_bits_(fraction_bits),
        valid_(plan_.bins()),
        kept_(plan_.bins()) {
    const DarkRemover darks(plan_, fraction_bits);
    invalid_ = reduce_naively(plan_, pixels, fraction_bits);
    missing_squares_.resize(plan_.bins());
    for (std::uint32_t pixel = 0; pixel < pixels.size(); ++pixel) {
      for (std::uint32_t i = plan_.matrix.first[pixel]; i < plan_.matrix.first[pixel + 1]; ++i) {
        const std::uint32_t bin = plan_.matrix.bin[i], weight = plan_.matrix.weight[i];
        const Wide square = plan_.spread->square(weight, plan_.weight_bits);
        const Wide divisor = plan_.spread->divisor[pixel];
        if (!plan_.validity.accepts(pixels[pixel])) {
          missing_squares_[bin] += square * divisor * divisor;
        } else {
          valid_[bin].push_back(
              {pixel, weight, square, divisor, darks.value(pixel, pixels[pixel]), pixels[pixel]});
        }
      }
    }
    kept_ = valid_;
  }

  Sums reduce() {
    if (job_.recipe.clip.by_rank()) {
      keep_ranks();
      return sums(job_.quantities());
    }
    Sums result = sums(job_.quantities_of_passes());
    if (!job_.recipe.has_clip()) return result;
    SigmaClip clip(job_, fraction_bits_);
    while (clip.next(result)) {
      for (std::size_t bin = 0; bin < kept_.size(); ++bin) {
        const ClipWindow window = clip.windows()[bin];
        keep(bin, [&](const NaiveEntry& entry) {
          const Wide scaled = entry.s * (Wide{1} << window.shift);
          return window.open != 0 ||
                 (window.low * entry.divisor <= scaled && scaled <= window.high * entry.divisor);
        });
      }
      result = sums(job_.quantities_of_passes());
    }
    finish_clip(job_, clip, result);
    return result;
  }

 private:
  template <typename Keep>
  void keep(std::size_t bin, Keep keep) {
    kept_[bin].clear();
    std::ranges::copy_if(valid_[bin], std::back_inserter(kept_[bin]), keep);
  }

  void keep_ranks() {
    const auto value = [](const NaiveEntry& entry) {
      return static_cast<double>(static_cast<std::int64_t>(entry.s)) /
             static_cast<double>(static_cast<std::int64_t>(entry.divisor));
    };
    for (std::size_t bin = 0; bin < kept_.size(); ++bin) {
      std::vector<NaiveEntry> sorted = valid_[bin];
      if (sorted.empty()) continue;
      std::ranges::sort(sorted, {}, value);
      Wide total = 0;
      for (const NaiveEntry& entry : sorted) total += entry.weight * entry.divisor;
      const auto at = [&](double part) {
        const Wide number = static_cast<Wide>(quantile_number(part));
        Wide sum = 0;
        for (const NaiveEntry& entry : sorted) {
          sum += entry.weight * entry.divisor;
          if (sum * (Wide{1} << kQuantileBits) >= number * total) return value(entry);
        }
        return value(sorted.back());
      };
      const Clip& clip = job_.recipe.clip;
      const double low = at(clip.quantiles ? clip.quantiles->low : 0.5),
                   high = at(clip.quantiles ? clip.quantiles->high : 0.5);
      keep(bin, [&](const NaiveEntry& entry) { return value(entry) >= low && value(entry) <= high; });
    }
  }

  Sums sums(const std::vector<Quantity>& wanted) const {
    Sums result;
    result.fraction_bits = fraction_bits_;
    result.invalid_pixels = invalid_.invalid_pixels;
    std::set<std::uint32_t> outliers;
    bool lacks_any = invalid_.invalid_pixels > 0;
    for (std::size_t bin = 0; bin < kept_.size(); ++bin) lacks_any |= kept_[bin].size() < valid_[bin].size();
    for (const Quantity quantity : wanted) {
      if (is_missing(quantity) && !lacks_any) continue;
      const std::size_t words = std::min<std::size_t>(2, most_words(PixelType::kI32, quantity));
      const auto values = result.make(quantity, plan_.bins(), words);
      for (std::size_t bin = 0; bin < kept_.size(); ++bin) {
        const Wide value = number(quantity, bin);
        const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
        values[bin] = low;
        if (words == 2) values[plan_.bins() + bin] = static_cast<std::int64_t>((value - low) >> 64);
        if (words == 1 && value != low) throw std::overflow_error("a sum left 64 bits");
      }
    }
    if (job_.list_outliers) {
      for (std::size_t bin = 0; bin < kept_.size(); ++bin) {
        std::set<std::uint32_t> kept;
        for (const NaiveEntry& entry : kept_[bin]) kept.insert(entry.pixel);
        for (const NaiveEntry& entry : valid_[bin])
          if (!kept.contains(entry.pixel)) outliers.insert(entry.pixel);
      }
      result.outliers.assign(outliers.begin(), outliers.end());
    }
    return result;
  }

  Wide number(Quantity quantity, std::size_t bin) const {
    const auto sum = [](const std::vector<NaiveEntry>& entries, auto term) {
      Wide total = 0;
      for (const NaiveEntry& entry : entries) total += term(entry);
      return total;
    };
    const auto of_kept = [&](auto term) { return sum(kept_[bin], term); };
    const auto missing = [&](auto term, Wide of_invalid) {
      return of_invalid + sum(valid_[bin], term) - of_kept(term);
    };
    const auto invalid = [&](Quantity of) { return invalid_.has(of) ? Wide{invalid_[of][bin]} : Wide{0}; };
    const Wide one = fraction_bits_ <= 28 ? Wide{1} << fraction_bits_ : Wide{0};
    switch (quantity) {
      case Quantity::kSignal:
        return of_kept([](const NaiveEntry& e) { return e.weight * e.raw; });
      case Quantity::kVariance:
        return of_kept([&](const NaiveEntry& e) {
          return squared_weight(static_cast<std::uint32_t>(e.weight), plan_.weight_bits,
                                plan_.variance_bits) *
                 std::max(e.raw, one);
        });
      case Quantity::kSquares:
        return of_kept([](const NaiveEntry& e) { return e.square * e.s * e.s; });
      case Quantity::kProducts:
        return of_kept([](const NaiveEntry& e) { return e.square * e.s * e.divisor; });
      case Quantity::kMissingNormalization:
        return missing([&](const NaiveEntry& e) { return e.weight * plan_.normalization[e.pixel]; },
                       invalid(quantity));
      case Quantity::kMissingDark:
        return missing([&](const NaiveEntry& e) { return e.weight * plan_.dark[e.pixel]; },
                       invalid(quantity));
      case Quantity::kMissingCount:
        return missing([](const NaiveEntry& e) { return e.weight; }, invalid(quantity));
      case Quantity::kMissingSquares:
        return missing([](const NaiveEntry& e) { return e.square * e.divisor * e.divisor; },
                       missing_squares_[bin]);
      case Quantity::kClipped:
        return missing([](const NaiveEntry&) { return Wide{1}; }, 0);
      default:
        return 0;
    }
  }

  const Job& job_;
  const Plan& plan_;
  const int fraction_bits_;
  Sums invalid_;
  std::vector<Wide> missing_squares_;  // of invalid pixels
  std::vector<std::vector<NaiveEntry>> valid_, kept_;
};

}  // namespace annulus::testing
