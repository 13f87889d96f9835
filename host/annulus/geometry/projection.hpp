// From a point on the detector's plane to the direction in which it is seen from the sample.
#pragma once

#include <annulus/geometry/geometry.hpp>
#include <annulus/geometry/unit.hpp>

#include <cmath>
#include <cstdint>
#include <numbers>

namespace annulus {

class Projection {
 public:
  // The wavelength is needed for q only; the caller checks that it is there.
  explicit Projection(const Geometry& geometry);

  // A point relative to the PONI, in the sample's frame: t1 up, t2 sideways, t3 along the beam.
  struct Point {
    double t1, t2, t3;
  };
  Point locate(double p1, double p2) const {
    return {p1 * m11_ + p2 * m12_ - distance_ * m13_, p1 * m21_ + p2 * m22_ - distance_ * m23_,
            p1 * m31_ - p2 * m32_ + distance_ * m33_};
  }

  // In the quantity's base unit: metre, radian or 1/nm.
  double radial(const Point& point, RadialQuantity quantity) const {
    const double radius = std::sqrt(point.t1 * point.t1 + point.t2 * point.t2);
    if (quantity == RadialQuantity::kRadius) return radius;
    const double two_theta = std::atan2(radius, point.t3);
    if (quantity == RadialQuantity::kTwoTheta) return two_theta;
    return q_factor_ * std::sin(0.5 * two_theta);
  }

  static double azimuth(const Point& point) { return std::atan2(point.t1, point.t2); }

  // cos^3 of the angle of incidence, relative to the PONI: the solid angle of a flat detector's pixel.
  double solid_angle(double p1, double p2) const {
    const double cosine = distance_ / std::sqrt(distance_ * distance_ + p1 * p1 + p2 * p2);
    return cosine * cosine * cosine;
  }

  // 1/2 [1 + cos^2(2theta) - f cos(2 chi) sin^2(2theta)]
  static double polarization(const Point& point, double factor);

  // Where pixel centres and corners lie relative to the PONI.
  double centre1(std::uint32_t row) const { return pixel1_ * (row + 0.5) - poni1_; }
  double centre2(std::uint32_t col) const { return pixel2_ * (col + 0.5) - poni2_; }
  double corner1(std::uint32_t row) const { return pixel1_ * row - poni1_; }
  double corner2(std::uint32_t col) const { return pixel2_ * col - poni2_; }

 private:
  double distance_, poni1_, poni2_, pixel1_, pixel2_;
  double m11_, m12_, m13_, m21_, m22_, m23_, m31_, m32_, m33_;
  double q_factor_;
};

}  // namespace annulus
