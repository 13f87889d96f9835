#include <annulus/core/error.hpp>
#include <annulus/correlation/correlator.hpp>
#include <annulus/correlation/exact_drain.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace annulus {
namespace {

constexpr std::uint64_t kMostSum = std::numeric_limits<std::int64_t>::max();

// By Cauchy and Schwarz no sum is larger than the largest one of a ring with itself, unturned.
void check_sums(const PolarShape& shape, const LargeVector<std::int64_t>& sums, const std::string& name) {
  if (sums.size() != shape.correlations()) {
    throw Error(ErrorKind::kInput, name,
                fmt::format("{} values are not {}", sums.size(), shape.correlations()));
  }
  std::int64_t largest = 0;
  for (std::size_t q = 0; q < shape.rings; ++q)
    largest = std::max(largest, sums[shape.pair(q, q) * shape.angles]);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] > largest || sums[i] < -largest) {
      throw Error(ErrorKind::kInput, name, fmt::format("value {}, {}, cannot be a sum of images", i, sums[i]),
                  "the file that they come from is damaged: correlate again");
    }
  }
}

}  // namespace

Correlator::Correlator(PolarShape shape, int scale, CorrelatorOptions options)
    : Correlator(CorrelationSums(shape, scale), options) {}

Correlator::Correlator(CorrelationSums sums, CorrelatorOptions options)
    : sums_(std::move(sums)),
      bound_(sums_.shape.angles),
      frequencies_(sums_.shape, options.block, options.threads),
      stage_(sums_.shape, frequencies_.block()),
      masks_(sums_.shape),
      image_energies_(sums_.shape.rings),
      group_energies_(sums_.shape.rings) {
  check_sums(sums_.shape, sums_.signal, "sums of the signal");
  check_sums(sums_.shape, sums_.mask, "sums of the mask");
  const auto [least, most] = std::minmax_element(sums_.mask.begin(), sums_.mask.end());
  if (sums_.images > kMostSum / sums_.shape.angles || *least < 0 ||
      static_cast<std::uint64_t>(*most) > sums_.images * sums_.shape.angles) {
    throw Error(ErrorKind::kInput, "sums of the mask",
                fmt::format("they are not those of {} images", sums_.images),
                "the file that they come from is damaged: correlate again");
  }
  for (std::size_t q = 0; q < sums_.shape.rings; ++q) {
    energies_.push_back(
        static_cast<std::uint64_t>(sums_.signal[sums_.shape.pair(q, q) * sums_.shape.angles]));
  }
}

std::size_t Correlator::bytes(const PolarShape& shape, CorrelatorOptions options) {
  const std::size_t block = FrequencySums<double>::block_of(shape, options.block);
  return 2 * shape.correlations() * sizeof(std::int64_t) +
         FrequencySums<double>::bytes(shape, block, options.threads) + 2 * ImageStage::bytes(shape, block) +
         MaskTerm::bytes(shape);
}

void Correlator::add(std::span<const std::int16_t> images, std::span<const std::uint8_t> valid) {
  const ImageBatch batch(sums_.shape, images, valid);
  for (std::size_t image = 0; image < batch.size(); ++image)
    add(batch.values(image), batch.valid(image), image);
}

void Correlator::add(std::span<const std::int16_t> values, std::span<const std::uint8_t> valid,
                     std::size_t number) {
  const std::size_t angles = sums_.shape.angles;
  const std::string name = fmt::format("image {} of a batch", number);
  const std::span<const std::int16_t> image = stage_.put(values, valid);
  std::uint64_t largest = 0, largest_of_group = 0;
  for (std::size_t q = 0; q < sums_.shape.rings; ++q) {
    image_energies_[q] = energy_of(image.subspan(q * angles, angles));
    largest = std::max(largest, image_energies_[q]);
    largest_of_group = std::max(largest_of_group, group_energies_[q] + image_energies_[q]);
    if (image_energies_[q] > kMostSum - energies_[q]) {
      throw Error(ErrorKind::kInput, name, fmt::format("with it, sums of ring {} could leave 64 bits", q),
                  "end here and correlate the rest on its own, or with a smaller `scale`");
    }
  }
  if (sums_.images >= kMostSum / angles) {
    throw Error(ErrorKind::kInput, name, "with it, the mask term could leave 64 bits",
                "correlate the rest on its own");
  }
  if (!bound_.allows(largest, 1)) {
    throw Error(ErrorKind::kInput, name,
                fmt::format("its values are too large to be correlated exactly over {} angles", angles),
                "take a smaller `scale`, or a number of angles with small prime factors");
  }
  if (!bound_.allows(largest_of_group, group_images_ + 1)) {
    // The image lies behind those that are staged: it is put again after them.
    end_group();
    stage_.put(values, valid);
  }
  stage_.keep();
  masks_.count(valid);
  ++sums_.images;
  ++group_images_;
  for (std::size_t q = 0; q < sums_.shape.rings; ++q) {
    energies_[q] += image_energies_[q];
    group_energies_[q] += image_energies_[q];
  }
  if (stage_.full()) multiply_staged();
  if (masks_.full()) add_masks();
}

void Correlator::multiply_staged() {
  frequencies_.add(stage_.images());
  stage_.clear();
}

void Correlator::end_group() {
  multiply_staged();
  if (group_images_ == 0) return;
  const std::uint64_t largest = *std::max_element(group_energies_.begin(), group_energies_.end());
  drain_rounded(frequencies_, sums_.shape, bound_.error(largest, group_images_), 1, sums_.signal);
  for (std::size_t q = 0; q < sums_.shape.rings; ++q) {
    const std::int64_t sum = sums_.signal[sums_.shape.pair(q, q) * sums_.shape.angles];
    if (static_cast<std::uint64_t>(sum) != energies_[q]) {
      throw Error(
          ErrorKind::kBackend, "FFTW or BLAS",
          fmt::format("the sum of squares of ring {} is {}, and they make {} of it", q, energies_[q], sum),
          "the libraries are broken: install those of the system");
    }
  }
  std::fill(group_energies_.begin(), group_energies_.end(), 0);
  group_images_ = 0;
  ++groups_;
}

void Correlator::add_masks() {
  // The products of masks take the place of those of images.
  if (!masks_.trivial()) end_group();
  masks_.add_to(sums_.mask, &frequencies_);
}

const CorrelationSums& Correlator::sums() {
  end_group();
  add_masks();
  return sums_;
}

CorrelationSums Correlator::take_sums() {
  sums();
  return std::move(sums_);
}

}  // namespace annulus
