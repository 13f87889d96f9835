// A key changes with everything that shapes a plan, and with nothing else.
#include <annulus/plan/plan_key.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "plan_fixtures.hpp"

namespace annulus::testing {
namespace {

struct KeyInput {
  Shape shape{30, 20};
  Geometry geometry = small_geometry(shape);
  IntegrationOptions options;
  PixelMaps maps;
  FrameProperties frames{"test", shape};

  std::string key() const { return plan_key(geometry, options, maps, frames); }
};

Image<double> flat_map(Shape shape) { return {shape, std::vector<double>(shape.size(), 1.0)}; }

TEST(PlanKey, ChangesWithEveryThingThatShapesAPlan) {
  const std::map<std::string, std::function<void(KeyInput&)>> changes = {
      {"nothing", [](KeyInput&) {}},
      {"distance", [](KeyInput& i) { i.geometry.distance += 1e-9; }},
      {"poni1", [](KeyInput& i) { i.geometry.poni1 += 1e-9; }},
      {"poni2", [](KeyInput& i) { i.geometry.poni2 += 1e-9; }},
      {"rot1", [](KeyInput& i) { i.geometry.rot1 += 1e-9; }},
      {"rot2", [](KeyInput& i) { i.geometry.rot2 += 1e-9; }},
      {"rot3", [](KeyInput& i) { i.geometry.rot3 += 1e-9; }},
      {"wavelength", [](KeyInput& i) { i.geometry.wavelength = 2e-10; }},
      {"no wavelength", [](KeyInput& i) { i.geometry.wavelength.reset(); }},
      {"pixel1", [](KeyInput& i) { i.geometry.detector.pixel1 = 2e-4; }},
      {"pixel2", [](KeyInput& i) { i.geometry.detector.pixel2 = 2e-4; }},
      {"detector", [](KeyInput& i) { i.geometry.detector.name = "Other"; }},
      {"detector's shape", [](KeyInput& i) { i.geometry.detector.shape = i.shape; }},
      {"modules",
       [](KeyInput& i) {
         i.geometry.detector.grid.module = {10, 10};
       }},
      {"gaps",
       [](KeyInput& i) {
         i.geometry.detector.grid.gap = {1, 1};
       }},
      {"middle", [](KeyInput& i) { i.geometry.detector.grid.middle = 1; }},
      {"round", [](KeyInput& i) { i.geometry.detector.round = true; }},
      {"dectris", [](KeyInput& i) { i.geometry.detector.dectris = true; }},
      {"bins", [](KeyInput& i) { i.options.bins = 999; }},
      {"unit", [](KeyInput& i) { i.options.unit = Unit::kQPerA; }},
      {"splitting", [](KeyInput& i) { i.options.splitting = Splitting::kFull; }},
      {"radial range",
       [](KeyInput& i) {
         i.options.radial_range = Range{1, 2};
       }},
      {"radial range's end",
       [](KeyInput& i) {
         i.options.radial_range = Range{1, 3};
       }},
      {"azimuth range",
       [](KeyInput& i) {
         i.options.azimuth_range = Range{1, 2};
       }},
      {"azimuth bins", [](KeyInput& i) { i.options.azimuth_bins = 3; }},
      {"discontinuity", [](KeyInput& i) { i.options.chi_discontinuity = 0; }},
      {"solid angle", [](KeyInput& i) { i.options.solid_angle = false; }},
      {"polarization", [](KeyInput& i) { i.options.polarization = 0; }},
      {"dummy", [](KeyInput& i) { i.options.dummy = 0; }},
      {"delta dummy", [](KeyInput& i) { i.options.delta_dummy = 0; }},
      {"max count", [](KeyInput& i) { i.options.max_count = 0; }},
      {"mask",
       [](KeyInput& i) {
         i.maps.mask = Mask{i.shape, std::vector<std::uint8_t>(i.shape.size(), 0)};
       }},
      {"a masked pixel",
       [](KeyInput& i) {
         i.maps.mask = Mask{i.shape, std::vector<std::uint8_t>(i.shape.size(), 0)};
         i.maps.mask->at(29, 19) = 1;
       }},
      {"dark", [](KeyInput& i) { i.maps.dark = flat_map(i.shape); }},
      {"flat", [](KeyInput& i) { i.maps.flat = flat_map(i.shape); }},
      {"flat of another shape",
       [](KeyInput& i) {
         i.maps.flat = flat_map({20, 30});
       }},
      {"a value of the flat",
       [](KeyInput& i) {
         i.maps.flat = flat_map(i.shape);
         i.maps.flat->at(7, 3) = 1.0000001;
       }},
      {"frames' shape",
       [](KeyInput& i) {
         i.frames.shape = {20, 30};
       }},
      {"frames' type", [](KeyInput& i) { i.frames.type = PixelType::kU32; }},
      {"frames' saturation", [](KeyInput& i) { i.frames.max_count = 1000; }},
  };
  std::map<std::string, std::string> seen;
  for (const auto& [name, change] : changes) {
    KeyInput input;
    change(input);
    const auto [place, is_new] = seen.emplace(input.key(), name);
    EXPECT_TRUE(is_new) << name << " has the key of " << place->second;
    EXPECT_EQ(input.key().size(), 64u);
  }
}

// Plans without rotations in units of length, so that no function of the system's library has a say. If one
// of them changes on purpose, kPlanRules has to be raised: plans that are kept on disk are no longer right.
TEST(PlanKey, KnownPlansHaveNotChanged) {
  struct Known {
    Splitting splitting;
    Unit unit;
    const char* hash;
  };
  const Known plans[] = {
      {Splitting::kNo, Unit::kRadiusM, "58706616bcb63792712dfc347cb19b4a617a3911601ea3cb00eae87ad59bd2d0"},
      {Splitting::kBoundingBox, Unit::kRadiusM,
       "8ffa3d84a6a954b1d4f00295498976618f0d58f83483476e1f798ecfe39888b7"},
      {Splitting::kFull, Unit::kRadiusMm, "9d277858ead8a708454c29f1bf057ae02bc76e0c113d831eb9443548657e460f"},
  };
  const Shape shape{30, 40};
  IntegrationOptions options;
  options.bins = 25;
  for (const Known& known : plans) {
    options.splitting = known.splitting;
    options.unit = known.unit;
    EXPECT_EQ(build_plan(small_geometry(shape), options, {}, {"test", shape}).hash, known.hash)
        << name_of(known.splitting);
  }
  EXPECT_EQ(kPlanRules, 7);  // to be raised together with the hashes above
}

TEST(PlanKey, DoesNotChangeWithNames) {
  KeyInput input;
  const std::string key = input.key();
  input.geometry.source = "elsewhere.poni";
  input.geometry.detector.aliases = {"another name"};
  input.frames.name = "frame_7.cbf";
  input.maps.mask_name = input.maps.dark_name = input.maps.flat_name = "map.edf";
  EXPECT_EQ(input.key(), key);
}

}  // namespace
}  // namespace annulus::testing
