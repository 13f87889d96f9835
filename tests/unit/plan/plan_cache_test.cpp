// Plans that are kept on disk: the same plan comes back, and nothing else ever does.
#include <annulus/core/error.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/plan_cache.hpp>
#include <annulus/plan/plan_file.hpp>
#include <annulus/plan/plan_key.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "plan_fixtures.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// As a plan's folder must be, whatever umask the tests run with.
class PrivateFolder : public ScratchFolder {
 public:
  PrivateFolder() {
    ::umask(022);
    fs::permissions(path(), fs::perms::owner_all);
  }
};

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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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

// Whoever can write a file can make its checksums right.
TEST(PlanCache, ForgedPlansWithTheRightChecksumsAreRebuilt) {
  const PrivateFolder folder;
  CacheInput input;
  input.maps.dark = random_map(input.frames.shape, 1);
  const Plan good = input.build();
  const fs::path file = plan_file_in(folder.path(), input.key());
  const auto shift_bins = [&](Plan& plan) {
    std::vector<std::uint32_t> bins(plan.matrix.bin.begin(), plan.matrix.bin.end());
    for (std::uint32_t& bin : bins) bin = (bin + 1) % plan.bins();
    plan.matrix.bin = std::move(bins);
  };
  const auto shift = [](auto& totals) { std::rotate(totals.begin(), totals.end() - 1, totals.end()); };
  struct Forgery {
    const char* reason;
    std::function<void(Plan&)> make;
  };
  const Forgery forgeries[] = {
      {"do not fit each other", shift_bins},
      {"its hash is wrong",
       [&](Plan& p) {
         shift_bins(p);
         shift(p.totals.count);
         shift(p.totals.normalization);
         shift(p.totals.dark);
       }},
      {"its hash is wrong", [](Plan& p) { p.axes[0].centres[3] += 1e-9; }},
      {"its hash is wrong", [](Plan& p) { p.hash.front() = p.hash.front() == '0' ? '1' : '0'; }},
      {"do not fit each other", [](Plan& p) { p.totals.count[5] += 1; }},
      {"do not fit each other", [](Plan& p) { p.totals.normalization[5] += 1; }},
      {"do not fit each other", [](Plan& p) { p.totals.dark[5] += 1; }},
      {"do not fit each other",
       [](Plan& p) {
         std::vector weights(p.matrix.weight.begin(), p.matrix.weight.end());
         p.totals.count[p.matrix.bin[0]] -= weights[0] / 2;
         weights[0] -= weights[0] / 2;
         p.matrix.weight = std::move(weights);
       }},
  };
  for (const auto& [reason, make] : forgeries) {
    Plan forged = good;
    make(forged);
    write_plan_file(file, input.key(), forged);
    expect_replaced(input, folder.path(), reason);
  }
}

bool is_refused(const CachedPlan& cached, const std::string& reason) {
  return !cached.loaded && cached.note.find(reason) != std::string::npos;
}

TEST(PlanCache, FilesThatOthersCanWriteAreNotBelieved) {
  const PrivateFolder folder;
  const CacheInput input;
  input.cached(folder.path());
  const fs::path file = only_file(folder.path());
  for (const mode_t mode : {0664, 0646, 0666, 0622}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    expect_replaced(input, folder.path(), "can be changed by other users");
  }
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  expect_replaced(input, folder.path(), "belongs to another user (number 65534");
}

TEST(PlanCache, FoldersThatOthersCanWriteToAreNotUsed) {
  const PrivateFolder folder;
  const CacheInput input;
  input.cached(folder.path());
  const fs::path file = only_file(folder.path());
  const auto written = fs::last_write_time(file);
  for (const mode_t mode : {0770, 0707, 0777}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    const CachedPlan cached = input.cached(folder.path());
    EXPECT_TRUE(is_refused(cached, "can be changed by other users")) << cached.note;
    EXPECT_THAT(cached.note, HasSubstr(folder.path().string()));
    EXPECT_THAT(cached.note, HasSubstr("chmod go-w"));
    EXPECT_THAT(cached.note, HasSubstr("`plan_cache`"));
    EXPECT_TRUE(cached.plan == input.build());
    EXPECT_EQ(fs::last_write_time(file), written);
  }
  // Where others may add files and not touch ours, ours are good: a folder like /tmp.
  for (const mode_t mode : {0755, 01777}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    EXPECT_TRUE(input.cached(folder.path()).loaded);
  }
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
  EXPECT_TRUE(is_refused(input.cached(folder.path()), "belongs to another user (number 65534"));
}

TEST(PlanCache, WhatItMakesIsForItsUserOnly) {
  const PrivateFolder folder;
  ::umask(0);
  const CacheInput input;
  input.cached(folder.path() / "a" / "b");
  ::umask(022);
  for (const char* made : {"a", "a/b"}) {
    EXPECT_EQ(fs::status(folder.path() / made).permissions(), fs::perms::owner_all) << made;
  }
  EXPECT_EQ(fs::status(only_file(folder.path() / "a" / "b")).permissions() &
                (fs::perms::group_write | fs::perms::others_write),
            fs::perms::none);
  EXPECT_TRUE(input.cached(folder.path() / "a" / "b").loaded);
}

TEST(PlanCache, FolderThatCannotBeWrittenCostsTheFileAndNotThePlan) {
  const PrivateFolder folder;
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
  const PrivateFolder folder;
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
  const PrivateFolder folder;
  const CacheInput input;
  EXPECT_EQ(input.cached(folder.path() / "a" / "b").note, "");
  EXPECT_TRUE(input.cached(folder.path() / "a" / "b").loaded);
}

TEST(PlanCache, ManyAtOnceAllGetTheRightPlan) {
  const PrivateFolder folder;
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
