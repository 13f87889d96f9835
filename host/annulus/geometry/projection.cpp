#include <annulus/geometry/projection.hpp>

namespace annulus {

Projection::Projection(const Geometry& geometry)
    : distance_(geometry.distance),
      poni1_(geometry.poni1),
      poni2_(geometry.poni2),
      pixel1_(geometry.detector.pixel1),
      pixel2_(geometry.detector.pixel2),
      q_factor_(geometry.wavelength ? 4.0e-9 * std::numbers::pi / *geometry.wavelength : 0.0) {
  const double c1 = std::cos(geometry.rot1), s1 = std::sin(geometry.rot1);
  const double c2 = std::cos(geometry.rot2), s2 = std::sin(geometry.rot2);
  const double c3 = std::cos(geometry.rot3), s3 = std::sin(geometry.rot3);
  m11_ = c2 * c3;
  m12_ = c3 * s1 * s2 - c1 * s3;
  m13_ = c1 * c3 * s2 + s1 * s3;
  m21_ = c2 * s3;
  m22_ = c1 * c3 + s1 * s2 * s3;
  m23_ = -(c3 * s1) + c1 * s2 * s3;
  m31_ = s2;
  m32_ = c2 * s1;
  m33_ = c1 * c2;
}

double Projection::polarization(const Point& point, double factor) {
  const double squared_radius = point.t1 * point.t1 + point.t2 * point.t2;
  const double squared_length = squared_radius + point.t3 * point.t3;
  const double sine2 = squared_radius / squared_length;  // sin^2(2theta)
  const double cos_2chi =
      squared_radius > 0 ? (point.t2 * point.t2 - point.t1 * point.t1) / squared_radius : 1.0;
  return 0.5 * (2.0 - sine2 - factor * cos_2chi * sine2);
}

}  // namespace annulus
