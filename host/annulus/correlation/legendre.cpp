#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/correlation/legendre.hpp>
#include <annulus/correlation/single_threaded_blas.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

// Least squares by singular values, of LAPACK.
extern "C" void dgelsd_(const int* rows, const int* columns, const int* sides, double* matrix,
                        const int* matrix_stride, double* side, const int* side_stride, double* singular,
                        const double* least, int* rank, double* work, const int* work_size, int* integer_work,
                        int* info);

namespace annulus {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Solves systems of up to `rows` rows.
class LeastSquares {
 public:
  LeastSquares(std::size_t rows, std::size_t columns)
      : columns_(static_cast<int>(columns)), singular_(columns) {
    double size = 0;
    int integers = 0;
    call(static_cast<int>(rows), nullptr, nullptr, &size, -1, &integers);
    work_.resize(static_cast<std::size_t>(size));
    integer_work_.resize(static_cast<std::size_t>(std::max(integers, 1)));
  }

  // matrix: by columns. The solution is at the beginning of `side`. Returns the condition, infinite if there
  // is none.
  double solve(std::size_t rows, double* matrix, double* side) {
    if (rows < singular_.size()) return kInfinite;
    call(static_cast<int>(rows), matrix, side, work_.data(), static_cast<int>(work_.size()),
         integer_work_.data());
    return info_ == 0 && rank_ == columns_ ? singular_.front() / singular_.back() : kInfinite;
  }

 private:
  void call(int rows, double* matrix, double* side, double* work, int work_size, int* integer_work) {
    const int one = 1;
    // As for the rank of a matrix: rounding alone leaves singular values of this size.
    const double least = rows * std::numeric_limits<double>::epsilon();
    dgelsd_(&rows, &columns_, &one, matrix, &rows, side, &rows, singular_.data(), &least, &rank_, work,
            &work_size, integer_work, &info_);
  }

  int columns_, rank_ = 0, info_ = 0;
  std::vector<double> singular_, work_;
  std::vector<int> integer_work_;
};

// P_l(x) for all l up to values.size() - 1.
void legendre_polynomials(double x, std::vector<double>& values) {
  values[0] = 1;
  if (values.size() > 1) values[1] = x;
  for (std::size_t l = 2; l < values.size(); ++l) {
    const auto n = static_cast<double>(l);
    values[l] = ((2 * n - 1) * x * values[l - 1] - (n - 1) * values[l - 2]) / n;
  }
}

// cos theta of each ring.
std::vector<double> ewald_cosines(const PolarShape& shape, const LegendreOptions& options) {
  if (!(options.wavelength >= 0 && std::isfinite(options.wavelength))) {
    throw Error(ErrorKind::kUsage, "`wavelength`", fmt::format("{} is no wavelength", options.wavelength));
  }
  std::vector<double> cosines(shape.rings, 0);
  if (options.wavelength == 0) return cosines;
  if (options.q.size() != shape.rings) {
    throw Error(ErrorKind::kUsage, "q of the rings",
                fmt::format("{} values for {} rings", options.q.size(), shape.rings),
                "with a wavelength, q of every ring is needed");
  }
  for (std::size_t ring = 0; ring < shape.rings; ++ring) {
    cosines[ring] = options.q[ring] * options.wavelength / (4 * std::numbers::pi);
    if (!(cosines[ring] >= 0 && cosines[ring] <= 1)) {
      throw Error(ErrorKind::kUsage, "q of the rings",
                  fmt::format("ring {}, q {}, cannot be reached with the wavelength {}", ring,
                              options.q[ring], options.wavelength),
                  "the units of q and wavelength have to be reciprocal");
    }
  }
  return cosines;
}

// The system of one pair of rings. d and -d have the same psi, so they share a row, which counts twice.
class PairFit {
 public:
  PairFit(std::size_t angles, const std::vector<std::size_t>& orders)
      : angles_(angles),
        orders_(orders),
        polynomials_(orders.back() + 1),
        matrix_((angles / 2 + 1) * orders.size()),
        side_(std::max(angles / 2 + 1, orders.size())),
        solver_(angles / 2 + 1, orders.size()) {}

  double fit(std::span<const double> correlation, double cosine, double other_cosine,
             std::span<double> coefficients) {
    rows_.clear();
    for (std::size_t d = 0; d <= angles_ / 2; ++d) {
      const std::size_t mirrored = (angles_ - d) % angles_;
      double sum = 0, count = 0;
      const auto take = [&](double value) {
        if (!std::isfinite(value)) return;
        sum += value;
        count += 1;
      };
      take(correlation[d]);
      if (mirrored != d) take(correlation[mirrored]);
      if (count > 0) rows_.push_back({d, sum / count, std::sqrt(count)});
    }
    const double sines = std::sqrt((1 - cosine * cosine) * (1 - other_cosine * other_cosine));
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const double turn =
          2 * std::numbers::pi * static_cast<double>(rows_[row].d) / static_cast<double>(angles_);
      legendre_polynomials(std::clamp(cosine * other_cosine + sines * std::cos(turn), -1.0, 1.0),
                           polynomials_);
      for (std::size_t column = 0; column < orders_.size(); ++column) {
        matrix_[column * rows_.size() + row] = rows_[row].weight * polynomials_[orders_[column]];
      }
      side_[row] = rows_[row].weight * rows_[row].value * 4 * std::numbers::pi;
    }
    const double condition = solver_.solve(rows_.size(), matrix_.data(), side_.data());
    for (std::size_t column = 0; column < orders_.size(); ++column) {
      coefficients[column] = std::isfinite(condition) ? side_[column] : kNone;
    }
    return condition;
  }

 private:
  struct Row {
    std::size_t d;
    double value, weight;
  };

  std::size_t angles_;
  const std::vector<std::size_t>& orders_;
  std::vector<double> polynomials_, matrix_, side_;
  std::vector<Row> rows_;
  LeastSquares solver_;
};

}  // namespace

namespace {

std::vector<std::size_t> orders_of(const PolarShape& shape, const LegendreOptions& options) {
  // d and -d are the same to the coefficients; of a flat sphere and even l, so are d and d plus half a turn.
  const bool twice = options.wavelength == 0 && options.even_only && shape.angles % 2 == 0;
  const std::size_t most = shape.angles / (twice ? 4 : 2) + 1, step = options.even_only ? 2 : 1;
  if (options.highest / step + 1 > most) {
    throw Error(
        ErrorKind::kUsage, "`legendre`",
        fmt::format("{} angles determine no coefficients up to l = {}", shape.angles, options.highest),
        fmt::format("they determine at most {} of them", most));
  }
  std::vector<std::size_t> orders;
  for (std::size_t l = 0; l <= options.highest; l += step) orders.push_back(l);
  return orders;
}

}  // namespace

void check_legendre(const PolarShape& shape, const LegendreOptions& options) {
  shape.check();
  ewald_cosines(shape, options);
  orders_of(shape, options);
}

LegendreCoefficients legendre_coefficients(const PolarShape& shape, std::span<const double> correlation,
                                           const LegendreOptions& options) {
  shape.check();
  if (correlation.size() != shape.correlations()) {
    throw Error(ErrorKind::kInput, "correlation",
                fmt::format("it has {} values, and {} rings x {} angles have {}", correlation.size(),
                            shape.rings, shape.angles, shape.correlations()));
  }
  const std::vector<double> cosines = ewald_cosines(shape, options);
  LegendreCoefficients result;
  result.orders = orders_of(shape, options);
  const std::size_t orders = result.orders.size();
  result.values.resize(shape.pairs() * orders);
  result.conditions.resize(shape.pairs());
  const SingleThreadedBlas single;
  parallel_ranges(shape.pairs(), blas_threads(options.threads), [&](std::size_t begin, std::size_t end) {
    PairFit pair_fit(shape.angles, result.orders);
    std::size_t q = 0;
    for (std::size_t pair = begin; pair < end; ++pair) {
      while (pair > shape.pair(q, shape.rings - 1)) ++q;
      const std::size_t other = q + pair - shape.pair(q, q);
      result.conditions[pair] =
          pair_fit.fit(correlation.subspan(pair * shape.angles, shape.angles), cosines[q], cosines[other],
                       std::span(result.values).subspan(pair * orders, orders));
    }
  });
  return result;
}

}  // namespace annulus
