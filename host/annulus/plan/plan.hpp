// A geometry and its options, compiled once into a sparse matrix in fixed point (docs/numerics.md).
// Immutable after build_plan; what every backend loads.
#pragma once

#include <annulus/core/image.hpp>
#include <annulus/core/shared_array.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/plan/axis.hpp>
#include <annulus/plan/integration_options.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// Which raw values count. All limits are inclusive; an empty dummy interval has low > high.
struct Validity {
  std::int64_t dummy_low = 1;
  std::int64_t dummy_high = 0;
  std::int64_t max_count = 0;  // |raw| above it is saturated or nonsense: invalid

  bool accepts(std::int64_t raw) const {
    return raw <= max_count && raw >= -max_count && !(raw >= dummy_low && raw <= dummy_high);
  }
  bool operator==(const Validity&) const = default;
};

// Rows are pixels, in pixel order: entries of pixel j are [first[j], first[j + 1]).
// A pixel's weights sum to exactly 2^weight_bits, or it has none (masked or out of range).
struct SparseMatrix {
  SharedArray<std::uint32_t> first;   // pixels + 1
  SharedArray<std::uint32_t> bin;     // entries
  SharedArray<std::uint32_t> weight;  // entries

  bool operator==(const SparseMatrix&) const = default;
};

// Sums over all pixels of the plan, for frames in which every pixel is valid.
struct SpreadTable;  // spread_table.hpp

struct PlanTotals {
  std::vector<std::int64_t> normalization;  // sum of weight * plan.normalization[pixel]
  std::vector<std::int64_t> dark;           // sum of weight * plan.dark[pixel]; empty without a dark
  std::vector<std::int64_t> count;          // sum of weight

  bool operator==(const PlanTotals&) const = default;
};

struct Plan {
  Geometry geometry;
  IntegrationOptions options;
  PixelType pixel_type = PixelType::kI32;  // type of the frames it was built for
  std::optional<std::int64_t> saturation;  // counts above are invalid; none: nobody said
  Shape shape;

  // The radius, in options.unit; of a cake also the azimuth, in degrees. The first axis varies fastest: bin
  // number of a cake = azimuthal bin * radial bins + radial bin.
  std::vector<Axis> axes;

  // Fixed point: c = weight / 2^weight_bits, n = normalization / 2^normalization_bits, and so on.
  int weight_bits = 0;
  int variance_bits = 0;  // of squared weights
  int normalization_bits = 0;
  int dark_bits = 0;

  SparseMatrix matrix;
  SharedArray<std::int32_t>
      normalization;               // per pixel: flat * solid angle * polarisation; 0 where no entries
  SharedArray<std::int32_t> dark;  // per pixel; empty without a dark
  PlanTotals totals;
  Validity validity;

  std::string hash;  // SHA-256 of all of the above

  // Follows from all of the above; none until somebody needs it.
  std::shared_ptr<const SpreadTable> spread;

  const Axis& radial() const { return axes.front(); }
  std::uint32_t bins() const { return static_cast<std::uint32_t>(bin_count(axes)); }  // of all axes together
  std::size_t pixels() const { return shape.size(); }

  bool operator==(const Plan&) const = default;
};

// Frames the plan is for: what the first frame of a scan tells.
struct FrameProperties {
  std::string name;  // for messages
  Shape shape;
  PixelType type = PixelType::kI32;
  std::optional<std::int64_t> max_count = std::nullopt;
};

// threads = 0: all of the machine; the plan does not depend on it. Throws kPlan, kGeometry or kInput.
Plan build_plan(const Geometry& geometry, const IntegrationOptions& options, const PixelMaps& maps,
                const FrameProperties& frames, unsigned threads = 0);

// For messages: "1000", or of a cake "1000 x 360 = 360000".
std::string bins_in_words(const Plan& plan);

// Pixels that contribute to some bin.
std::size_t pixels_in_use(const Plan& plan);

}  // namespace annulus
