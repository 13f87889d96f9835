#include <annulus/backends/cpu/rank_sums.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>

namespace annulus {

RankSums::RankSums(const Job& job)
    : job_(job),
      plan_(*job.plan),
      table_(*job.plan->spread),
      rows_(plan_.bins() + 1),
      windows_(plan_.bins()) {
  for (const std::uint32_t bin : plan_.matrix.bin) ++rows_[bin + 1];
  for (std::size_t bin = 0; bin < plan_.bins(); ++bin) rows_[bin + 1] += rows_[bin];
  ranked_.resize(rows_.back());
}

void RankSums::begin(std::span<const Frame* const> frames) {
  darks_.emplace(plan_, frames.front()->fraction_bits);
  one_ = one_count(*frames.front());
  gathering_ = true;
  ends_.assign(rows_.begin(), rows_.end() - 1);
  invalid_pixels_ = 0;
  outliers_.clear();
  fraction_bits_ = frames.front()->fraction_bits;
  kept_.assign(plan_.bins(), Kept());
}

void RankSums::add_band(std::size_t band, std::int32_t* values) {
  const std::size_t start = band * kBandPixels;
  const std::size_t end = std::min<std::size_t>(start + kBandPixels, plan_.pixels());
  const bool is_unsigned = plan_.pixel_type == PixelType::kU32;
  for (std::size_t pixel = start; pixel < end; ++pixel) {
    if (plan_.matrix.first[pixel] == plan_.matrix.first[pixel + 1]) continue;
    const std::int32_t stored = values[pixel - start];
    const std::int64_t raw = is_unsigned ? std::int64_t{static_cast<std::uint32_t>(stored)} : stored;
    if (!plan_.validity.accepts(raw)) {
      invalid_pixels_ += gathering_ ? 1 : 0;
      continue;
    }
    const std::int64_t s = darks_->value(pixel, raw);
    const double value = static_cast<double>(s) / table_.divisor[pixel];
    if (gathering_) {
      gather(pixel, value);
    } else {
      sum(pixel, s, raw, value);
    }
  }
}

void RankSums::gather(std::size_t pixel, double value) {
  for (std::uint32_t entry = plan_.matrix.first[pixel]; entry < plan_.matrix.first[pixel + 1]; ++entry) {
    ranked_[ends_[plan_.matrix.bin[entry]]++] = {
        value, std::uint64_t{plan_.matrix.weight[entry]} * table_.divisor[pixel]};
  }
}

void RankSums::sum(std::size_t pixel, std::int64_t s, std::int64_t raw, double value) {
  bool out = false;
  for (std::uint32_t entry = plan_.matrix.first[pixel]; entry < plan_.matrix.first[pixel + 1]; ++entry) {
    const std::uint32_t bin = plan_.matrix.bin[entry];
    if (value < windows_[bin].low || value > windows_[bin].high) {
      out = true;
      continue;
    }
    Kept& kept = kept_[bin];
    const std::int64_t weight = plan_.matrix.weight[entry], divisor = table_.divisor[pixel];
    const Int128 square = table_.square(plan_.matrix.weight[entry], plan_.weight_bits);
    ++kept.entries;
    kept.signal += weight * raw;
    kept.count += weight;
    kept.normalization += weight * plan_.normalization[pixel];
    if (!plan_.dark.empty()) kept.dark += weight * plan_.dark[pixel];
    if (job_.recipe.has_variance()) {
      kept.variance +=
          std::int64_t{squared_weight(plan_.matrix.weight[entry], plan_.weight_bits, plan_.variance_bits)} *
          std::max(raw, one_);
    }
    kept.squares += square * s * s;
    kept.products += square * s * divisor;
    kept.divisor_squares += square * divisor * divisor;
  }
  if (out && job_.list_outliers) outliers_.push_back(static_cast<std::uint32_t>(pixel));
}

bool RankSums::again() {
  if (!gathering_) return false;
  gathering_ = false;
  for (std::size_t bin = 0; bin < windows_.size(); ++bin) {
    const std::span all(ranked_);
    const auto pixels = all.subspan(rows_[bin], ends_[bin] - rows_[bin]);
    windows_[bin] = pixels.empty() ? RankWindow{0, 0} : rank_window(job_.recipe.clip, pixels);
  }
  return true;
}

// What is missing of the plan's totals is all that was not kept.
std::vector<Sums> RankSums::take() {
  const std::size_t bins = plan_.bins();
  Sums sums;
  sums.fraction_bits = fraction_bits_;
  sums.invalid_pixels = invalid_pixels_;
  sums.outliers = std::move(outliers_);
  bool lacks_any = false;
  for (std::size_t bin = 0; bin < bins; ++bin) lacks_any |= kept_[bin].count != plan_.totals.count[bin];
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
        fill(quantity, [&](std::size_t bin) { return kept_[bin].signal; });
        break;
      case Quantity::kVariance:
        fill(quantity, [&](std::size_t bin) { return kept_[bin].variance; });
        break;
      case Quantity::kSquares:
        fill_wide(quantity, [&](std::size_t bin) { return kept_[bin].squares; });
        break;
      case Quantity::kProducts:
        fill_wide(quantity, [&](std::size_t bin) { return kept_[bin].products; });
        break;
      case Quantity::kMissingNormalization:
        fill(quantity,
             [&](std::size_t bin) { return plan_.totals.normalization[bin] - kept_[bin].normalization; });
        break;
      case Quantity::kMissingDark:
        fill(quantity, [&](std::size_t bin) { return plan_.totals.dark[bin] - kept_[bin].dark; });
        break;
      case Quantity::kMissingCount:
        fill(quantity, [&](std::size_t bin) { return plan_.totals.count[bin] - kept_[bin].count; });
        break;
      case Quantity::kMissingSquares:
        fill_wide(quantity, [&](std::size_t bin) {
          const Int128 total = Int128{table_.squares_word1[bin]} * (Int128{1} << 64) + table_.squares[bin];
          return total - kept_[bin].divisor_squares;
        });
        break;
      case Quantity::kClipped:
        fill(quantity,
             [&](std::size_t bin) { return std::int64_t{ends_[bin] - rows_[bin]} - kept_[bin].entries; });
        break;
      case Quantity::kEmptied:
        break;  // of another clip
    }
  }
  std::vector<Sums> taken;
  taken.push_back(std::move(sums));
  return taken;
}

}  // namespace annulus
