// Small detectors and random options for tests of plans.
#pragma once

#include <annulus/plan/recipe.hpp>

#include <random>

namespace annulus::testing {

inline Geometry small_geometry(Shape shape) {
  Geometry geometry;
  geometry.distance = 0.1;
  geometry.poni1 = 0.5 * shape.rows * 1e-4;
  geometry.poni2 = 0.5 * shape.cols * 1e-4;
  geometry.wavelength = 1e-10;
  geometry.detector.name = "Detector";
  geometry.detector.pixel1 = 1e-4;
  geometry.detector.pixel2 = 1e-4;
  return geometry;
}

inline Geometry random_geometry(std::mt19937_64& random, Shape shape) {
  std::uniform_real_distribution<double> unit(-1, 1);
  Geometry geometry = small_geometry(shape);
  geometry.distance = 0.02 + 0.2 * std::abs(unit(random));
  geometry.poni1 += 3e-3 * unit(random);
  geometry.poni2 += 3e-3 * unit(random);
  geometry.rot1 = 0.6 * unit(random);
  geometry.rot2 = 0.6 * unit(random);
  geometry.rot3 = 3 * unit(random);
  geometry.detector.pixel2 = 1e-4 * (1.5 + unit(random));
  return geometry;
}

inline IntegrationOptions random_options(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  IntegrationOptions options;
  options.bins = 1 + static_cast<std::uint32_t>(random() % 400);
  options.unit = static_cast<Unit>(random() % 6);
  options.splitting = static_cast<Splitting>(random() % 3);
  options.solid_angle = random() % 2 == 0;
  if (random() % 2 == 0) options.polarization = unit(random);
  if (random() % 3 == 0) {
    const double low = 360 * unit(random);
    options.azimuth_range = Range{low, low + 60 + 299 * std::abs(unit(random))};
  }
  if (random() % 3 == 0) {  // a cake, of no more bins than the kernels hold
    options.azimuth_bins = 1 + static_cast<std::uint32_t>(random() % 10);
    options.chi_discontinuity = random() % 2 == 0 ? 0 : 180;
  }
  return options;
}

inline Recipe random_recipe(std::mt19937_64& random) { return {static_cast<ErrorModel>(random() % 2)}; }

}  // namespace annulus::testing
