#include <annulus/backends/band_decoder.hpp>
#include <annulus/backends/cpu_reducer.hpp>
#include <annulus/backends/frame_mismatch.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>

namespace annulus {
namespace {

// Validity in the pixels' own 32 bits, so that the compiler can screen several at once.
template <typename Pixel>
struct Screen {
  Pixel low, high, dummy_low, dummy_high;

  explicit Screen(const Validity& validity)
      : low(clamp(-validity.max_count)),
        high(clamp(validity.max_count)),
        dummy_low(validity.dummy_low <= validity.dummy_high ? clamp(validity.dummy_low) : Pixel{1}),
        dummy_high(validity.dummy_low <= validity.dummy_high ? clamp(validity.dummy_high) : Pixel{0}) {}

  static Pixel clamp(std::int64_t limit) {
    using Limits = std::numeric_limits<Pixel>;
    return static_cast<Pixel>(std::clamp<std::int64_t>(limit, Limits::min(), Limits::max()));
  }

  bool accepts(Pixel raw) const {
    return ((raw >= low) & (raw <= high) & !((raw >= dummy_low) & (raw <= dummy_high))) != 0;
  }
};

}  // namespace

// Values are kept pixel by pixel with the lanes side by side, and so are the sums, bin by bin.
struct CpuReducer::Scratch {
  std::vector<std::int32_t> band;       // one frame's pixels as decoded
  std::vector<std::int32_t> values;     // raw, or 0 where invalid (uint32 as its bits)
  std::vector<std::int32_t> variances;  // max(raw, 1), or 0 where invalid
  std::vector<std::int64_t> signal_sums;
  std::vector<std::int64_t> variance_sums;
  std::array<std::vector<std::uint32_t>, kCpuLanes> invalid;  // pixels of the plan, by lane
};

CpuReducer::CpuReducer(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), scratch_(new Scratch) {}
CpuReducer::~CpuReducer() = default;

std::vector<FrameResult> CpuReducer::reduce(const std::vector<Frame>& frames) {
  std::vector<FrameResult> results(frames.size());
  for (std::size_t begin = 0; begin < frames.size();) {
    const std::size_t count = std::min(kCpuLanes, frames.size() - begin);
    if (count == 1) {
      reduce_group<1>(&frames[begin], count, &results[begin]);
    } else {
      reduce_group<kCpuLanes>(&frames[begin], count, &results[begin]);
    }
    begin += count;
  }
  return results;
}

template <std::size_t kLanes>
void CpuReducer::reduce_group(const Frame* frames, std::size_t count, FrameResult* results) {
  const bool is_unsigned = plan_->pixel_type == PixelType::kU32;
  if (plan_->has_variance()) {
    is_unsigned ? reduce_lanes<kLanes, true, true>(frames, count, results)
                : reduce_lanes<kLanes, false, true>(frames, count, results);
  } else {
    is_unsigned ? reduce_lanes<kLanes, true, false>(frames, count, results)
                : reduce_lanes<kLanes, false, false>(frames, count, results);
  }
}

template <std::size_t kLanes, bool kUnsigned, bool kVariance>
void CpuReducer::reduce_lanes(const Frame* frames, std::size_t count, FrameResult* results) {
  using Pixel = std::conditional_t<kUnsigned, std::uint32_t, std::int32_t>;
  const Plan& plan = *plan_;
  Scratch& scratch = *scratch_;
  const std::size_t bins = plan.bins();
  const Screen<Pixel> screen(plan.validity);
  // Pixels between modules are always invalid, but have no entries: they are nobody's loss.
  const auto note_invalid = [&](std::size_t start, std::size_t length, std::size_t lane) {
    for (std::size_t i = 0; i < length; ++i) {
      const bool used = plan.matrix.first[start + i] != plan.matrix.first[start + i + 1];
      if (used && !screen.accepts(static_cast<Pixel>(scratch.band[i]))) {
        scratch.invalid[lane].push_back(static_cast<std::uint32_t>(start + i));
      }
    }
  };
  scratch.band.resize(kCpuBand);
  scratch.values.assign(kCpuBand * kLanes, 0);
  scratch.signal_sums.assign(bins * kLanes, 0);
  if (kVariance) {
    scratch.variances.assign(kCpuBand * kLanes, 0);
    scratch.variance_sums.assign(bins * kLanes, 0);
  }
  std::array<std::optional<BandDecoder>, kLanes> decoders;
  for (std::size_t lane = 0; lane < count; ++lane) {
    results[lane].index = frames[lane].index;
    results[lane].fault = frame_mismatch(plan, frames[lane]);
    scratch.invalid[lane].clear();
    if (results[lane].good()) decoders[lane].emplace(frames[lane]);
  }
  const auto fail = [&](std::size_t lane) {
    results[lane].fault = decoders[lane]->fault();
    decoders[lane].reset();
    for (std::size_t i = lane; i < scratch.values.size(); i += kLanes) scratch.values[i] = 0;
  };

  for (std::size_t start = 0; start < plan.pixels(); start += kCpuBand) {
    const std::size_t length = std::min(kCpuBand, plan.pixels() - start);
    for (std::size_t lane = 0; lane < count; ++lane) {
      if (!decoders[lane]) continue;
      if (!decoders[lane]->next(std::span(scratch.band).first(length))) {
        fail(lane);
        continue;
      }
      const auto one = static_cast<Pixel>(one_count(frames[lane]));
      bool all_valid = true;
      for (std::size_t i = 0; i < length; ++i) {
        const auto raw = static_cast<Pixel>(scratch.band[i]);
        const bool valid = screen.accepts(raw);
        all_valid &= valid;
        scratch.values[i * kLanes + lane] = valid ? scratch.band[i] : 0;
        if (kVariance) {
          scratch.variances[i * kLanes + lane] = valid ? static_cast<std::int32_t>(std::max(raw, one)) : 0;
        }
      }
      if (!all_valid) note_invalid(start, length, lane);
    }

    const std::uint32_t* const first = plan.matrix.first.data() + start;
    const std::uint32_t* const bin = plan.matrix.bin.data();
    const std::uint32_t* const weight = plan.matrix.weight.data();
    for (std::size_t i = 0; i < length; ++i) {
      const std::int32_t* const values = &scratch.values[i * kLanes];
      for (std::uint32_t entry = first[i]; entry < first[i + 1]; ++entry) {
        const std::int64_t w = weight[entry];
        std::int64_t* const sums = &scratch.signal_sums[bin[entry] * kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += w * static_cast<Pixel>(values[lane]);
        if constexpr (kVariance) {
          const std::int64_t w2 = squared_weight(weight[entry], plan.weight_bits, plan.variance_bits);
          std::int64_t* const squares = &scratch.variance_sums[bin[entry] * kLanes];
          const std::int32_t* const variances = &scratch.variances[i * kLanes];
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            squares[lane] += w2 * static_cast<Pixel>(variances[lane]);
          }
        }
      }
    }
  }

  for (std::size_t lane = 0; lane < count; ++lane) {
    if (!decoders[lane]) continue;
    if (!decoders[lane]->finish()) {
      results[lane].fault = decoders[lane]->fault();
      continue;
    }
    Accumulators& sums = results[lane].accumulators;
    sums.fraction_bits = frames[lane].fraction_bits;
    sums.signal.resize(bins);
    for (std::size_t b = 0; b < bins; ++b) sums.signal[b] = scratch.signal_sums[b * kLanes + lane];
    if (kVariance) {
      sums.variance.resize(bins);
      for (std::size_t b = 0; b < bins; ++b) sums.variance[b] = scratch.variance_sums[b * kLanes + lane];
    }
    subtract_invalid(plan, scratch.invalid[lane], sums);
  }
}

}  // namespace annulus
