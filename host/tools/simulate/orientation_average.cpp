#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>

#include <fmt/core.h>
#include <tools/simulate/orientation_average.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

// Two Gaussians, or one with itself.
struct Pair {
  double x = 0;  // from one to the other
  double y = 0;
  double z = 0;
  double distance = 0;
  double weight = 0;  // of both, and of both orders
  double square_width = 0;

  double amplitude(double q) const { return weight * portable::exp(-0.5 * square_width * q * q); }
};

std::vector<Pair> pairs_of(const Particle& particle) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < particle.size(); ++i) {
    for (std::size_t j = i; j < particle.size(); ++j) {
      const Gaussian& a = particle[i];
      const Gaussian& b = particle[j];
      Pair pair{b.x - a.x,
                b.y - a.y,
                b.z - a.z,
                0,
                (i == j ? 1 : 2) * a.weight * b.weight,
                a.width * a.width + b.width * b.width};
      pair.distance = std::sqrt(pair.x * pair.x + pair.y * pair.y + pair.z * pair.z);
      pairs.push_back(pair);
    }
  }
  return pairs;
}

double cosine_between(const Pair& a, const Pair& b) {
  if (a.distance == 0 || b.distance == 0) return 1;  // only l = 0 sees it, whose P is 1
  const double product = (a.x * b.x + a.y * b.y + a.z * b.z) / (a.distance * b.distance);
  return std::clamp(product, -1.0, 1.0);
}

// P_0 to P_highest at x, order by order.
class LegendreSeries {
 public:
  explicit LegendreSeries(double x) : x_(x) {}

  double value() const { return now_; }
  void next() {
    ++order_;
    const double following = ((2 * order_ - 1) * x_ * now_ - (order_ - 1) * before_) / order_;
    before_ = now_;
    now_ = following;
  }

 private:
  double x_;
  double order_ = 0;
  double before_ = 0;
  double now_ = 1;
};

double sine_over(double x) {
  if (x < 1e-4) return 1 - x * x / 6;
  return portable::sin_cos_turns(x / (2 * portable::kPi)).sin / x;
}

// The last even order that matters: j_l(x) falls faster than any power beyond l = x, and grows with x there.
std::size_t last_order(double largest) {
  const auto enough = static_cast<std::size_t>(1.2 * largest + 60);
  const std::vector<double> values = spherical_bessel(enough, largest);
  std::size_t last = 0;
  for (std::size_t l = 0; l < values.size(); l += 2) {
    if ((2 * static_cast<double>(l) + 1) * values[l] * values[l] > 1e-17) last = l;
  }
  return last + 2;
}

}  // namespace

std::vector<double> spherical_bessel(std::size_t highest, double x) {
  std::vector<double> values(highest + 1);
  if (x < 1e-150) {  // its square is no number
    values[0] = 1;
    return values;
  }
  // Downwards from far above, where any start will do (Miller), with the sum of (2 l + 1) j_l^2 = 1 as the
  // measure. The sign is that of j_0, or of j_1 where j_0 is small.
  const auto start =
      static_cast<std::size_t>(std::max(static_cast<double>(highest), x) + 40 + 6 * std::sqrt(x));
  double above = 0;
  double now = 1e-100;
  double squares = 0;
  for (std::size_t l = start + 1; l-- > 0;) {
    const double order = static_cast<double>(l);
    if (l <= highest) values[l] = now;
    squares += (2 * order + 1) * now * now;
    if (l == 0) break;
    const double below = (2 * order + 1) / x * now - above;
    above = now;
    now = below;
    if (std::fabs(now) > 1e100) {
      // Before the squares leave their range; what was so small by comparison is 0.
      const double factor = 1 / std::fabs(now);
      above *= factor;
      now *= factor;
      squares *= factor * factor;
      for (std::size_t k = l; k <= highest; ++k) values[k] *= factor;
    }
  }
  const portable::SinCos angle = portable::sin_cos_turns(x / (2 * portable::kPi));
  const double j0 = sine_over(x);
  const double j1 = (j0 - angle.cos) / x;  // used where sin(x) is near 0 only: nothing cancels
  const bool first = std::fabs(angle.sin) > 0.5 || x < 1;
  // `now` is j_0 and `above` j_1 at the end.
  const bool negative = first ? (j0 < 0) != (now < 0) : (j1 < 0) != (above < 0);
  const double factor = (negative ? -1 : 1) / std::sqrt(squares);
  for (double& value : values) value *= factor;
  return values;
}

double mean_intensity(const Particle& particle, double q) {
  double sum = 0;
  for (const Pair& pair : pairs_of(particle)) sum += pair.amplitude(q) * sine_over(q * pair.distance);
  return sum;
}

OrientationAverage::OrientationAverage(const Particle& particle, std::vector<double> q, unsigned threads)
    : q_(std::move(q)), threads_(threads) {
  const double largest = q_.empty() ? 0 : *std::ranges::max_element(q_) * extent_of(particle);
  if (!(largest <= kLargestProduct)) {
    throw Error(ErrorKind::kUsage, "`particle`, `radial_range`",
                fmt::format("the largest q times the length of the particle is {:.0f}, above {:.0f}", largest,
                            kLargestProduct),
                "take a smaller particle or a smaller q");
  }
  const std::vector<Pair> pairs = pairs_of(particle);
  const std::size_t last = last_order(largest);
  for (std::size_t l = 0; l <= last; l += 2) orders_.push_back(l);

  // a_p(q) j_l(q r_p) as [order][q][pair].
  const std::size_t rings = q_.size();
  const std::size_t of_order = rings * pairs.size();
  std::vector<double> waves(orders_.size() * of_order);
  parallel_ranges(rings, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t ring = begin; ring < end; ++ring) {
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        const double amplitude = pairs[p].amplitude(q_[ring]);
        const std::vector<double> bessel = spherical_bessel(last, q_[ring] * pairs[p].distance);
        for (std::size_t order = 0; order < orders_.size(); ++order)
          waves[order * of_order + ring * pairs.size() + p] = amplitude * bessel[orders_[order]];
      }
    }
  });

  std::vector<LegendreSeries> angles;
  for (const Pair& a : pairs) {
    for (const Pair& b : pairs) angles.emplace_back(cosine_between(a, b));
  }
  legendre_.resize(rings * (rings + 1) / 2 * orders_.size());
  for (std::size_t order = 0; order < orders_.size(); ++order) {
    const double* const wave = waves.data() + order * of_order;
    const double factor = 4 * portable::kPi * static_cast<double>(2 * orders_[order] + 1);
    parallel_ranges(rings, threads, [&](std::size_t begin, std::size_t end) {
      std::vector<double> left(pairs.size());
      for (std::size_t ring = begin; ring < end; ++ring) {
        for (std::size_t b = 0; b < pairs.size(); ++b) {
          double sum = 0;
          for (std::size_t a = 0; a < pairs.size(); ++a)
            sum += wave[ring * pairs.size() + a] * angles[a * pairs.size() + b].value();
          left[b] = sum;
        }
        const std::size_t first = ring * rings - ring * (ring + 1) / 2;
        for (std::size_t other = ring; other < rings; ++other) {
          double sum = 0;
          for (std::size_t b = 0; b < pairs.size(); ++b) sum += left[b] * wave[other * pairs.size() + b];
          legendre_[(first + other) * orders_.size() + order] = factor * sum;
        }
      }
    });
    for (LegendreSeries& angle : angles) {
      angle.next();
      angle.next();
    }
  }
}

std::vector<double> OrientationAverage::correlation(std::size_t angles, double wavelength) const {
  const std::size_t rings = q_.size();
  std::vector<double> result(rings * (rings + 1) / 2 * angles);
  std::vector<double> cosines(angles);
  for (std::size_t d = 0; d < angles; ++d)
    cosines[d] = portable::sin_cos_turns(static_cast<double>(d) / static_cast<double>(angles)).cos;
  const auto along_beam = [&](std::size_t ring) { return q_[ring] * wavelength / (4 * portable::kPi); };
  const auto across = [&](std::size_t ring) {
    return std::sqrt(std::max(0.0, 1 - along_beam(ring) * along_beam(ring)));
  };
  parallel_ranges(rings, threads_, [&](std::size_t begin, std::size_t end) {
    for (std::size_t ring = begin; ring < end; ++ring) {
      const std::size_t first = ring * rings - ring * (ring + 1) / 2;
      for (std::size_t other = ring; other < rings; ++other) {
        const double* const coefficients = legendre_.data() + (first + other) * orders_.size();
        for (std::size_t d = 0; d < angles; ++d) {
          LegendreSeries series(along_beam(ring) * along_beam(other) +
                                across(ring) * across(other) * cosines[d]);
          double sum = 0;
          for (std::size_t order = 0; order < orders_.size(); ++order) {
            sum += coefficients[order] * series.value();
            series.next();
            series.next();
          }
          result[(first + other) * angles + d] = sum / (4 * portable::kPi);
        }
      }
    }
  });
  return result;
}

}  // namespace annulus
