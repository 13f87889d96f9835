#include <annulus/backends/cpu/robust_sums.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

static_assert(sizeof(std::uint16_t) * 8 >= 16, "a bit for each lane");

// Sums over all pixels of a bin fit 64 bits: of squares, and of products with divisors.
std::int32_t largest_fast_value(const Plan& plan) {
  std::vector<std::uint32_t> entries(plan.bins());
  for (const std::uint32_t bin : plan.matrix.bin) ++entries[bin];
  const std::uint32_t most = entries.empty() ? 0 : *std::ranges::max_element(entries);
  const int room = 63 - kDivisorBits - static_cast<int>(std::bit_width(most));
  return std::min(kLargestSpreadValue, static_cast<std::int32_t>((1 << std::clamp(room, 1, 20)) - 1));
}

// Rounded inwards by more than single precision is off.
constexpr float kCaution = 0x1p-20f;

}  // namespace

RobustSums::RobustSums(const Job& job, const BandedPlan& banded, const LaneKernels& kernels)
    : job_(job),
      plan_(*job.plan),
      table_(*job.plan->spread),
      banded_(banded),
      kernels_(kernels),
      with_squares_(job.recipe.has_spread() || job.recipe.clips_by_spread()),
      largest_(largest_fast_value(plan_)),
      plain_(plan_, banded, kernels),
      lanes_(kernels.lanes),
      divisor_(kBandPixels + 1, 1),
      reduced_(plan_.dark.empty() ? 0 : (kBandPixels + 1) * kernels.lanes),
      out_(kBandPixels + 1) {
  const std::size_t places = std::size_t{plan_.bins()} * kernels.lanes;
  if (with_squares_) {
    squares_.resize(places);
    products_.resize(places);
    squares_upper_.resize(table_.is_whole() ? 0 : places);
    products_upper_.resize(table_.is_whole() ? 0 : places);
  }
  if (job.recipe.clip.by_sigma()) {
    low_.resize(places);
    high_.resize(places);
  }
}

void RobustSums::begin(std::span<const Frame* const> frames) {
  plain_.begin(frames);
  frames_ = frames.size();
  pass_ = 0;
  for (auto* sums : {&squares_, &squares_upper_, &products_, &products_upper_})
    std::fill(sums->begin(), sums->end(), 0);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane = Lane();
    if (i >= frames_) continue;
    lane.darks.emplace(plan_, frames[i]->fraction_bits);
    lane.one = one_count(*frames[i]);
    if (job_.recipe.clip.by_sigma()) lane.clip.emplace(job_, frames[i]->fraction_bits);
    lane.squares.resize(with_squares_ ? plan_.bins() : 0);
    lane.products.resize(lane.squares.size());
  }
}

void RobustSums::add_band(std::size_t band, std::int32_t* values) {
  const std::size_t start = band * kBandPixels;
  const std::size_t length = std::min<std::size_t>(kBandPixels, plan_.pixels() - start);
  std::copy_n(table_.divisor.data() + start, length, divisor_.begin());
  find_specials(band, values);
  if (!plan_.dark.empty()) remove_darks(band, values);
  if (pass_ == 0) {
    sum_band(band, values);
  } else {
    clip_band(band, values);
  }
  for (const std::uint32_t place : touched_) out_[place] = 0;
  touched_.clear();
  specials_.clear();
}

void RobustSums::leave_out(std::uint32_t place, std::size_t lane) {
  if (out_[place] == 0) touched_.push_back(place);
  out_[place] = static_cast<std::uint16_t>(out_[place] | 1u << lane);
}

// Values that are invalid, or too large for the loops whatever the dark.
void RobustSums::find_specials(std::size_t band, const std::int32_t* values) {
  const Validity& validity = plan_.validity;
  const bool dummy_is_low = validity.dummy_high < 0 || validity.dummy_low > validity.dummy_high;
  const std::int64_t above_dummy =
      dummy_is_low && validity.dummy_low <= validity.dummy_high ? validity.dummy_high + 1 : -largest_;
  // Of unsigned values the large ones look negative here.
  const std::int64_t least = plan_.pixel_type == PixelType::kU32 ? 0 : -largest_;
  const auto low = static_cast<std::int32_t>(std::max({above_dummy, least, -validity.max_count}));
  const auto high = static_cast<std::int32_t>(std::min<std::int64_t>(
      largest_, dummy_is_low ? validity.max_count : std::min(validity.max_count, validity.dummy_low - 1)));
  std::vector<std::uint32_t>& found = found_[4];
  found.resize(kBandPixels + 1);
  for (std::size_t i = banded_.bands[band].ranges; i < banded_.bands[band + 1].ranges; ++i) {
    const UsedRange range = banded_.ranges[i];
    const std::size_t count = kernels_.find_outside(values, range.begin, range.end, low, high, found.data());
    for (const std::uint32_t place : std::span(found).first(count)) {
      for (std::size_t lane = 0; lane < frames_; ++lane)
        find_special(band, place, lane, values[place * lanes() + lane]);
    }
  }
}

void RobustSums::find_special(std::size_t band, std::uint32_t place, std::size_t lane, std::int32_t value) {
  const auto pixel = static_cast<std::uint32_t>(band * kBandPixels + place);
  const bool is_unsigned = plan_.pixel_type == PixelType::kU32;
  const std::int64_t raw = is_unsigned ? std::int64_t{static_cast<std::uint32_t>(value)} : value;
  if (!plan_.validity.accepts(raw)) {
    leave_out(place, lane);
    if (pass_ > 0) return;
    Lane& mine = lanes_[lane];
    mine.invalid_squares.resize(plan_.bins());
    const Int128 square = Int128{table_.divisor[pixel]} * table_.divisor[pixel];
    for (std::uint32_t entry = plan_.matrix.first[pixel]; entry < plan_.matrix.first[pixel + 1]; ++entry) {
      mine.invalid_squares[plan_.matrix.bin[entry]] +=
          square * table_.square(plan_.matrix.weight[entry], plan_.weight_bits);
    }
  } else if (raw > largest_ || raw < -largest_) {
    leave_out(place, lane);
    specials_.push_back(
        {pixel, static_cast<std::uint32_t>(lane), lanes_[lane].darks->value(pixel, raw), raw});
  }
}

// s of the values that are left.
void RobustSums::remove_darks(std::size_t band, const std::int32_t* values) {
  const std::size_t start = band * kBandPixels;
  std::fill_n(&reduced_[kNoPixel * lanes()], lanes(), 0);
  for (std::size_t i = banded_.bands[band].ranges; i < banded_.bands[band + 1].ranges; ++i) {
    for (std::uint32_t place = banded_.ranges[i].begin; place < banded_.ranges[i].end; ++place) {
      for (std::size_t lane = 0; lane < lanes(); ++lane) {
        std::int32_t& reduced = reduced_[place * lanes() + lane];
        reduced = 0;
        if (lane >= frames_ || is_out(place, lane)) continue;
        const std::int32_t raw = values[place * lanes() + lane];
        const std::int64_t value = lanes_[lane].darks->value(start + place, raw);
        if (value > largest_ || value < -largest_) {
          leave_out(place, lane);
          specials_.push_back(
              {static_cast<std::uint32_t>(start + place), static_cast<std::uint32_t>(lane), value, raw});
        } else {
          reduced = static_cast<std::int32_t>(value);
        }
      }
    }
  }
}

void RobustSums::sum_band(std::size_t band, std::int32_t* values) {
  plain_.add_band(band, values);
  if (!with_squares_) return;
  std::int32_t* const reduced = reduced_.empty() ? values : reduced_.data();
  for (const std::uint32_t place : touched_) {
    for (std::size_t lane = 0; lane < frames_; ++lane) {
      if (is_out(place, lane)) reduced[place * lanes() + lane] = 0;
    }
  }
  // Lanes without a frame hold zeros, those of a damaged one anything that is no special value.
  const SpreadView spread{divisor_.data(), plan_.weight_bits, table_.square_bits};
  kernels_.add_spread(view_of(banded_, band), spread, reduced,
                      {squares_.data(), squares_upper_.data(), products_.data(), products_upper_.data()});
  for (const Special& special : specials_) add_special(special);
}

void RobustSums::add_special(const Special& special) {
  Lane& lane = lanes_[special.lane];
  const Int128 square = Int128{special.value} * special.value;
  const Int128 product = Int128{special.value} * table_.divisor[special.pixel];
  for (std::uint32_t entry = plan_.matrix.first[special.pixel]; entry < plan_.matrix.first[special.pixel + 1];
       ++entry) {
    const std::uint32_t factor = table_.square(plan_.matrix.weight[entry], plan_.weight_bits);
    lane.squares[plan_.matrix.bin[entry]] += square * factor;
    lane.products[plan_.matrix.bin[entry]] += product * factor;
  }
}

void RobustSums::clip_band(std::size_t band, const std::int32_t* values) {
  const BandView view = view_of(banded_, band);
  const auto room = [](std::vector<std::uint32_t>& list, std::size_t size) {
    if (list.size() < size + 1) list.resize(size + 1);
    return list.data();
  };
  const auto size = [](auto* begin, auto* end) { return static_cast<std::size_t>(end - begin); };
  DoubtfulParts found{};
  found.ones = room(found_[0], size(view.ones.begin, view.ones.end));
  found.twos = room(found_[1], size(view.twos.begin, view.twos.end));
  found.threes = room(found_[2], size(view.threes.begin, view.threes.end));
  found.wides = room(found_[3], size(view.wides_begin, view.wides_end));
  const std::int32_t* const reduced = reduced_.empty() ? values : reduced_.data();
  kernels_.find_doubtful(view, divisor_.data(), reduced, {low_.data(), high_.data()}, found);
  for (std::size_t i = 0; i < found.one_count; ++i)
    clip_segment(band, view.ones.begin[found.ones[i]], values);
  for (std::size_t i = 0; i < found.two_count; ++i)
    clip_segment(band, view.twos.begin[found.twos[i]], values);
  for (std::size_t i = 0; i < found.three_count; ++i)
    clip_segment(band, view.threes.begin[found.threes[i]], values);
  for (std::size_t i = 0; i < found.wide_count; ++i) {
    const WideShare& wide = view.wides_begin[found.wides[i]];
    clip_entries(band, wide.pixel, wide.bin, wide.weight, values);
  }
  clip_specials();
}

template <int kBins>
void RobustSums::clip_segment(std::size_t band, const Segment<kBins>& segment, const std::int32_t* values) {
  for (int i = 0; i < kSegment; ++i) {
    if (segment.pixel[i] == kNoPixel) continue;
    std::uint32_t rest = std::uint32_t{1} << plan_.weight_bits;
    if constexpr (kBins > 1) {
      for (int bin = 1; bin < kBins; ++bin) {
        const std::uint32_t weight = segment.weight[bin - 1][i];
        rest -= weight;
        clip_entries(band, segment.pixel[i], segment.first_bin + static_cast<std::uint32_t>(bin), weight,
                     values);
      }
    }
    clip_entries(band, segment.pixel[i], segment.first_bin, rest, values);
  }
}

// Of one pixel in one bin, in all frames.
void RobustSums::clip_entries(std::size_t band, std::uint32_t place, std::uint32_t bin, std::uint32_t weight,
                              const std::int32_t* values) {
  const std::size_t pixel = band * kBandPixels + place;
  const std::int32_t* const reduced = reduced_.empty() ? values : reduced_.data();
  for (std::size_t i = 0; i < frames_; ++i) {
    const std::size_t at = place * lanes() + i;
    if (lanes_[i].done || is_out(place, i)) continue;
    if (lanes_[i].clip->windows()[bin].holds(reduced[at], divisor_[place])) continue;
    clip_entry(lanes_[i], pixel, bin, weight, reduced[at], values[at]);
  }
}

void RobustSums::clip_specials() {
  for (const Special& special : specials_) {
    Lane& lane = lanes_[special.lane];
    if (lane.done) continue;
    for (std::uint32_t entry = plan_.matrix.first[special.pixel];
         entry < plan_.matrix.first[special.pixel + 1]; ++entry) {
      const std::uint32_t bin = plan_.matrix.bin[entry];
      if (lane.clip->windows()[bin].holds(special.value, table_.divisor[special.pixel])) continue;
      clip_entry(lane, special.pixel, bin, plan_.matrix.weight[entry], special.value, special.raw);
    }
  }
}

void RobustSums::clip_entry(Lane& lane, std::size_t pixel, std::uint32_t bin, std::uint32_t weight,
                            std::int64_t value, std::int64_t raw) {
  BinSums& clipped = lane.clipped[bin];
  lane.any_clipped = true;
  ++clipped.entries;
  clipped.signal += weight * raw;
  clipped.normalization += std::int64_t{weight} * plan_.normalization[pixel];
  clipped.count += weight;
  if (!plan_.dark.empty()) clipped.dark += std::int64_t{weight} * plan_.dark[pixel];
  if (banded_.has_squares) {
    clipped.variance += std::int64_t{squared_weight(weight, plan_.weight_bits, plan_.variance_bits)} *
                        std::max(raw, lane.one);
  }
  const std::int64_t divisor = table_.divisor[pixel];
  const Int128 factor = table_.square(weight, plan_.weight_bits);
  if (with_squares_) {
    clipped.squares += factor * value * value;
    clipped.products += factor * value * divisor;
  }
  clipped.divisor_squares += factor * divisor * divisor;
  if (job_.list_outliers) lane.outliers.push_back(static_cast<std::uint32_t>(pixel));
}

void RobustSums::end_first_pass() {
  std::vector<Sums> sums = plain_.take();
  for (std::size_t i = 0; i < frames_; ++i) {
    Lane& lane = lanes_[i];
    lane.all = std::move(sums[i]);
    for (std::size_t bin = 0; bin < lane.squares.size(); ++bin) {
      const std::size_t at = bin * lanes() + kernels_.place_of(i);
      lane.squares[bin] += squares_[at];
      lane.products[bin] += products_[at];
      if (table_.is_whole()) continue;
      lane.squares[bin] += Int128{squares_upper_[at]} * (1 << kSquareCut);
      lane.products[bin] += Int128{products_upper_[at]} * (1 << kProductCut);
    }
  }
}

bool RobustSums::again() {
  if (pass_++ == 0) end_first_pass();
  bool again = false;
  for (std::size_t i = 0; i < frames_; ++i) {
    Lane& lane = lanes_[i];
    if (lane.done) continue;  // only frames beside it are looked at again
    lane.result = sums_of(lane);
    if (lane.clip && lane.clip->next(lane.result)) {
      again = true;
    } else {
      if (lane.clip) finish_clip(job_, *lane.clip, lane.result);
      lane.done = true;
    }
  }
  if (!again) return false;
  for (std::size_t i = 0; i < frames_; ++i) {
    if (lanes_[i].done) continue;
    lanes_[i].clipped.assign(plan_.bins(), BinSums());
    lanes_[i].outliers.clear();
    lanes_[i].any_clipped = false;
  }
  make_sure_windows();
  return true;
}

void RobustSums::make_sure_windows() {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  std::fill(low_.begin(), low_.end(), -kFar);
  std::fill(high_.begin(), high_.end(), kFar);
  for (std::size_t i = 0; i < frames_; ++i) {
    if (lanes_[i].done) continue;
    const std::vector<ClipWindow>& windows = lanes_[i].clip->windows();
    for (std::size_t bin = 0; bin < windows.size(); ++bin) {
      if (windows[bin].open != 0) continue;
      const auto limit = [&](std::int32_t end) {
        return static_cast<float>(std::ldexp(static_cast<double>(end), -windows[bin].shift));
      };
      const float low = limit(windows[bin].low), high = limit(windows[bin].high);
      low_[bin * lanes() + i] = low + std::abs(low) * kCaution;
      high_[bin * lanes() + i] = high - std::abs(high) * kCaution;
    }
  }
}

Sums RobustSums::sums_of(const Lane& lane) const {
  Sums sums = lane.all;
  std::vector<Int128> squares = lane.squares, products = lane.products;
  const bool has_invalid = sums.has(Quantity::kMissingCount);
  const std::vector<Quantity> wanted = job_.quantities_of_passes();
  const auto has = [&wanted](Quantity quantity) { return std::ranges::count(wanted, quantity) > 0; };
  std::vector<Int128> missing(lane.invalid_squares);
  missing.resize(plan_.bins());
  if (lane.any_clipped) {
    if (!has_invalid) {
      for (const Quantity quantity :
           {Quantity::kMissingNormalization, Quantity::kMissingDark, Quantity::kMissingCount})
        if (has(quantity)) sums.make(quantity, plan_.bins());
    }
    sums.make(Quantity::kClipped, plan_.bins());
    for (std::size_t bin = 0; bin < lane.clipped.size(); ++bin) {
      const BinSums& clipped = lane.clipped[bin];
      if (clipped.entries == 0) continue;
      sums[Quantity::kSignal][bin] -= clipped.signal;
      if (has(Quantity::kVariance)) sums[Quantity::kVariance][bin] -= clipped.variance;
      sums[Quantity::kMissingNormalization][bin] += clipped.normalization;
      sums[Quantity::kMissingCount][bin] += clipped.count;
      if (has(Quantity::kMissingDark)) sums[Quantity::kMissingDark][bin] += clipped.dark;
      sums[Quantity::kClipped][bin] = clipped.entries;
      missing[bin] += clipped.divisor_squares;
      if (!with_squares_) continue;
      squares[bin] -= clipped.squares;
      products[bin] -= clipped.products;
    }
  }
  if (with_squares_) {
    store_words(sums, Quantity::kSquares, squares);
    store_words(sums, Quantity::kProducts, products);
  }
  if (!sums.has(Quantity::kMissingCount)) return sums;
  if (has(Quantity::kMissingSquares)) store_words(sums, Quantity::kMissingSquares, missing);
  if (has(Quantity::kClipped) && !sums.has(Quantity::kClipped)) sums.make(Quantity::kClipped, plan_.bins());
  if (has(Quantity::kEmptied)) sums.make(Quantity::kEmptied, plan_.bins());
  return sums;
}

std::vector<Sums> RobustSums::take() {
  std::vector<Sums> taken;
  for (std::size_t i = 0; i < frames_; ++i) {
    Lane& lane = lanes_[i];
    std::ranges::sort(lane.outliers);
    const auto repeated = std::ranges::unique(lane.outliers);
    lane.outliers.erase(repeated.begin(), repeated.end());
    lane.result.outliers = std::move(lane.outliers);
    taken.push_back(std::move(lane.result));
  }
  return taken;
}

}  // namespace annulus
