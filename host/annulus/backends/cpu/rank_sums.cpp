#include <annulus/backends/cpu/rank_sums.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr double kInvalid = std::numeric_limits<double>::infinity();

}  // namespace

RankSums::RankSums(const Job& job)
    : job_(job),
      plan_(*job.plan),
      table_(*job.plan->spread),
      rows_(plan_.bins() + 1),
      row_pixels_(plan_.matrix.bin.size()),
      row_weights_(plan_.matrix.bin.size()),
      raw_(plan_.pixels()),
      values_(plan_.pixels()) {
  const SparseMatrix& matrix = plan_.matrix;
  for (const std::uint32_t bin : matrix.bin) ++rows_[bin + 1];
  for (std::size_t bin = 0; bin < plan_.bins(); ++bin) rows_[bin + 1] += rows_[bin];
  std::vector<std::uint32_t> next(rows_.begin(), rows_.end() - 1);
  for (std::uint32_t pixel = 0; pixel < plan_.pixels(); ++pixel) {
    for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t slot = next[matrix.bin[entry]]++;
      row_pixels_[slot] = pixel;
      row_weights_[slot] = matrix.weight[entry];
    }
  }
}

void RankSums::begin(std::span<const Frame* const> frames) {
  darks_.emplace(plan_, frames.front()->fraction_bits);
  fraction_bits_ = frames.front()->fraction_bits;
  one_ = one_count(*frames.front());
  if (job_.list_outliers) is_out_.assign(plan_.pixels(), 0);
}

std::int64_t RankSums::raw_of(std::size_t pixel) const {
  const std::int32_t stored = raw_[pixel];
  return plan_.pixel_type == PixelType::kU32 ? std::int64_t{static_cast<std::uint32_t>(stored)} : stored;
}

void RankSums::add_band(std::size_t band, std::int32_t* values) {
  const std::size_t start = band * kBandPixels;
  const std::size_t end = std::min<std::size_t>(start + kBandPixels, plan_.pixels());
  std::copy_n(values, end - start, raw_.begin() + static_cast<std::ptrdiff_t>(start));
  const Validity validity = plan_.validity;
  const std::uint32_t* const divisor = table_.divisor.data();
  const bool has_dark = !plan_.dark.empty();
  for (std::size_t pixel = start; pixel < end; ++pixel) {
    const std::int64_t raw = raw_of(pixel);
    const std::int64_t s = has_dark ? darks_->value(pixel, raw) : raw;
    const double value = static_cast<double>(s) / divisor[pixel];
    values_[pixel] = validity.accepts(raw) ? value : kInvalid;
  }
}

RankSums::Kept RankSums::keep(std::size_t bin) {
  ranked_.clear();
  const std::uint32_t first = rows_[bin], end = rows_[bin + 1];
  for (std::uint32_t slot = first; slot < end; ++slot) {
    const std::uint32_t pixel = row_pixels_[slot];
    if (values_[pixel] < kInvalid)
      ranked_.push_back({values_[pixel], std::uint64_t{row_weights_[slot]} * table_.divisor[pixel]});
  }
  Kept kept;
  kept.valid = static_cast<std::int64_t>(ranked_.size());
  if (ranked_.empty()) return kept;
  const RankWindow window = rank_window(job_.recipe.clip, ranked_);
  for (std::uint32_t slot = first; slot < end; ++slot) {
    const double value = values_[row_pixels_[slot]];
    if (value >= window.low && value <= window.high) {
      add(kept, slot);
    } else if (job_.list_outliers && value < kInvalid) {
      is_out_[row_pixels_[slot]] = 1;
    }
  }
  return kept;
}

void RankSums::add(Kept& kept, std::size_t slot) const {
  const std::uint32_t pixel = row_pixels_[slot];
  const std::int64_t weight = row_weights_[slot], divisor = table_.divisor[pixel], raw = raw_of(pixel);
  const std::int64_t s = darks_->value(pixel, raw);
  const Int128 square = table_.square(row_weights_[slot], plan_.weight_bits);
  ++kept.entries;
  kept.signal += weight * raw;
  kept.count += weight;
  kept.normalization += weight * plan_.normalization[pixel];
  if (!plan_.dark.empty()) kept.dark += weight * plan_.dark[pixel];
  if (job_.recipe.has_variance()) {
    kept.variance +=
        std::int64_t{squared_weight(row_weights_[slot], plan_.weight_bits, plan_.variance_bits)} *
        std::max(raw, one_);
  }
  kept.squares += square * s * s;
  kept.products += square * s * divisor;
  kept.divisor_squares += square * divisor * divisor;
}

// What is missing of the plan's totals is all that was not kept.
std::vector<Sums> RankSums::take() {
  const std::size_t bins = plan_.bins();
  std::vector<Kept> kept(bins);
  bool lacks_any = false;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    kept[bin] = keep(bin);
    lacks_any |= kept[bin].count != plan_.totals.count[bin];
  }
  std::vector<Sums> taken(1);
  Sums& sums = taken.front();
  sums.fraction_bits = fraction_bits_;
  for (std::size_t pixel = 0; pixel < plan_.pixels(); ++pixel) {
    const bool is_used = plan_.matrix.first[pixel] != plan_.matrix.first[pixel + 1];
    if (is_used && values_[pixel] == kInvalid) ++sums.invalid_pixels;
    if (job_.list_outliers && is_out_[pixel] != 0) sums.outliers.push_back(static_cast<std::uint32_t>(pixel));
  }
  const auto fill = [&](Quantity quantity, auto number) {
    const auto values = sums.make(quantity, bins);
    for (std::size_t bin = 0; bin < bins; ++bin) values[bin] = number(bin);
  };
  const auto fill_wide = [&](Quantity quantity, auto number) {
    std::vector<Int128> values(bins);
    for (std::size_t bin = 0; bin < bins; ++bin) values[bin] = number(bin);
    store_words(sums, quantity, values);
  };
  for (const Quantity quantity : job_.quantities()) {
    if (is_missing(quantity) && !lacks_any) continue;
    switch (quantity) {
      case Quantity::kSignal:
        fill(quantity, [&](std::size_t bin) { return kept[bin].signal; });
        break;
      case Quantity::kVariance:
        fill(quantity, [&](std::size_t bin) { return kept[bin].variance; });
        break;
      case Quantity::kSquares:
        fill_wide(quantity, [&](std::size_t bin) { return kept[bin].squares; });
        break;
      case Quantity::kProducts:
        fill_wide(quantity, [&](std::size_t bin) { return kept[bin].products; });
        break;
      case Quantity::kMissingNormalization:
        fill(quantity,
             [&](std::size_t bin) { return plan_.totals.normalization[bin] - kept[bin].normalization; });
        break;
      case Quantity::kMissingDark:
        fill(quantity, [&](std::size_t bin) { return plan_.totals.dark[bin] - kept[bin].dark; });
        break;
      case Quantity::kMissingCount:
        fill(quantity, [&](std::size_t bin) { return plan_.totals.count[bin] - kept[bin].count; });
        break;
      case Quantity::kMissingSquares:
        fill_wide(quantity, [&](std::size_t bin) {
          const Int128 total = Int128{table_.squares_word1[bin]} * (Int128{1} << 64) + table_.squares[bin];
          return total - kept[bin].divisor_squares;
        });
        break;
      case Quantity::kClipped:
        fill(quantity, [&](std::size_t bin) { return kept[bin].valid - kept[bin].entries; });
        break;
      case Quantity::kEmptied:
        break;  // of another clip
    }
  }
  return taken;
}

}  // namespace annulus
