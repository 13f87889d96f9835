#include <annulus/core/error.hpp>
#include <annulus/correlation/fast_correlator.hpp>

#include <fmt/format.h>

#include <memory>

namespace annulus {
namespace {

// Single precision has 24 bits: longer sums would be more rounding than signal.
constexpr std::size_t kImagesPerDrain = 2048;

}  // namespace

FastCorrelator::FastCorrelator(PolarShape shape, int scale, CorrelatorOptions options)
    : options_(options),
      frequencies_(shape, options.block, options.threads),
      stage_(shape, frequencies_.block()),
      masks_(shape) {
  sums_.shape = shape;
  sums_.scale = scale;
  sums_.signal.assign(shape.correlations(), 0);
  sums_.mask.assign(shape.correlations(), 0);
}

std::size_t FastCorrelator::bytes(const PolarShape& shape, CorrelatorOptions options) {
  const std::size_t block = FrequencySums<float>::block_of(shape, options.block);
  return shape.correlations() * (sizeof(float) + sizeof(std::int64_t)) +
         FrequencySums<float>::bytes(shape, block, options.threads) + ImageStage::bytes(shape, block) +
         MaskTerm::bytes(shape);
}

std::size_t FastCorrelator::mask_bytes(const PolarShape& shape, CorrelatorOptions options) {
  const std::size_t block = FrequencySums<double>::block_of(shape, options.block);
  return FrequencySums<double>::bytes(shape, block, options.threads) + ImageStage::bytes(shape, block);
}

void FastCorrelator::add(std::span<const std::int16_t> images, std::span<const std::uint8_t> valid) {
  const ImageBatch batch(sums_.shape, images, valid);
  for (std::size_t image = 0; image < batch.size(); ++image) {
    stage_.put(batch.values(image), batch.valid(image));
    stage_.keep();
    masks_.count(batch.valid(image));
    ++sums_.images;
    if (stage_.full()) multiply_staged();
    if (multiplied_ >= kImagesPerDrain) drain();
    if (masks_.full()) add_masks();
  }
}

void FastCorrelator::multiply_staged() {
  frequencies_.add(stage_.images());
  multiplied_ += stage_.size();
  stage_.clear();
}

void FastCorrelator::drain() {
  const float factor = 1.0F / static_cast<float>(sums_.shape.angles);
  frequencies_.drain([&](std::size_t first, std::span<const float> values) {
    float* const signal = sums_.signal.data() + first;
    for (std::size_t i = 0; i < values.size(); ++i) signal[i] += values[i] * factor;
  });
  multiplied_ = 0;
}

void FastCorrelator::add_masks() {
  std::unique_ptr<FrequencySums<double>> work;
  if (!masks_.trivial()) {
    work = std::make_unique<FrequencySums<double>>(sums_.shape, options_.block, options_.threads);
  }
  masks_.add_to(sums_.mask, work.get());
}

const PreviewSums& FastCorrelator::sums() {
  multiply_staged();
  drain();
  add_masks();
  return sums_;
}

}  // namespace annulus
