#include <annulus/backends/cpu/lane_sums.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>
#include <limits>

namespace annulus {

LaneSums::LaneSums(const Plan& plan, const BandedPlan& banded, const LaneKernels& kernels)
    : plan_(plan),
      banded_(banded),
      kernels_(kernels),
      plain_(plain_values(plan)),
      signal_(plan.bins() * kernels.lanes),
      variance_(banded.has_squares ? signal_.size() : 0),
      one_(kernels.lanes),
      low_(kernels.lanes),
      high_(kernels.lanes),
      outside_(kBandPixels + 1),
      invalid_(kernels.lanes) {}

// The larger of the two intervals that the dummies leave.
LaneSums::Plain LaneSums::plain_values(const Plan& plan) {
  const Validity& validity = plan.validity;
  const std::int64_t high = std::min<std::int64_t>(validity.max_count, kLargestLaneValue);
  const std::int64_t low = plan.pixel_type == PixelType::kU32 ? 0 : -high;
  const auto interval = [](std::int64_t from, std::int64_t to) {
    return from > to ? Plain{} : Plain{static_cast<std::int32_t>(from), static_cast<std::int32_t>(to)};
  };
  if (validity.dummy_low > validity.dummy_high || validity.dummy_low > high || validity.dummy_high < low) {
    return interval(low, high);
  }
  const std::int64_t below = validity.dummy_low - low;
  const std::int64_t above = high - validity.dummy_high;
  return above >= below ? interval(validity.dummy_high + 1, high) : interval(low, validity.dummy_low - 1);
}

void LaneSums::begin(std::span<const Frame* const> frames) {
  std::fill(signal_.begin(), signal_.end(), 0);
  std::fill(variance_.begin(), variance_.end(), 0);
  std::fill(one_.begin(), one_.end(), 1);
  fraction_bits_.clear();
  for (std::size_t lane = 0; lane < frames.size(); ++lane) {
    one_[lane] = static_cast<std::int32_t>(one_count(*frames[lane]));
    fraction_bits_.push_back(frames[lane]->fraction_bits);
  }
  for (auto& pixels : invalid_) pixels.clear();
}

void LaneSums::add_band(std::size_t band, std::int32_t* values) {
  std::fill(low_.begin(), low_.end(), std::numeric_limits<std::int32_t>::max());
  std::fill(high_.begin(), high_.end(), std::numeric_limits<std::int32_t>::min());
  const UsedRange* const ranges = banded_.ranges.data();
  for (std::size_t i = banded_.bands[band].ranges; i < banded_.bands[band + 1].ranges; ++i) {
    kernels_.extremes(values, ranges[i].begin, ranges[i].end, low_.data(), high_.data());
  }
  const bool plain = *std::min_element(low_.begin(), low_.end()) >= plain_.low &&
                     *std::max_element(high_.begin(), high_.end()) <= plain_.high;
  if (!plain) clean(band, values);
  kernels_.integrate(view_of(banded_, band), values, one_.data(), signal_.data(),
                     variance_.empty() ? nullptr : variance_.data());
}

void LaneSums::clean(std::size_t band, std::int32_t* values) {
  for (std::size_t i = banded_.bands[band].ranges; i < banded_.bands[band + 1].ranges; ++i) {
    const UsedRange range = banded_.ranges[i];
    const std::size_t found =
        kernels_.find_outside(values, range.begin, range.end, plain_.low, plain_.high, outside_.data());
    for (const std::uint32_t place : std::span(outside_).first(found)) {
      for (std::size_t lane = 0; lane < lanes(); ++lane) {
        clean_pixel(band * kBandPixels + place, lane, values[place * lanes() + lane]);
      }
    }
  }
}

// What the kernels will add to the variance for the 0 that stands for a pixel is taken off here.
void LaneSums::clean_pixel(std::size_t pixel, std::size_t lane, std::int32_t& value) {
  const bool is_unsigned = plan_.pixel_type == PixelType::kU32;
  const std::int64_t raw = is_unsigned ? std::int64_t{static_cast<std::uint32_t>(value)} : value;
  const std::int64_t one = one_[lane];
  if (!plan_.validity.accepts(raw)) {
    invalid_[lane].push_back(static_cast<std::uint32_t>(pixel));
    add_pixel(pixel, lane, 0, -one);
  } else if (raw > kLargestLaneValue || raw < -kLargestLaneValue) {
    add_pixel(pixel, lane, raw, std::max(raw, one) - one);
  } else {
    return;
  }
  value = 0;
}

void LaneSums::add_pixel(std::size_t pixel, std::size_t lane, std::int64_t signal, std::int64_t variance) {
  const std::size_t place = kernels_.place_of(lane);
  for (std::uint32_t entry = plan_.matrix.first[pixel]; entry < plan_.matrix.first[pixel + 1]; ++entry) {
    const std::uint32_t weight = plan_.matrix.weight[entry];
    const std::size_t at = plan_.matrix.bin[entry] * lanes() + place;
    signal_[at] += weight * signal;
    if (variance_.empty()) continue;
    variance_[at] += std::int64_t{squared_weight(weight, plan_.weight_bits, plan_.variance_bits)} * variance;
  }
}

void LaneSums::merge(const LaneSums& other) {
  for (std::size_t i = 0; i < signal_.size(); ++i) signal_[i] += other.signal_[i];
  for (std::size_t i = 0; i < variance_.size(); ++i) variance_[i] += other.variance_[i];
  for (std::size_t lane = 0; lane < lanes(); ++lane) {
    invalid_[lane].insert(invalid_[lane].end(), other.invalid_[lane].begin(), other.invalid_[lane].end());
  }
}

std::vector<Sums> LaneSums::take() {
  std::vector<Sums> taken(fraction_bits_.size());
  take_columns(signal_, taken, Quantity::kSignal);
  if (!variance_.empty()) take_columns(variance_, taken, Quantity::kVariance);
  for (std::size_t lane = 0; lane < taken.size(); ++lane) {
    taken[lane].fraction_bits = fraction_bits_[lane];
    subtract_invalid(plan_, invalid_[lane], taken[lane]);
  }
  return taken;
}

// A block of bins for all lanes before the next: the sums of a cake do not fit a cache, and each line of it
// would otherwise be fetched once a lane.
void LaneSums::take_columns(const LargeVector<std::int64_t>& sums, std::vector<Sums>& taken,
                            Quantity quantity) const {
  constexpr std::size_t kBlock = 256;
  const std::size_t bins = sums.size() / lanes();
  for (Sums& one : taken) one.reserve(quantity, bins);
  for (std::size_t begin = 0; begin < bins; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, bins);
    for (std::size_t lane = 0; lane < taken.size(); ++lane) {
      std::int64_t* const column = taken[lane][quantity].data();
      const std::int64_t* const from = sums.data() + kernels_.place_of(lane);
      for (std::size_t bin = begin; bin < end; ++bin) column[bin] = from[bin * lanes()];
    }
  }
}

}  // namespace annulus
