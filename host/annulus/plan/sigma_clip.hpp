// The windows of a sigma clip, from the sums of its passes: one definition for every backend.
//
// Pass 0 sums all valid pixels. From the sums of a pass follows for each bin the mean m, the standard
// deviation and a window about m; the next pass sums what lies in it. A bin is done when a pass leaves out no
// more than the one before, after `cycles` windows, or when nothing would be left: then the window before
// counts. Each bin decides for itself, so that nothing depends on what is reduced beside it.
#pragma once

#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace annulus {

constexpr int kMaxWindowShift = 42;

// An entry counts if low * n <= s * 2^shift <= high * n (spread_table.hpp).
struct ClipWindow {
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::int32_t shift = 0;
  std::int32_t open = 1;  // 1: every entry counts

  // s is in units of 2^-(fraction_bits + dark_shift). Without overflow for all |s| <= 2^kValueBits.
  bool holds(std::int64_t s, std::int64_t n) const {
    return open != 0 || ((high * n) >> shift >= s && -((-low * n) >> shift) <= s);
  }
  bool operator==(const ClipWindow&) const = default;
};

// Of one frame.
class SigmaClip {
 public:
  SigmaClip(const Job& job, int fraction_bits);

  // By bin.
  const std::vector<ClipWindow>& windows() const { return windows_; }

  // After a pass with these windows. Whether there are others, and so another pass; if not, the sums are the
  // frame's.
  bool next(const Sums& sums);

  // 1 for each bin whose last window held nothing; empty if there is none.
  const std::vector<std::uint8_t>& emptied() const { return emptied_; }

 private:
  struct Interval {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
  };
  struct Bin {
    Interval interval;          // what its window says, exactly
    ClipWindow before;          // the window before this one
    std::int64_t clipped = -1;  // by the pass before
    bool done = false;
  };
  ClipWindow make_window(Interval& interval, double mean, double deviation, double count) const;

  Job job_;
  double scale_;  // from values of pixels to s / n
  unsigned passes_ = 0;
  std::vector<Bin> bins_;
  std::vector<ClipWindow> windows_;
  std::vector<std::uint8_t> emptied_;
};

// Takes off what only the passes needed, and adds what they found.
void finish_clip(const Job& job, const SigmaClip& clip, Sums& sums);

}  // namespace annulus
