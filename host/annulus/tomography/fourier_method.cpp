#include <annulus/core/fourier_planner.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/gridding_kernel.hpp>
#include <annulus/tomography/lane_loops.hpp>

#include <fftw3.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <mutex>
#include <numbers>
#include <vector>

namespace annulus {
namespace {

// How much larger than the tomogram the grid of its spectrum is. With kGridTaps, errors are about 1e-6.
constexpr double kOversampling = 1.5;

constexpr std::size_t kValues = 2 * kSpectrumLanes;  // floats of a point of a spectrum

enum class Transform { kForwardReal, kBackwardComplex, kBackwardReal };

// kSpectrumLanes transforms whose values stand together. Plans are made without measuring, so they are the
// same each time. To make or destroy one is the only thing of FFTW that threads may not do at once.
class TransformPlan {
 public:
  TransformPlan(Transform transform, std::size_t length, float* in, float* out) {
    const std::lock_guard lock(fourier_planner());
    const int size = static_cast<int>(length), lanes = static_cast<int>(kSpectrumLanes);
    auto* const complex_in = reinterpret_cast<fftwf_complex*>(in);
    auto* const complex_out = reinterpret_cast<fftwf_complex*>(out);
    if (transform == Transform::kForwardReal) {
      plan_ = fftwf_plan_many_dft_r2c(1, &size, lanes, in, nullptr, lanes, 1, complex_out, nullptr, lanes, 1,
                                      FFTW_ESTIMATE);
    } else if (transform == Transform::kBackwardComplex) {
      plan_ = fftwf_plan_many_dft(1, &size, lanes, complex_in, nullptr, lanes, 1, complex_out, nullptr, lanes,
                                  1, FFTW_BACKWARD, FFTW_ESTIMATE);
    } else {
      plan_ = fftwf_plan_many_dft_c2r(1, &size, lanes, complex_in, nullptr, lanes, 1, out, nullptr, lanes, 1,
                                      FFTW_ESTIMATE);
    }
  }
  ~TransformPlan() {
    const std::lock_guard lock(fourier_planner());
    fftwf_destroy_plan(plan_);
  }
  TransformPlan(const TransformPlan&) = delete;
  TransformPlan& operator=(const TransformPlan&) = delete;

  void run() const { fftwf_execute(plan_); }

 private:
  fftwf_plan plan_ = nullptr;
};

// What a thread works with: 16 bins at a time.
struct Workshop {
  LargeVector<float> projection, spectrum;  // [length][lane]; [length / 2 + 1][lane][2]
  LargeVector<float> grid;                  // [grid][grid / 2 + 1][lane][2]
  LargeVector<float> column, turned;        // [grid][lane][2]
  LargeVector<float> row, pixels;           // [grid / 2 + 1][lane][2]; [grid][lane]
  TransformPlan projection_plan, column_plan, row_plan;

  Workshop(std::size_t length, std::size_t grid_size)
      : projection(length * kSpectrumLanes),
        spectrum((length / 2 + 1) * kValues),
        grid(grid_size * (grid_size / 2 + 1) * kValues),
        column(grid_size * kValues),
        turned(grid_size * kValues),
        row((grid_size / 2 + 1) * kValues),
        pixels(grid_size * kSpectrumLanes),
        projection_plan(Transform::kForwardReal, length, projection.data(), spectrum.data()),
        column_plan(Transform::kBackwardComplex, grid_size, column.data(), turned.data()),
        row_plan(Transform::kBackwardReal, grid_size, row.data(), pixels.data()) {}

  static std::size_t bytes(std::size_t length, std::size_t grid_size) {
    return sizeof(float) * (2 * length + kValues + (grid_size + 7) * (grid_size / 2 + 1)) * kValues;
  }
};

// Projections become spectra, which are slices through that of the tomogram.
class FourierMethod final : public FbpMethod {
 public:
  FourierMethod(const ScanGeometry& scan, const FbpOptions& options, std::size_t size)
      : scan_(scan),
        threads_(resolve_threads(options.threads)),
        size_(size),
        length_(band_length(reach_of(ProjectionRange(scan.axis, size, kBandMargin), scan.positions))),
        grid_(smooth_size(std::max(
            static_cast<std::size_t>(std::ceil(kOversampling * static_cast<double>(size))), 4 * kGridTaps))),
        weights_(weigh_angles(scan.angles, options.weighting).weights),
        circle_(size),
        loops_(lane_loops(options.instruction_set)) {
    const GriddingKernel kernel(kGridTaps, static_cast<double>(grid_) / static_cast<double>(size));
    kernel_ = kernel.table();
    for (std::size_t distance = 0; distance <= size / 2; ++distance) {
      corrections_.push_back(1 / kernel.spectrum(static_cast<double>(distance) / static_cast<double>(grid_)));
    }
    const std::vector<double> filter = filter_spectrum(options.filter, length_);
    for (std::size_t j = 0; j <= length_ / 2; ++j) {
      // At frequency 0 and at the last one, positive and negative are the same and share.
      const double share = j == 0 || j == length_ / 2 ? 0.5 : 1;
      const double turn =
          2 * std::numbers::pi * static_cast<double>(j) * scan.axis / static_cast<double>(length_);
      factors_.push_back(std::polar(share * filter[j] / (2 * static_cast<double>(length_)), turn));
    }
  }

  std::size_t scratch_bytes() const override { return threads_ * Workshop::bytes(length_, grid_); }

  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                   const std::stop_token& stop) const override {
    const std::size_t groups = (sinogram.bins + kSpectrumLanes - 1) / kSpectrumLanes;
    std::atomic<std::size_t> next = 0;
    parallel_ranges(std::min<std::size_t>(threads_, groups), threads_, [&](std::size_t, std::size_t) {
      Workshop workshop(length_, grid_);
      for (std::size_t group = next++; group < groups && !stop.stop_requested(); group = next++) {
        const std::size_t first = group * kSpectrumLanes;
        const std::size_t count = std::min(kSpectrumLanes, sinogram.bins - first);
        gather(sinogram.bins_from(first, count), workshop);
        transform(workshop, tomogram.bins_from(first, count));
      }
    });
  }

 private:
  // The spectrum of the tomogram on its grid.
  void gather(const SinogramView& sinogram, Workshop& workshop) const {
    std::ranges::fill(workshop.grid, 0.0F);
    std::ranges::fill(workshop.projection, 0.0F);
    const double scale = static_cast<double>(grid_) / static_cast<double>(length_);
    for (std::size_t angle = 0; angle < scan_.angles.size(); ++angle) {
      for (std::size_t position = 0; position < scan_.positions; ++position) {
        std::copy_n(sinogram.at(angle, position), sinogram.bins,
                    workshop.projection.data() + position * kSpectrumLanes);
      }
      workshop.projection_plan.run();
      const double x = std::cos(scan_.angles[angle]), y = -std::sin(scan_.angles[angle]);
      const double side = x < 0 ? -1 : 1;  // half of the spectrum is enough: take the conjugate of the other
      filter_spectrum_of(angle, side, workshop.spectrum);
      loops_.spread({workshop.spectrum.data(), length_ / 2 + 1, side * x * scale, side * y * scale,
                     kernel_.data(), grid_, workshop.grid.data()});
    }
  }

  void filter_spectrum_of(std::size_t angle, double side, LargeVector<float>& spectrum) const {
    for (std::size_t j = 0; j < factors_.size(); ++j) {
      const std::complex<double> factor = factors_[j] * weights_[angle];
      const auto real = static_cast<float>(factor.real()), imaginary = static_cast<float>(factor.imag());
      float* const values = spectrum.data() + j * kValues;
      for (std::size_t v = 0; v < kValues; v += 2) {
        const float a = values[v], b = values[v + 1];
        values[v] = a * real - b * imaginary;
        values[v + 1] = static_cast<float>(side) * (a * imaginary + b * real);
      }
    }
  }

  // From the spectrum to pixels: first along y, of which only the rows of the tomogram are kept, then along
  // x.
  void transform(Workshop& workshop, const TomogramView& tomogram) const {
    const std::size_t columns = grid_ / 2 + 1, centre = size_ / 2;
    for (std::size_t x = 0; x < columns; ++x) {
      for (std::size_t y = 0; y < grid_; ++y) {
        std::copy_n(workshop.grid.data() + (y * columns + x) * kValues, kValues,
                    workshop.column.data() + y * kValues);
      }
      workshop.column_plan.run();
      for (std::size_t y = 0; y < size_; ++y) {
        std::copy_n(workshop.turned.data() + (y + grid_ - centre) % grid_ * kValues, kValues,
                    workshop.grid.data() + (y * columns + x) * kValues);
      }
    }
    for (std::size_t y = 0; y < size_; ++y) {
      std::copy_n(workshop.grid.data() + y * columns * kValues, columns * kValues, workshop.row.data());
      workshop.row_plan.run();
      for (std::size_t x = circle_.row(y).begin; x < circle_.row(y).end; ++x) {
        const auto correction = static_cast<float>(corrections_[distance(x)] * corrections_[distance(y)]);
        const float* const pixel = workshop.pixels.data() + (x + grid_ - centre) % grid_ * kSpectrumLanes;
        float* const out = tomogram.at(y, x);
        for (std::size_t bin = 0; bin < tomogram.bins; ++bin) out[bin] = pixel[bin] * correction;
      }
    }
  }

  std::size_t distance(std::size_t place) const {
    const std::size_t centre = size_ / 2;
    return place < centre ? centre - place : place - centre;
  }

  ScanGeometry scan_;
  unsigned threads_;
  std::size_t size_;
  std::size_t length_;  // with which filtered projections are periodic
  std::size_t grid_;    // of the spectrum, points in each direction
  std::vector<double> weights_;
  std::vector<std::complex<double>> factors_;  // by frequency: filter, axis, and what transforms leave out
  std::vector<float> kernel_;
  std::vector<double> corrections_;  // by distance from the centre: what the kernel does to the tomogram
  Circle circle_;
  const LaneLoops& loops_;
};

}  // namespace

std::unique_ptr<const FbpMethod> make_fourier_method(const ScanGeometry& scan, const FbpOptions& options,
                                                     std::size_t size) {
  return std::make_unique<FourierMethod>(scan, options, size);
}

}  // namespace annulus
