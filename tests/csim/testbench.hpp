// What the testbenches of all kernels share: a small plan, its memory layout, and the sums by naive
// arithmetic.
//
// Plain C++14 against hls/ alone, so that the vendor's compiler runs the same file in its C simulation and
// drives the synthesised RTL with it.
#pragma once

#include <hls/kernels.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

namespace testbench {

// Elements of every memory argument, used or not: co-simulation copies as many as the tops' interfaces
// declare.
constexpr std::size_t kDepth = 256;

constexpr uint32_t kPixels = 200;  // the last group of lanes is not full
constexpr uint32_t kBins = 38;     // nor is the last row of banks
constexpr uint32_t kWeightBits = 20;
constexpr uint32_t kVarianceBits = 29;
static_assert(kBins <= kernels::kMaxBins, "the plan fits every build of the kernels");

class Random {
 public:
  uint32_t below(uint32_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33) % end;
  }

 private:
  uint64_t state_ = 7;
};

// A pixel's weights over neighbouring bins; they sum to 2^kWeightBits. None: nobody uses the pixel.
struct Footprint {
  uint32_t first_bin = 0;
  std::vector<uint32_t> weights;
};

inline Footprint make_footprint(Random& random) {
  Footprint footprint;
  const uint32_t kind = random.below(10);
  if (kind == 0) return footprint;
  const uint32_t count = kind == 1 ? 4 + random.below(5) : 1 + random.below(3);
  footprint.first_bin = random.below(kBins - count + 1);
  uint32_t left = uint32_t{1} << kWeightBits;
  for (uint32_t i = 1; i < count; ++i) {
    const bool sliver = random.below(8) == 0;  // its square is less than a unit
    footprint.weights.push_back(sliver ? 1 : 1 + random.below(left / 2));
    left -= footprint.weights.back();
  }
  footprint.weights.push_back(left);
  return footprint;
}

// The pixel's table entries, as layout.hpp describes them: bins from the fourth on in pairs, then the first
// three in the entry that closes.
inline std::vector<kernels::TableEntry> make_entries(const Footprint& footprint) {
  const auto weight = [&](std::size_t i) {
    return i < footprint.weights.size() ? uint64_t{footprint.weights[i]} : uint64_t{0};
  };
  const auto entry = [](uint32_t bin, uint64_t second, uint64_t third) {
    return bin | second << kernels::kBinBits | third << (kernels::kBinBits + kernels::kShareBits);
  };
  std::vector<kernels::TableEntry> entries;
  if (footprint.weights.empty()) return {0};
  for (uint32_t i = 3; i < footprint.weights.size(); i += 2) {
    entries.push_back(entry(footprint.first_bin + i - 1, weight(i), weight(i + 1)));
  }
  entries.push_back(entry(footprint.first_bin, weight(1), weight(2)) | kernels::kCloses);
  return entries;
}

// The values that count, and what the kernel is told about a launch.
struct Screen {
  int64_t lowest;
  int64_t highest;
  int64_t dummy_lowest;
  int64_t dummy_highest;

  bool accepts(int64_t raw) const {
    return raw >= lowest && raw <= highest && !(raw >= dummy_lowest && raw <= dummy_highest);
  }
};

struct Frame {
  std::vector<int64_t> raw;  // kPixels values; none: the sums mean nothing
  kernels::Status status = kernels::kGood;
  uint32_t byte = 0;
  uint32_t pixel = 0;
  uint32_t one_count = 1;
};

class Launch {
 public:
  explicit Launch(const Screen& screen) : screen_(screen) {
    Random random;
    for (uint32_t p = 0; p < kPixels; ++p) {
      footprints_.push_back(make_footprint(random));
      corrections[p].normalization = static_cast<int32_t>(random.below(1 << 20));
      corrections[p].dark = static_cast<int32_t>(random.below(1 << 16)) - (1 << 15);
    }
    pack_table();
    std::memset(results.data(), kUntouched, sizeof(kernels::SumBeat) * kDepth);
    std::memset(missing.data(), kUntouched, sizeof(kernels::SumBeat) * kDepth);
  }

  void add(const Frame& frame, const std::vector<uint8_t>& payload) {
    descriptors[frames_.size()] = {next_beat_, static_cast<uint32_t>(payload.size()), frame.one_count,
                                   number_of(static_cast<uint32_t>(frames_.size()))};
    std::memcpy(frames[next_beat_].byte, payload.data(), payload.size());
    next_beat_ += kernels::beats_of(static_cast<uint32_t>(payload.size()));
    frames_.push_back(frame);
  }

  uint32_t frame_count() const { return static_cast<uint32_t>(frames_.size()); }
  uint32_t beats() const { return beats_; }

  // Whether memory holds what it should; says what it does not.
  bool agrees(const char* kernel) const {
    bool good = true;
    const uint32_t rows = kernels::rows_of(kBins);
    for (uint32_t f = 0; f < frames_.size(); ++f) {
      const kernels::SumBeat* result = &results[f * kernels::result_beats_of(kBins)];
      const kernels::SumBeat* absent = &missing[f * kernels::missing_beats_of(kBins)];
      const Frame& frame = frames_[f];
      const auto same = [&](const char* what, uint32_t bin, int64_t got, int64_t expected) {
        if (got == expected || !good) return;
        std::printf("%s: frame %u, %s %u: %lld, expected %lld\n", kernel, f, what, bin,
                    static_cast<long long>(got), static_cast<long long>(expected));
        good = false;
      };
      same("build", 0, result->sum[kernels::kHeaderBuild], static_cast<int64_t>(kernels::kBuildWord));
      same("number", 0, result->sum[kernels::kHeaderNumber], number_of(f));
      same("checksum", 0, result->sum[kernels::kHeaderCheck], result_checksum(result));
      same("checksum of missing", 0, result->sum[kernels::kHeaderMissing],
           checksum(absent, kernels::missing_beats_of(kBins)));
      same("status", 0, result->sum[kernels::kHeaderStatus], frame.status);
      if (frame.status != kernels::kGood) {
        same("byte", 0, result->sum[kernels::kHeaderByte], frame.byte);
        same("pixel", 0, result->sum[kernels::kHeaderPixel], frame.pixel);
        continue;
      }
      const Sums sums = add_up(frame);
      same("invalid pixels", 0, result->sum[kernels::kHeaderInvalid], sums.invalid);
      for (uint32_t bin = 0; bin < rows * kernels::kBanks; ++bin) {
        const uint32_t row = bin / kernels::kBanks, bank = bin % kernels::kBanks;
        same("signal of bin", bin, result[1 + row].sum[bank], sums.signal[bin]);
        same("variance of bin", bin, result[1 + row].sum[bank + 4],
             kernels::kVariance ? sums.variance[bin] : 0);
        same("missing count of bin", bin, absent[2 * row].sum[bank], sums.count[bin]);
        same("missing normalization of bin", bin, absent[2 * row].sum[bank + 4], sums.normalization[bin]);
        same("missing dark of bin", bin, absent[2 * row + 1].sum[bank], sums.dark[bin]);
      }
    }
    good = untouched(kernel, "results", results, frame_count() * kernels::result_beats_of(kBins)) && good;
    good = untouched(kernel, "missing", missing, frame_count() * kernels::missing_beats_of(kBins)) && good;
    if (good) std::printf("%s: %u frames agree\n", kernel, frame_count());
    return good;
  }

  std::vector<kernels::FrameDescriptor> descriptors{kDepth};
  std::vector<kernels::Beat> frames{kDepth};
  std::vector<kernels::TableSlice> table[kernels::kTablePorts];
  std::vector<kernels::Correction> corrections{kDepth};
  std::vector<kernels::SumBeat> results{kDepth};
  std::vector<kernels::SumBeat> missing{kDepth};

 private:
  static constexpr int kUntouched = 0x5A;

  struct Sums {
    int64_t signal[kDepth] = {}, variance[kDepth] = {};
    int64_t count[kDepth] = {}, normalization[kDepth] = {}, dark[kDepth] = {};
    int64_t invalid = 0;
  };

  void pack_table() {
    for (auto& slices : table) slices.resize(kDepth);
    for (uint32_t group = 0; group < kernels::groups_of(kPixels); ++group) {
      std::size_t deepest = 1;
      std::vector<std::vector<kernels::TableEntry>> lanes(kernels::kLanes, {0});
      for (uint32_t lane = 0; lane < kernels::kLanes && group * kernels::kLanes + lane < kPixels; ++lane) {
        lanes[lane] = make_entries(footprints_[group * kernels::kLanes + lane]);
        if (lanes[lane].size() > deepest) deepest = lanes[lane].size();
      }
      for (std::size_t beat = 0; beat < deepest; ++beat, ++beats_) {
        for (uint32_t lane = 0; lane < kernels::kLanes; ++lane) {
          kernels::TableEntry entry = beat < lanes[lane].size() ? lanes[lane][beat] : 0;
          if (lane == 0 && beat + 1 == deepest) entry |= kernels::kLastBeat;
          table[lane / kernels::kEntriesAPort][beats_].entry[lane % kernels::kEntriesAPort] = entry;
        }
      }
    }
  }

  static uint32_t number_of(uint32_t frame) { return 0xFFFFFFFE + 3 * frame; }

  // By the definition in checksum.hpp.
  static int64_t checksum(const kernels::SumBeat* beats, uint32_t count) {
    uint64_t value = 0;
    for (uint32_t b = 0; b < count; ++b) {
      for (uint32_t i = 0; i < 8; ++i)
        value += (uint64_t{16} * (count - b) + 15 - 2 * i) * static_cast<uint64_t>(beats[b].sum[i]);
    }
    return static_cast<int64_t>(value);
  }
  static int64_t result_checksum(const kernels::SumBeat* result) {
    std::vector<kernels::SumBeat> beats(result + 1, result + kernels::result_beats_of(kBins));
    beats.push_back(*result);
    beats.back().sum[kernels::kHeaderCheck] = 0;
    return checksum(beats.data(), static_cast<uint32_t>(beats.size()));
  }

  Sums add_up(const Frame& frame) const {
    Sums sums;
    for (uint32_t p = 0; p < kPixels; ++p) {
      const int64_t raw = frame.raw[p];
      const bool valid = screen_.accepts(raw);
      if (!valid && !footprints_[p].weights.empty()) ++sums.invalid;
      uint32_t bin = footprints_[p].first_bin;
      for (const int64_t weight : footprints_[p].weights) {
        const int64_t square = (weight * weight + (1 << (2 * kWeightBits - kVarianceBits - 1))) /
                               (1 << (2 * kWeightBits - kVarianceBits));
        if (valid) {
          sums.signal[bin] += weight * raw;
          sums.variance[bin] += (square > 0 ? square : 1) * (raw > frame.one_count ? raw : frame.one_count);
        } else {
          sums.count[bin] += weight;
          sums.normalization[bin] += weight * corrections[p].normalization;
          sums.dark[bin] += weight * corrections[p].dark;
        }
        ++bin;
      }
    }
    return sums;
  }

  static bool untouched(const char* kernel, const char* name, const std::vector<kernels::SumBeat>& memory,
                        uint32_t end) {
    kernels::SumBeat clean;
    std::memset(&clean, kUntouched, sizeof(clean));
    for (std::size_t beat = end; beat < kDepth; ++beat) {
      if (std::memcmp(&memory[beat], &clean, sizeof(clean)) == 0) continue;
      std::printf("%s: wrote to %s[%zu], behind its end\n", kernel, name, beat);
      return false;
    }
    return true;
  }

  Screen screen_;
  std::vector<Footprint> footprints_;
  std::vector<Frame> frames_;
  uint32_t next_beat_ = 0;
  uint32_t beats_ = 0;
};

}  // namespace testbench
