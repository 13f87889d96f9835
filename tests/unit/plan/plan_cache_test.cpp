// Plans that are kept on disk: the same plan comes back, and nothing else ever does.
#include <annulus/core/error.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/plan_cache.hpp>
#include <annulus/plan/plan_file.hpp>
#include <annulus/plan/plan_key.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "plan_fixtures.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct CacheInput {
  Geometry geometry;
  IntegrationOptions options;
  PixelMaps maps;
  FrameProperties frames;

  explicit CacheInput(Shape shape = {60, 50}) : geometry(small_geometry(shape)), frames{"test", shape} {
    options.bins = 40;
  }

  Plan build() const { return build_plan(geometry, options, maps, frames, 2); }
  std::string key() const { return plan_key(geometry, options, maps, frames); }
  CachedPlan cached(const fs::path& folder) const {
    return cached_plan(folder, geometry, options, maps, frames, 2);
  }
};

Image<double> random_map(Shape shape, unsigned seed) {
  std::mt19937_64 random(seed);
  Image<double> map{shape, std::vector<double>(shape.size())};
  for (double& value : map.pixels) value = std::uniform_real_distribution<double>(0.5, 1.5)(random);
  return map;
}

fs::path only_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? fs::path() : files.front();
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PlanCache, LoadedPlanEqualsTheBuiltOneFieldByField) {
  const ScratchFolder folder;
  std::size_t kept = 0;
  for (const Splitting splitting : {Splitting::kNo, Splitting::kBoundingBox, Splitting::kFull}) {
    for (const bool dark : {false, true}) {
      CacheInput input;
      input.options.splitting = splitting;
      input.options.polarization = 0.9;
      if (dark) input.maps.dark = random_map(input.frames.shape, 1);
      const CachedPlan first = input.cached(folder.path()), second = input.cached(folder.path());
      EXPECT_FALSE(first.loaded);
      EXPECT_TRUE(second.loaded);
      EXPECT_EQ(first.note + second.note, "");
      EXPECT_TRUE(first.plan == input.build());
      EXPECT_TRUE(second.plan == input.build()) << name_of(splitting) << " " << dark;
      EXPECT_EQ(second.plan.hash.size(), 64u);
      ++kept;
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()),
            static_cast<std::ptrdiff_t>(kept));
}

TEST(PlanCache, RandomPlansComeBackUnchanged) {
  const ScratchFolder folder;
  std::mt19937_64 random(6);
  int built = 0;
  for (int round = 0; round < 60; ++round) {
    CacheInput input(
        {1 + static_cast<std::uint32_t>(random() % 40), 1 + static_cast<std::uint32_t>(random() % 40)});
    input.geometry = random_geometry(random, input.frames.shape);
    input.options = random_options(random);
    try {
      const CachedPlan first = input.cached(folder.path()), second = input.cached(folder.path());
      EXPECT_TRUE(second.loaded && first.plan == second.plan) << round;
      ++built;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kPlan) << error.what();  // a window that misses the detector
    }
  }
  EXPECT_GT(built, 40);
}

TEST(PlanCache, NamesThatOnlyMessagesUseDoNotCount) {
  const ScratchFolder folder;
  CacheInput input;
  input.cached(folder.path());
  input.geometry.source = "moved.poni";
  input.frames.name = "another_scan.cbf";
  input.maps.mask_name = "other.edf";
  const CachedPlan again = input.cached(folder.path());
  EXPECT_TRUE(again.loaded);
  EXPECT_EQ(again.plan.geometry.source, "moved.poni");
}

TEST(PlanCache, OptionsThatMakeNoSenseAreRefusedAsByBuildPlan) {
  const ScratchFolder folder;
  CacheInput input;
  input.options.bins = 0;
  EXPECT_THROW(input.cached(folder.path()), Error);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// Every way in which a file can be wrong: a note that says so, the right plan, and a good file in its place.
void expect_replaced(const CacheInput& input, const fs::path& folder, const std::string& reason) {
  const CachedPlan cached = input.cached(folder);
  EXPECT_FALSE(cached.loaded) << reason;
  EXPECT_THAT(cached.note, HasSubstr(reason));
  EXPECT_THAT(cached.note, HasSubstr("built anew"));
  EXPECT_TRUE(cached.plan == input.build());
  const CachedPlan next = input.cached(folder);
  EXPECT_TRUE(next.loaded) << reason;
  EXPECT_EQ(next.note, "");
}

TEST(PlanCache, DamagedFilesAreNoticedAndReplaced) {
  const ScratchFolder folder;
  const CacheInput input;
  input.cached(folder.path());
  const fs::path file = only_file(folder.path());
  const std::string good = content_of(file);
  const auto put = [&](const std::string& content) { folder.write(file.filename().string(), content); };

  put("");
  expect_replaced(input, folder.path(), "less than a header");
  put(good.substr(0, 255));
  expect_replaced(input, folder.path(), "less than a header");
  for (const std::size_t size : {std::size_t{320}, good.size() / 2, good.size() - 64, good.size() - 1}) {
    put(good.substr(0, size));
    expect_replaced(input, folder.path(), "do not hold its arrays");
  }
  put(good + std::string(64, '\0'));
  expect_replaced(input, folder.path(), "do not hold its arrays");
  put(std::string(good.size(), '\0'));
  expect_replaced(input, folder.path(), "no plan that annulus wrote");
  put("P" + good.substr(1));
  expect_replaced(input, folder.path(), "no plan that annulus wrote");
  std::string other_version = good;
  other_version[8] = 99;
  put(other_version);
  expect_replaced(input, folder.path(), "format 99");
}

TEST(PlanCache, EverySingleFlippedByteIsNoticed) {
  const ScratchFolder folder;
  CacheInput input({5, 4});
  input.options.bins = 3;
  input.cached(folder.path());
  const fs::path file = only_file(folder.path());
  const std::string good = content_of(file), key = input.key();
  ASSERT_LT(good.size(), 4096u);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    folder.write(file.filename().string(), bad);
    Plan plan = begin_plan(input.geometry, input.options, input.frames);
    EXPECT_THROW(read_plan_file(file, key, plan), Error) << "byte " << i;
  }
}

TEST(PlanCache, PlanOfOtherOptionsUnderThisNameIsNotTaken) {
  const ScratchFolder folder;
  CacheInput input, other;
  other.options.bins = 41;
  input.cached(folder.path());
  const fs::path file = only_file(folder.path());
  other.cached(folder.path());
  fs::copy_file(plan_file_in(folder.path(), other.key()), file, fs::copy_options::overwrite_existing);
  expect_replaced(input, folder.path(), "other options");
}

// With a checksum that is right: the file is as it was written, but by somebody who meant harm.
TEST(PlanCache, IndicesOutOfBoundsAreRefusedWhateverTheChecksumSays) {
  const ScratchFolder folder;
  const CacheInput input;
  const Plan good = input.build();
  const fs::path file = plan_file_in(folder.path(), input.key());
  const auto changed = [](const auto& array, std::size_t i, auto value) {
    std::vector values(array.begin(), array.end());
    values.at(i) = value;
    return values;
  };
  const std::vector<std::function<void(Plan&)>> crimes = {
      [&](Plan& p) { p.matrix.bin = changed(p.matrix.bin, 7, 40u); },
      [&](Plan& p) { p.matrix.first = changed(p.matrix.first, 9, 0xffffffffu); },
      [&](Plan& p) { p.matrix.first = changed(p.matrix.first, 9, p.matrix.first[8] - 1); },
      [&](Plan& p) { p.matrix.first = changed(p.matrix.first, 0, 1u); },
      [&](Plan& p) {
        p.matrix.first = changed(p.matrix.first, p.pixels(), static_cast<unsigned>(p.matrix.bin.size() + 1));
      },
      [&](Plan& p) { p.matrix.weight = changed(p.matrix.weight, 3, (1u << p.weight_bits) + 1); },
      [&](Plan& p) { p.matrix.weight = std::vector<std::uint32_t>(p.matrix.bin.size() - 1); },
      [&](Plan& p) { p.normalization = std::vector<std::int32_t>(p.pixels() - 1); },
      [&](Plan& p) { p.dark = std::vector<std::int32_t>(p.pixels()); },
      [&](Plan& p) { p.totals.count.pop_back(); },
      [&](Plan& p) { p.axes[0].centres.pop_back(); },
      [&](Plan& p) { p.axes[0].edges.pop_back(); },
      [&](Plan& p) { p.weight_bits = 60; },
      [&](Plan& p) { p.weight_bits = 11; },
      [&](Plan& p) { p.variance_bits = 47; },
  };
  for (std::size_t i = 0; i < crimes.size(); ++i) {
    Plan bad = good;
    crimes[i](bad);
    write_plan_file(file, input.key(), bad);
    Plan plan = begin_plan(input.geometry, input.options, input.frames);
    EXPECT_THROW(read_plan_file(file, input.key(), plan), Error) << "crime " << i;
  }
}

TEST(PlanCache, FolderThatCannotBeWrittenCostsTheFileAndNotThePlan) {
  const ScratchFolder folder;
  folder.write("plain", "");
  const CacheInput input;
  for (const char* place : {"plain", "plain/below"}) {
    const CachedPlan cached = input.cached(folder.path() / place);
    EXPECT_TRUE(cached.plan == input.build());
    EXPECT_FALSE(cached.loaded);
    EXPECT_THAT(cached.note, HasSubstr((folder.path() / place).string()));
  }
}

TEST(PlanCache, FullDiskLeavesNoFile) {
  const ScratchFolder folder;
  const CacheInput input;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const CachedPlan cached = input.cached(folder.path());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(cached.plan == input.build());
  EXPECT_THAT(cached.note, HasSubstr("cannot be written"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PlanCache, FolderIsMadeIfNeedBe) {
  const ScratchFolder folder;
  const CacheInput input;
  EXPECT_EQ(input.cached(folder.path() / "a" / "b").note, "");
  EXPECT_TRUE(input.cached(folder.path() / "a" / "b").loaded);
}

TEST(PlanCache, ManyAtOnceAllGetTheRightPlan) {
  const ScratchFolder folder;
  const CacheInput input;
  const Plan expected = input.build();
  std::atomic<int> loaded = 0;
  {
    std::vector<std::jthread> users;
    for (int user = 0; user < 8; ++user) {
      users.emplace_back([&, user] {
        for (int round = 0; round < 20; ++round) {
          // Now and then somebody clears the folder under the others.
          if (user == 0 && round % 5 == 4) fs::remove(plan_file_in(folder.path(), input.key()));
          const CachedPlan cached = input.cached(folder.path());
          loaded += cached.loaded;
          EXPECT_EQ(cached.note, "");
          EXPECT_TRUE(cached.plan == expected);
        }
      });
    }
  }
  EXPECT_GT(loaded, 0);
  only_file(folder.path());
}

}  // namespace
}  // namespace annulus::testing
