#include <annulus/core/parallel.hpp>
#include <annulus/xrd_ct/clean_bins.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace annulus {
namespace {

// Bins that are cleaned together: a cache line of each cell.
constexpr std::size_t kGroup = 16;

bool has_value(const Sinogram& sinogram, std::size_t angle, std::size_t bin) {
  for (std::size_t position = 0; position < sinogram.positions; ++position) {
    if (!std::isnan(sinogram.at(angle, position)[bin])) return true;
  }
  return false;
}

// The angles at which a bin has no value, if it has some at others.
std::vector<std::uint8_t> lost_projections(const Sinogram& sinogram, std::size_t bin) {
  std::vector<std::uint8_t> lost(sinogram.angles);
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle)
    lost[angle] = has_value(sinogram, angle, bin) ? 0 : 1;
  if (std::ranges::count(lost, 0) == 0) lost.assign(lost.size(), 0);
  return lost;
}

// Between the nearest projections that are not lost themselves.
void interpolate_lost(Sinogram& sinogram, std::size_t bin, const std::vector<std::uint8_t>& lost,
                      std::span<const double> angles) {
  const auto place = [&](std::size_t angle) {
    return angles.empty() ? static_cast<double>(angle) : angles[angle];
  };
  for (std::size_t angle = 0; angle < lost.size(); ++angle) {
    if (lost[angle] == 0) continue;
    const auto here = lost.begin() + static_cast<std::ptrdiff_t>(angle);
    const auto after = std::find(here, lost.end(), 0);
    const auto before = std::find(std::make_reverse_iterator(here), lost.rend(), 0);
    const auto next = static_cast<std::size_t>(after - lost.begin());
    const auto previous = static_cast<std::size_t>(lost.rend() - before) - 1;
    const std::size_t left = before == lost.rend() ? next : previous;
    const std::size_t right = after == lost.end() ? previous : next;
    const double part = left == right ? 0 : (place(angle) - place(left)) / (place(right) - place(left));
    for (std::size_t position = 0; position < sinogram.positions; ++position) {
      const double from = sinogram.at(left, position)[bin], to = sinogram.at(right, position)[bin];
      sinogram.at(angle, position)[bin] = static_cast<float>(from + (to - from) * part);
    }
  }
}

FilledCells fill_all(Sinogram& sinogram, std::span<const double> angles) {
  std::vector<std::vector<std::uint8_t>> lost;
  std::size_t lost_values = 0;
  for (std::size_t bin = 0; bin < sinogram.bins; ++bin) {
    lost.push_back(lost_projections(sinogram, bin));
    for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
      if (lost[bin][angle] == 0) continue;
      for (std::size_t position = 0; position < sinogram.positions; ++position)
        sinogram.at(angle, position)[bin] = 0;
      lost_values += sinogram.positions;
    }
  }
  FilledCells filled = fill_missing(sinogram, 1);
  for (std::size_t bin = 0; bin < sinogram.bins; ++bin) interpolate_lost(sinogram, bin, lost[bin], angles);
  filled.cells += lost_values;
  return filled;
}

void scale(Sinogram& sinogram, std::span<const double> factors) {
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    float* const cells = sinogram.at(angle, 0);
    for (std::size_t i = 0; i < sinogram.positions * sinogram.bins; ++i)
      cells[i] = static_cast<float>(cells[i] * factors[angle]);
  }
}

// Neighbouring bins of a sinogram as one of its own, and back.
class BinGroup {
 public:
  BinGroup(Sinogram& whole, std::size_t first, std::size_t count)
      : whole_(whole), first_(first), part_(whole.angles, whole.positions, count) {
    for_each_cell([count](float* of_whole, float* of_part) { std::copy_n(of_whole, count, of_part); });
  }
  void put_back() {
    for_each_cell([this](float* of_whole, float* of_part) { std::copy_n(of_part, part_.bins, of_whole); });
  }
  Sinogram& part() { return part_; }

 private:
  template <typename Do>
  void for_each_cell(Do act) {
    for (std::size_t cell = 0; cell < whole_.angles * whole_.positions; ++cell)
      act(whole_.values.data() + cell * whole_.bins + first_, part_.values.data() + cell * part_.bins);
  }

  Sinogram& whole_;
  std::size_t first_;
  Sinogram part_;
};

}  // namespace

CleanedBins clean_bins(Sinogram& sinogram, std::span<const std::uint8_t> has_gaps, const Cleaning& cleaning) {
  const bool all = cleaning.subtract_air > 0 || cleaning.stripes.has_value();
  if (!cleaning.factors.empty()) scale(sinogram, cleaning.factors);
  CleanedBins result;
  std::mutex mutex;
  const std::size_t groups = (sinogram.bins + kGroup - 1) / kGroup;
  parallel_ranges(groups, cleaning.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t first = begin * kGroup; first < std::min(end * kGroup, sinogram.bins); first += kGroup) {
      const std::size_t count = std::min(kGroup, sinogram.bins - first);
      const bool gaps =
          std::ranges::any_of(has_gaps.subspan(first, count), [](std::uint8_t has) { return has != 0; });
      if (!gaps && !all) continue;
      BinGroup group(sinogram, first, count);
      FilledCells filled;
      std::size_t stripes = 0;
      if (gaps) filled = fill_all(group.part(), cleaning.angles);
      if (cleaning.subtract_air > 0) normalise_by_air(group.part(), AirUse::kSubtract, cleaning.subtract_air);
      if (cleaning.stripes)
        stripes = suppress_stripes(group.part(), {cleaning.stripes->width, cleaning.stripes->threshold, 1});
      group.put_back();
      const std::lock_guard lock(mutex);
      result.filled_values += filled.cells;
      result.stripes += stripes;
      for (const std::size_t bin : filled.empty_bins) result.empty_bins.push_back(first + bin);
    }
  });
  std::ranges::sort(result.empty_bins);
  return result;
}

}  // namespace annulus
