#include <annulus/core/error.hpp>
#include <annulus/core/fourier_planner.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/correlation/frequency_sums.hpp>
#include <annulus/correlation/single_threaded_blas.hpp>

#include <cblas.h>
#include <fftw3.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace annulus {
namespace {

constexpr std::size_t kLanes =
    16;  // rings, or pairs of rings, that are transformed together: they fit into the L1 cache
constexpr std::size_t kSpectraBytes = 64U << 20U;  // of a block
constexpr std::size_t kLeastBlock = 8, kMostBlock = 256;
constexpr std::size_t kMostRequested = 1U << 16U;

// FFTW and BLAS by precision. Spectra of lanes stand together, [k][lane], so that they are copied to and from
// those of a block and products as they lie. Plans are made without measuring, so they are the same each
// time.
template <typename Real>
struct Library;

template <>
struct Library<double> {
  using Plan = fftw_plan;
  using Value = fftw_complex;
  static Plan forward(int n, double* in, Value* out) {
    return fftw_plan_many_dft_r2c(1, &n, kLanes, in, nullptr, 1, n, out, nullptr, kLanes, 1,
                                  FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
  }
  static Plan backward(int n, Value* in, double* out) {
    return fftw_plan_many_dft_c2r(1, &n, kLanes, in, nullptr, kLanes, 1, out, nullptr, 1, n,
                                  FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
  }
  static void destroy(Plan plan) { fftw_destroy_plan(plan); }
  static void run(Plan plan, double* in, Value* out) { fftw_execute_dft_r2c(plan, in, out); }
  static void run(Plan plan, Value* in, double* out) { fftw_execute_dft_c2r(plan, in, out); }
  static void multiply(int rings, int images, const void* spectra, double before, void* products) {
    cblas_zherk(CblasColMajor, CblasLower, CblasNoTrans, rings, images, 1, spectra, rings, before, products,
                rings);
  }
};

template <>
struct Library<float> {
  using Plan = fftwf_plan;
  using Value = fftwf_complex;
  static Plan forward(int n, float* in, Value* out) {
    return fftwf_plan_many_dft_r2c(1, &n, kLanes, in, nullptr, 1, n, out, nullptr, kLanes, 1,
                                   FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
  }
  static Plan backward(int n, Value* in, float* out) {
    return fftwf_plan_many_dft_c2r(1, &n, kLanes, in, nullptr, kLanes, 1, out, nullptr, 1, n,
                                   FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
  }
  static void destroy(Plan plan) { fftwf_destroy_plan(plan); }
  static void run(Plan plan, float* in, Value* out) { fftwf_execute_dft_r2c(plan, in, out); }
  static void run(Plan plan, Value* in, float* out) { fftwf_execute_dft_c2r(plan, in, out); }
  static void multiply(int rings, int images, const void* spectra, float before, void* products) {
    cblas_cherk(CblasColMajor, CblasLower, CblasNoTrans, rings, images, 1, spectra, rings, before, products,
                rings);
  }
};

// What a thread transforms: kLanes real series and their spectra.
template <typename Real>
struct Lanes {
  LargeVector<Real> series;     // [lane][phi]
  LargeVector<Real> frequency;  // [k][lane][2]
  explicit Lanes(const PolarShape& shape)
      : series(kLanes * shape.angles), frequency(kLanes * shape.frequencies() * 2) {
    // Lanes that a shorter group leaves as they are shall hold numbers.
    std::fill(series.begin(), series.end(), Real(0));
    std::fill(frequency.begin(), frequency.end(), Real(0));
  }
  typename Library<Real>::Value* values() {
    return reinterpret_cast<typename Library<Real>::Value*>(frequency.data());
  }
};

}  // namespace

template <typename Real>
struct FrequencySums<Real>::Plans {
  typename Library<Real>::Plan forward = nullptr, backward = nullptr;
  explicit Plans(const PolarShape& shape) {
    Lanes<Real> lanes(shape);
    const int angles = static_cast<int>(shape.angles);
    const std::lock_guard lock(fourier_planner());
    forward = Library<Real>::forward(angles, lanes.series.data(), lanes.values());
    backward = Library<Real>::backward(angles, lanes.values(), lanes.series.data());
    if (forward == nullptr || backward == nullptr) throw std::bad_alloc();
  }
  ~Plans() {
    const std::lock_guard lock(fourier_planner());
    Library<Real>::destroy(forward);
    Library<Real>::destroy(backward);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;
};

template <typename Real>
std::size_t FrequencySums<Real>::block_of(const PolarShape& shape, std::size_t requested) {
  shape.check();
  if (requested > kMostRequested) {
    throw Error(ErrorKind::kUsage, "`block`",
                fmt::format("{} images are more than {}", requested, kMostRequested));
  }
  if (requested != 0) return requested;
  return std::clamp(kSpectraBytes / (shape.frequencies() * shape.rings * sizeof(Complex)), kLeastBlock,
                    kMostBlock);
}

template <typename Real>
std::size_t FrequencySums<Real>::bytes(const PolarShape& shape, std::size_t block, unsigned threads) {
  const std::size_t lanes = kLanes * (shape.angles * sizeof(Real) + shape.frequencies() * sizeof(Complex));
  return shape.frequencies() * shape.rings * (block_of(shape, block) + shape.rings) * sizeof(Complex) +
         blas_threads(threads) * lanes;
}

template <typename Real>
FrequencySums<Real>::FrequencySums(PolarShape shape, std::size_t block, unsigned threads)
    : shape_(shape), block_(block_of(shape, block)), threads_(blas_threads(threads)) {
  spectra_.resize(shape_.frequencies() * block_ * shape_.rings);
  products_.resize(shape_.frequencies() * shape_.rings * shape_.rings);
  plans_ = std::make_unique<Plans>(shape_);
}

template <typename Real>
FrequencySums<Real>::~FrequencySums() = default;

template <typename Real>
void FrequencySums<Real>::add(std::span<const std::int16_t> images) {
  const std::size_t count = images.size() / shape_.values();
  if (count == 0) return;
  const SingleThreadedBlas single;
  parallel_ranges(count, threads_,
                  [&](std::size_t begin, std::size_t end) { transform(images, begin, end); });
  parallel_ranges(shape_.frequencies(), threads_,
                  [&](std::size_t begin, std::size_t end) { multiply(count, begin, end); });
  empty_ = false;
}

template <typename Real>
void FrequencySums<Real>::transform(std::span<const std::int16_t> images, std::size_t begin,
                                    std::size_t end) {
  Lanes<Real> lanes(shape_);
  const auto* const spectra = reinterpret_cast<const Complex*>(lanes.frequency.data());
  for (std::size_t image = begin; image < end; ++image) {
    for (std::size_t first = 0; first < shape_.rings; first += kLanes) {
      const std::size_t rings = std::min(kLanes, shape_.rings - first);
      const std::int16_t* const values = images.data() + image * shape_.values() + first * shape_.angles;
      Real* const series = lanes.series.data();
      for (std::size_t i = 0; i < rings * shape_.angles; ++i) series[i] = static_cast<Real>(values[i]);
      Library<Real>::run(plans_->forward, series, lanes.values());
      for (std::size_t k = 0; k < shape_.frequencies(); ++k) {
        Complex* const place = spectra_.data() + (k * block_ + image) * shape_.rings + first;
        std::copy_n(spectra + k * kLanes, rings, place);
      }
    }
  }
}

template <typename Real>
void FrequencySums<Real>::multiply(std::size_t images, std::size_t begin, std::size_t end) {
  for (std::size_t k = begin; k < end; ++k) {
    // The lower triangle by columns, F(q') conj(F(q)) at column q and row q' >= q, is [q][q' >= q].
    Library<Real>::multiply(static_cast<int>(shape_.rings), static_cast<int>(images),
                            spectra_.data() + k * block_ * shape_.rings, empty_ ? Real(0) : Real(1),
                            products_.data() + k * shape_.rings * shape_.rings);
  }
}

template <typename Real>
void FrequencySums<Real>::drain(
    const std::function<void(std::size_t first, std::span<const Real> values)>& take) {
  if (empty_) return;
  std::atomic<std::size_t> next = 0;
  const std::size_t workers = std::min<std::size_t>(threads_, shape_.rings);
  parallel_ranges(workers, threads_, [&](std::size_t, std::size_t) {
    Lanes<Real> lanes(shape_);
    auto* const spectra = reinterpret_cast<Complex*>(lanes.frequency.data());
    for (std::size_t q = next++; q < shape_.rings; q = next++) {
      for (std::size_t first = q; first < shape_.rings; first += kLanes) {
        const std::size_t pairs = std::min(kLanes, shape_.rings - first);
        for (std::size_t k = 0; k < shape_.frequencies(); ++k) {
          const Complex* const sums = products_.data() + (k * shape_.rings + q) * shape_.rings + first;
          std::copy_n(sums, pairs, spectra + k * kLanes);
        }
        Library<Real>::run(plans_->backward, lanes.values(), lanes.series.data());
        take(shape_.pair(q, first) * shape_.angles,
             std::span<const Real>(lanes.series).first(pairs * shape_.angles));
      }
    }
  });
  empty_ = true;
}

template class FrequencySums<float>;
template class FrequencySums<double>;

}  // namespace annulus
