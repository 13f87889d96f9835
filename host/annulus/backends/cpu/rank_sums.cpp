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
  invalid_.clear();
  outliers_.clear();
  sums_ = Sums();
  sums_.fraction_bits = frames.front()->fraction_bits;
  for (const Quantity quantity : job_.quantities()) sums_.make(quantity, plan_.bins());
  for (auto* wide : {&squares_, &products_, &missing_squares_}) wide->assign(plan_.bins(), 0);
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
      if (gathering_) invalid_.push_back(static_cast<std::uint32_t>(pixel));
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
    const std::uint32_t bin = plan_.matrix.bin[entry], weight = plan_.matrix.weight[entry];
    const std::int64_t square = table_.square(weight, plan_.weight_bits), divisor = table_.divisor[pixel];
    if (value < windows_[bin].low || value > windows_[bin].high) {
      leave_out(pixel, bin, weight, square);
      ++sums_[Quantity::kClipped][bin];
      out = true;
      continue;
    }
    sums_[Quantity::kSignal][bin] += weight * raw;
    if (job_.recipe.has_variance()) {
      sums_[Quantity::kVariance][bin] +=
          std::int64_t{squared_weight(weight, plan_.weight_bits, plan_.variance_bits)} * std::max(raw, one_);
    }
    squares_[bin] += Int128{s} * s * square;
    products_[bin] += Int128{s} * divisor * square;
  }
  if (out && job_.list_outliers) outliers_.push_back(static_cast<std::uint32_t>(pixel));
}

// Of an invalid pixel, or of one that is outside of the window.
void RankSums::leave_out(std::size_t pixel, std::uint32_t bin, std::int64_t weight, std::int64_t square) {
  sums_[Quantity::kMissingNormalization][bin] += weight * plan_.normalization[pixel];
  sums_[Quantity::kMissingCount][bin] += weight;
  if (!plan_.dark.empty()) sums_[Quantity::kMissingDark][bin] += weight * plan_.dark[pixel];
  missing_squares_[bin] += Int128{table_.divisor[pixel]} * table_.divisor[pixel] * square;
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

std::vector<Sums> RankSums::take() {
  for (const std::uint32_t pixel : invalid_) {
    for (std::uint32_t entry = plan_.matrix.first[pixel]; entry < plan_.matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t weight = plan_.matrix.weight[entry];
      leave_out(pixel, plan_.matrix.bin[entry], weight, table_.square(weight, plan_.weight_bits));
    }
  }
  sums_.invalid_pixels = invalid_.size();
  if (sums_.has(Quantity::kSquares)) {
    store_words(sums_, Quantity::kSquares, squares_);
    store_words(sums_, Quantity::kProducts, products_);
  }
  if (sums_.has(Quantity::kMissingSquares)) store_words(sums_, Quantity::kMissingSquares, missing_squares_);
  const auto left_out = sums_[Quantity::kMissingCount];
  if (std::ranges::all_of(left_out, [](std::int64_t count) { return count == 0; })) {
    for (const Quantity quantity : all_quantities())
      if (is_missing(quantity)) sums_.drop(quantity);
  }
  sums_.outliers = std::move(outliers_);
  std::vector<Sums> taken;
  taken.push_back(std::move(sums_));
  return taken;
}

}  // namespace annulus
