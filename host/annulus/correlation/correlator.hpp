// The exact correlation of many snapshots: sums of integers, whatever the order, the blocks and the threads.
//
// Images are correlated in groups by Fourier transforms of double precision, and the sums of a group are
// rounded to the integers that they are. A group ends when a bound of the rounding errors, computed from the
// images themselves (RoundingBound), would come near 0.5. Memory does not depend on the number of images.
#pragma once

#include <annulus/correlation/correlation_sums.hpp>
#include <annulus/correlation/frequency_sums.hpp>
#include <annulus/correlation/image_stage.hpp>
#include <annulus/correlation/mask_term.hpp>
#include <annulus/correlation/rounding_bound.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

struct CorrelatorOptions {
  unsigned threads = 0;   // 0: as many as the machine has
  std::size_t block = 0;  // images that are multiplied at once; 0: as many as are fast
};

class Correlator {
 public:
  // Throws kUsage for a shape or block that makes no sense.
  Correlator(PolarShape shape, int scale, CorrelatorOptions options = {});
  // Goes on from sums that were kept. Throws kInput if they cannot be sums of images.
  explicit Correlator(CorrelationSums sums, CorrelatorOptions options = {});

  // What one takes: sums, the images of a block and their spectra, products.
  static std::size_t bytes(const PolarShape& shape, CorrelatorOptions options = {});

  // Images [image][q][phi] and their masks, as ImageBatch has them; masked values count as 0. Throws kInput
  // if their sizes do not go together, or for the first image for which the sums could leave 64 bits or could
  // not be rounded safely even on its own: this one and those after it are not counted.
  void add(std::span<const std::int16_t> images, std::span<const std::uint8_t> valid = {});

  // Of all images so far; more may follow.
  const CorrelationSums& sums();

  // The same, given away: nothing may follow.
  CorrelationSums take_sums();

  // How often sums were rounded: more often means smaller groups. For tests and measurements.
  std::size_t groups() const { return groups_; }

 private:
  void add(std::span<const std::int16_t> values, std::span<const std::uint8_t> valid, std::size_t number);
  void multiply_staged();
  void end_group();
  void add_masks();

  CorrelationSums sums_;
  RoundingBound bound_;
  FrequencySums<double> frequencies_;
  ImageStage stage_;
  MaskTerm masks_;
  std::vector<std::uint64_t> energies_;  // by ring, of all images: C(q, q, 0)
  std::vector<std::uint64_t> image_energies_, group_energies_;
  std::size_t group_images_ = 0, groups_ = 0;
};

}  // namespace annulus
