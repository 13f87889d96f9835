#include <annulus/tomography/direct_setup.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/gridding_kernel.hpp>

#include <algorithm>
#include <cstdlib>

namespace annulus {
namespace {

// For band-limited interpolation, projections are computed at every half step, and the kernel does the rest.
constexpr std::size_t kHalfSteps = 2;

// One set of taps for each of the places that are computed between a position and the next.
std::vector<Taps> linear_taps(Filter filter, std::size_t length, std::size_t reach) {
  const std::vector<double> taps = filter_taps(filter, length, reach);
  return {Taps(reach, [&](std::ptrdiff_t d) { return taps[static_cast<std::size_t>(std::abs(d))]; })};
}

std::vector<Taps> band_taps(Filter filter, std::size_t length, std::size_t reach,
                            const GriddingKernel& kernel) {
  std::vector<double> spectrum = filter_spectrum(filter, length);
  for (std::size_t j = 0; j < spectrum.size(); ++j) {
    spectrum[j] /= kernel.spectrum(static_cast<double>(j) / static_cast<double>(kHalfSteps * length));
  }
  const std::vector<double> cosine = cosine_table(kHalfSteps * length);
  // At `half` half steps. The last frequency counts once, and vanishes between positions.
  const auto tap = [&](std::size_t half) {
    double sum = (spectrum.front() + spectrum.back() * cosine[length / 2 * half % cosine.size()]) / 2;
    for (std::size_t j = 1; j < length / 2; ++j) sum += spectrum[j] * cosine[j * half % cosine.size()];
    return 2 * sum / static_cast<double>(length);
  };
  std::vector<Taps> taps;
  for (std::ptrdiff_t phase = 0; phase < static_cast<std::ptrdiff_t>(kHalfSteps); ++phase) {
    taps.emplace_back(reach, [&](std::ptrdiff_t d) {
      return tap(static_cast<std::size_t>(std::abs(static_cast<std::ptrdiff_t>(kHalfSteps) * d + phase)));
    });
  }
  return taps;
}

}  // namespace

Taps::Taps(std::size_t reach, const std::function<double(std::ptrdiff_t distance)>& tap) : reach_(reach) {
  for (auto d = -static_cast<std::ptrdiff_t>(reach); d <= static_cast<std::ptrdiff_t>(reach); ++d)
    values_.push_back(tap(d));
}

const float* Taps::scaled(double factor, std::vector<float>& into) const {
  into.resize(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) into[i] = static_cast<float>(factor * values_[i]);
  return into.data() + reach_;
}

DirectSetup::DirectSetup(const ScanGeometry& scan, const FbpOptions& options, std::size_t size)
    : band_limited(options.interpolation == Interpolation::kBandLimited),
      odd_taps(!band_limited && (options.filter == Filter::kRamp || options.filter == Filter::kNone)),
      range(scan.axis, size, band_limited ? kBandMargin : 1),
      reach(reach_of(range, scan.positions)),
      turns(scan, size),
      weights(weigh_angles(scan.angles, options.weighting).weights) {
  if (band_limited) {
    const GriddingKernel gridding(kBandTaps, static_cast<double>(kHalfSteps));
    taps = band_taps(options.filter, band_length(reach), reach, gridding);
    kernel = gridding.table();
    turns.stretch(static_cast<double>(kHalfSteps));
  } else {
    taps = linear_taps(options.filter, filter_length(scan.positions, reach), reach);
  }
}

std::size_t reach_of(const ProjectionRange& range, std::size_t positions) {
  const std::ptrdiff_t last = range.first + static_cast<std::ptrdiff_t>(range.count) - 1;
  return static_cast<std::size_t>(std::max(last, static_cast<std::ptrdiff_t>(positions) - 1 - range.first));
}

}  // namespace annulus
