#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/geometry/projection.hpp>
#include <annulus/plan/build_steps.hpp>

#include <fmt/core.h>

namespace annulus {
namespace {

void check_shape(const char* map, const std::string& name, Shape found, Shape wanted) {
  if (found == wanted) return;
  throw Error(
      ErrorKind::kInput, name,
      fmt::format("the shape of this {} is {}, the frames are {}", map, to_string(found), to_string(wanted)),
      fmt::format("give a {} made for this detector", map));
}

}  // namespace

std::vector<std::uint8_t> static_mask(const Geometry& geometry, Shape shape, const PixelMaps& maps) {
  if (maps.mask) check_shape("mask", maps.mask_name, maps.mask->shape, shape);
  if (maps.dark) check_shape("dark", maps.dark_name, maps.dark->shape, shape);
  if (maps.flat) check_shape("flat", maps.flat_name, maps.flat->shape, shape);
  std::vector<std::uint8_t> excluded(shape.size(), 0);
  if (geometry.detector.shape == shape) excluded = geometry.detector.gap_mask().pixels;
  if (maps.mask) {
    for (std::size_t pixel = 0; pixel < excluded.size(); ++pixel)
      excluded[pixel] |= maps.mask->pixels[pixel] != 0;
  }
  return excluded;
}

LargeVector<double> normalization_map(const Geometry& geometry, Shape shape,
                                      const IntegrationOptions& options, const PixelMaps& maps,
                                      unsigned threads) {
  const Projection projection(geometry);
  LargeVector<double> norm(shape.size());
  parallel_ranges(shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.centre1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const double p2 = projection.centre2(col);
        double value = 1.0;
        if (maps.flat) value *= maps.flat->pixels[row * shape.cols + col];
        if (options.solid_angle) value *= projection.solid_angle(p1, p2);
        if (options.polarization) {
          value *= Projection::polarization(projection.locate(p1, p2), *options.polarization);
        }
        norm[row * shape.cols + col] = value;
      }
    }
  });
  return norm;
}

}  // namespace annulus
