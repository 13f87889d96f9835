// One pattern of many frames, from their integers.
//
// With the sums S, D, N and V of each frame and its factor c (docs/output_format.md), the mean is
// sum(S - D) / sum(N c), and its error sqrt(sum V) / sum(N c). S - D and V are added as integers, exactly. N
// is stored as the mean of N, weighted by c and rounded to a unit of it, which is its value to the last bit
// of a double where all frames have the same valid pixels.
//
// For errors by the spread of pixels: with A, B and Q of each frame, the spread of all pixels about the mean
// m is sum A - 2 m sum c B + m m sum c c Q. A is added exactly. B is stored as the mean of B weighted by c,
// and Q as sum c c Q / (sum c)^2, each rounded to a unit of it.
#pragma once

#include <annulus/outputs/sink.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace annulus {

enum class MergedValue { kMean, kSum };  // the sum is the mean times the number of frames

// What has to be known of all frames before the first is added.
struct FramesToMerge {
  std::uint64_t frames = 0;
  int finest = 0;     // the largest fraction_bits
  bool alike = true;  // all have these
  double largest_factor = 0;
};

class MergedPattern {
 public:
  // Throws kInput if there is no memory for the sums of so many bins.
  MergedPattern(const Job& job, std::size_t columns, const FramesToMerge& all);
  ~MergedPattern();

  // A good frame. Throws kInput if its factor is not a positive number.
  void add(const ReducedFrame& frame);

  // The job that the pattern is of: sums may need more words than those of a frame. And the pattern, without
  // id. Throws kInput if the sums need more words than there are.
  struct Result {
    Job job;
    ReducedFrame frame;
  };
  Result finish(MergedValue value) const;

 private:
  int fraction_bits() const;

  class BinSums;
  class SpreadSums;
  struct Accumulators;

  Job job_;
  FramesToMerge all_;
  std::uint64_t frames_ = 0;
  double factor_ = 0;  // the sum of all
  std::vector<double> column_sums_;
  std::vector<std::uint64_t> column_counts_;
  std::unique_ptr<Accumulators> sums_;
};

}  // namespace annulus
