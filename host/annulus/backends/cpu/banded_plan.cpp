#include <annulus/backends/cpu/banded_plan.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace annulus {
namespace {

// A pixel of a band with its first bin, as one number to sort by.
using PixelOfBand = std::uint64_t;
PixelOfBand pixel_of_band(std::uint32_t first_bin, std::uint16_t pixel) {
  return PixelOfBand{first_bin} << 16 | pixel;
}

// Adds consecutive bands to a BandedPlan.
class BandMaker {
 public:
  explicit BandMaker(const Job& job) : plan_(*job.plan), has_squares_(job.recipe.has_variance()) {}

  void add(std::size_t start) {
    for (auto& pixels : by_width_) pixels.clear();
    const std::size_t end = std::min<std::size_t>(start + kBandPixels, plan_.pixels());
    made_.bands.push_back(sizes());
    for (std::size_t pixel = start; pixel < end; ++pixel)
      sort_in(pixel, static_cast<std::uint16_t>(pixel - start));
    add_segments<1>(start, made_.ones, made_.one_squares);
    add_segments<2>(start, made_.twos, made_.two_squares);
    add_segments<3>(start, made_.threes, made_.three_squares);
  }

  BandedPlan finish() && {
    made_.bands.push_back(sizes());
    return std::move(made_);
  }

 private:
  BandParts sizes() const {
    const auto size = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
    return {size(made_.ones), size(made_.twos), size(made_.threes), size(made_.wides), size(made_.ranges)};
  }

  std::uint32_t square(std::uint32_t weight) const {
    return has_squares_ ? squared_weight(weight, plan_.weight_bits, plan_.variance_bits) : 0;
  }

  void sort_in(std::size_t pixel, std::uint16_t place) {
    const std::uint32_t first = plan_.matrix.first[pixel];
    const std::uint32_t count = plan_.matrix.first[pixel + 1] - first;
    if (count == 0) return;
    note_used(place);
    const std::uint32_t bin = plan_.matrix.bin[first];
    const bool neighbours = plan_.matrix.bin[first + count - 1] - bin == count - 1;
    if (count <= by_width_.size() && neighbours) {
      by_width_[count - 1].push_back(pixel_of_band(bin, place));
      return;
    }
    for (std::uint32_t entry = first; entry < first + count; ++entry) {
      const std::uint32_t weight = plan_.matrix.weight[entry];
      made_.wides.push_back({plan_.matrix.bin[entry], place, weight, square(weight)});
    }
  }

  void note_used(std::uint16_t place) {
    const bool first_of_band = made_.ranges.size() == made_.bands.back().ranges;
    if (first_of_band || made_.ranges.back().end != place) made_.ranges.push_back({place, place});
    ++made_.ranges.back().end;
  }

  template <int kBins>
  void add_segments(std::size_t start, LargeVector<Segment<kBins>>& segments,
                    LargeVector<SegmentSquares<kBins>>& squares) {
    std::vector<PixelOfBand>& pixels = by_width_[kBins - 1];
    std::sort(pixels.begin(), pixels.end());
    int filled = kSegment;
    for (const PixelOfBand key : pixels) {
      const auto first_bin = static_cast<std::uint32_t>(key >> 16);
      const auto pixel = static_cast<std::uint16_t>(key);
      if (filled == kSegment || segments.back().first_bin != first_bin) {
        segments.push_back(Segment<kBins>{});
        segments.back().first_bin = first_bin;
        std::fill_n(segments.back().pixel, kSegment, kNoPixel);
        if (has_squares_) squares.push_back(SegmentSquares<kBins>{});
        filled = 0;
      }
      segments.back().pixel[filled] = pixel;
      const std::uint32_t* const weight = &plan_.matrix.weight[plan_.matrix.first[start + pixel]];
      for (int bin = 0; bin < kBins; ++bin) {
        if constexpr (kBins > 1) {
          if (bin > 0) segments.back().weight[bin - 1][filled] = weight[bin];
        }
        if (has_squares_) squares.back().square[bin][filled] = square(weight[bin]);
      }
      ++filled;
    }
  }

  const Plan& plan_;
  const bool has_squares_;
  BandedPlan made_;
  std::array<std::vector<PixelOfBand>, 3> by_width_;
};

// One list of a BandedPlan, of all parts in order.
template <typename List>
void join(const std::map<std::size_t, BandedPlan>& parts, List BandedPlan::*list, BandedPlan& all) {
  std::size_t size = 0;
  for (const auto& [band, part] : parts) size += (part.*list).size();
  (all.*list).reserve(size);
  for (const auto& [band, part] : parts) {
    (all.*list).insert((all.*list).end(), (part.*list).begin(), (part.*list).end());
  }
}

void join_bands(const std::map<std::size_t, BandedPlan>& parts, BandedPlan& all) {
  BandParts before;
  for (const auto& [first, part] : parts) {
    for (const BandParts& band : part.bands) {
      all.bands.push_back({before.ones + band.ones, before.twos + band.twos, before.threes + band.threes,
                           before.wides + band.wides, before.ranges + band.ranges});
    }
    before = all.bands.back();
    all.bands.pop_back();  // the next part begins where this one ends
  }
  all.bands.push_back(before);
}

template <int kBins>
SegmentsView<kBins> view(const LargeVector<Segment<kBins>>& segments,
                         const LargeVector<SegmentSquares<kBins>>& squares, std::uint32_t begin,
                         std::uint32_t end) {
  return {segments.data() + begin, segments.data() + end, squares.empty() ? nullptr : squares.data() + begin};
}

}  // namespace

BandView view_of(const BandedPlan& plan, std::size_t band) {
  const BandParts& begin = plan.bands[band];
  const BandParts& end = plan.bands[band + 1];
  return {plan.weight_bits,
          view(plan.ones, plan.one_squares, begin.ones, end.ones),
          view(plan.twos, plan.two_squares, begin.twos, end.twos),
          view(plan.threes, plan.three_squares, begin.threes, end.threes),
          plan.wides.data() + begin.wides,
          plan.wides.data() + end.wides};
}

BandedPlan make_banded_plan(const Job& job, unsigned threads) {
  const Plan& plan = *job.plan;
  std::map<std::size_t, BandedPlan> parts;  // by first band
  std::mutex storing;
  const std::size_t bands = (plan.pixels() + kBandPixels - 1) / kBandPixels;
  parallel_ranges(bands, threads, [&](std::size_t begin, std::size_t end) {
    BandMaker maker(job);
    for (std::size_t band = begin; band < end; ++band) maker.add(band * kBandPixels);
    const std::lock_guard lock(storing);
    parts.emplace(begin, std::move(maker).finish());
  });
  BandedPlan all;
  join_bands(parts, all);
  join(parts, &BandedPlan::ranges, all);
  join(parts, &BandedPlan::wides, all);
  join(parts, &BandedPlan::ones, all);
  join(parts, &BandedPlan::twos, all);
  join(parts, &BandedPlan::threes, all);
  join(parts, &BandedPlan::one_squares, all);
  join(parts, &BandedPlan::two_squares, all);
  join(parts, &BandedPlan::three_squares, all);
  all.bins = plan.bins();
  all.weight_bits = plan.weight_bits;
  all.has_squares = job.recipe.has_variance();
  return all;
}

}  // namespace annulus
