// Small scans on disk for tests of the engine: raw frames that need no header.
#pragma once

#include <annulus/plan/recipe.hpp>
#include <annulus/sources/frame_source.hpp>

#include <string>
#include <vector>

#include "plan_fixtures.hpp"
#include "scratch_folder.hpp"
#include "test_frames.hpp"

namespace annulus::testing {

struct ScanFiles {
  Shape shape{12, 16};
  OpenOptions open;
  std::shared_ptr<const Plan> plan;
  Recipe recipe{ErrorModel::kPoisson};
  std::vector<std::string> urls;
  std::vector<std::vector<std::int64_t>> pixels;

  ScanFiles(const ScratchFolder& folder, std::size_t files, std::size_t frames_per_file) {
    open.raw_shape = shape;
    IntegrationOptions options;
    options.bins = 10;
    plan = std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
    std::mt19937_64 random(41);
    for (std::size_t file = 0; file < files; ++file) {
      std::string content;
      for (std::size_t i = 0; i < frames_per_file; ++i) {
        std::vector<std::int64_t> frame(shape.size());
        for (std::int64_t& pixel : frame) pixel = static_cast<std::int64_t>(random() % 500);
        const Frame packed = raw_frame(shape, PixelType::kI32, frame);
        content.append(reinterpret_cast<const char*>(packed.payload.data()), packed.payload.size());
        pixels.push_back(std::move(frame));
      }
      urls.push_back(folder.write("frame_" + std::to_string(file) + ".raw", content));
    }
  }
};

}  // namespace annulus::testing
