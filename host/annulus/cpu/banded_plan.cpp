#include <annulus/core/parallel.hpp>
#include <annulus/cpu/banded_plan.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace annulus {
namespace {

struct PixelOfBand {
  std::uint32_t first_bin;
  std::uint16_t pixel;
};

// Adds consecutive bands to a BandedPlan.
class BandMaker {
 public:
  explicit BandMaker(const Plan& plan) : plan_(plan) {}

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
    return plan_.has_variance() ? squared_weight(weight, plan_.weight_bits, plan_.variance_bits) : 0;
  }

  void sort_in(std::size_t pixel, std::uint16_t place) {
    const std::uint32_t first = plan_.matrix.first[pixel];
    const std::uint32_t count = plan_.matrix.first[pixel + 1] - first;
    if (count == 0) return;
    note_used(place);
    const std::uint32_t bin = plan_.matrix.bin[first];
    const bool neighbours = plan_.matrix.bin[first + count - 1] - bin == count - 1;
    if (count <= by_width_.size() && neighbours) {
      by_width_[count - 1].push_back({bin, place});
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
  void add_segments(std::size_t start, std::vector<Segment<kBins>>& segments,
                    std::vector<SegmentSquares<kBins>>& squares) {
    std::vector<PixelOfBand>& pixels = by_width_[kBins - 1];
    std::stable_sort(pixels.begin(), pixels.end(),
                     [](const PixelOfBand& a, const PixelOfBand& b) { return a.first_bin < b.first_bin; });
    int filled = kSegment;
    for (const PixelOfBand& pixel : pixels) {
      if (filled == kSegment || segments.back().first_bin != pixel.first_bin) {
        segments.emplace_back();
        segments.back().first_bin = pixel.first_bin;
        std::fill_n(segments.back().pixel, kSegment, kNoPixel);
        if (plan_.has_variance()) squares.push_back({});
        filled = 0;
      }
      segments.back().pixel[filled] = pixel.pixel;
      const std::uint32_t* const weight = &plan_.matrix.weight[plan_.matrix.first[start + pixel.pixel]];
      for (int bin = 0; bin < kBins; ++bin) {
        if constexpr (kBins > 1) {
          if (bin > 0) segments.back().weight[bin - 1][filled] = weight[bin];
        }
        if (plan_.has_variance()) squares.back().square[bin][filled] = square(weight[bin]);
      }
      ++filled;
    }
  }

  const Plan& plan_;
  BandedPlan made_;
  std::array<std::vector<PixelOfBand>, 3> by_width_;
};

template <typename T>
void append(std::vector<T>& all, const std::vector<T>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

void append(BandedPlan& all, const BandedPlan& part) {
  const BandParts before = all.bands.back();
  all.bands.pop_back();
  for (const BandParts& band : part.bands) {
    all.bands.push_back({before.ones + band.ones, before.twos + band.twos, before.threes + band.threes,
                         before.wides + band.wides, before.ranges + band.ranges});
  }
  append(all.ones, part.ones);
  append(all.twos, part.twos);
  append(all.threes, part.threes);
  append(all.wides, part.wides);
  append(all.ranges, part.ranges);
  append(all.one_squares, part.one_squares);
  append(all.two_squares, part.two_squares);
  append(all.three_squares, part.three_squares);
}

template <int kBins>
SegmentsView<kBins> view(const std::vector<Segment<kBins>>& segments,
                         const std::vector<SegmentSquares<kBins>>& squares, std::uint32_t begin,
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

BandedPlan make_banded_plan(const Plan& plan, unsigned threads) {
  std::map<std::size_t, BandedPlan> parts;  // by first band
  std::mutex storing;
  const std::size_t bands = (plan.pixels() + kBandPixels - 1) / kBandPixels;
  parallel_ranges(bands, threads, [&](std::size_t begin, std::size_t end) {
    BandMaker maker(plan);
    for (std::size_t band = begin; band < end; ++band) maker.add(band * kBandPixels);
    const std::lock_guard lock(storing);
    parts.emplace(begin, std::move(maker).finish());
  });
  BandedPlan all;
  all.bands.push_back({});
  for (const auto& [band, part] : parts) append(all, part);
  all.bins = plan.bins();
  all.weight_bits = plan.weight_bits;
  return all;
}

}  // namespace annulus
