#include <annulus/sources/column_stream.hpp>
#include <annulus/sources/dealt_blocks.hpp>
#include <annulus/sources/file_stream.hpp>
#include <annulus/sources/writers.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "drain.hpp"
#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Gives blocks that were decided before, and says how many it gave.
class ListDealer final : public FrameDealer {
 public:
  explicit ListDealer(std::vector<FrameRange> blocks) : blocks_(std::move(blocks)) {}
  std::optional<FrameRange> next() override {
    if (given == blocks_.size()) return std::nullopt;
    return blocks_[given++];
  }
  std::atomic<std::size_t> given = 0;

 private:
  std::vector<FrameRange> blocks_;
};

class FailingDealer final : public FrameDealer {
 public:
  std::optional<FrameRange> next() override {
    if (std::exchange(given_, true)) throw Error(ErrorKind::kBackend, "node 3", "is gone");
    return FrameRange{1, 3};
  }

 private:
  bool given_ = false;
};

// What a stream says of a place of the scan.
struct Seen {
  std::string source;
  std::uint64_t in_source;
  bool good;
  bool operator==(const Seen&) const = default;
};

std::map<std::uint64_t, Seen> drain(FrameStream& stream) {
  std::map<std::uint64_t, Seen> seen;
  std::uint64_t index = 0;
  while (const auto item = next_item(stream)) {
    EXPECT_EQ(item->id.index, index++);
    const auto place = place_in_scan(item->id);
    if (!place) {
      ADD_FAILURE() << "a place is not known";
      continue;
    }
    EXPECT_TRUE(
        seen.emplace(*place, Seen{item->id.source, item->id.in_source, item->frame.has_value()}).second);
  }
  return seen;
}

constexpr Shape kShape{2, 3};

std::string raw_frames(std::size_t count) { return std::string(count * kShape.size() * 4, '\1'); }

std::string cbf(const ScratchFolder& folder, std::size_t number) {
  const std::string path = folder.file("image_" + std::to_string(number) + ".cbf");
  write_cbf(path, kShape, std::vector<std::int32_t>(kShape.size(), 7));
  return path;
}

FileStreamSettings raw_settings(unsigned threads) {
  FileStreamSettings settings;
  settings.open.raw_shape = kShape;
  settings.threads = threads;
  return settings;
}

// Deals [0, places) and more, in blocks of random sizes, some of them empty.
std::vector<std::vector<FrameRange>> random_deal(std::mt19937& random, std::size_t ranks,
                                                 std::uint64_t places, std::uint64_t largest) {
  std::vector<std::vector<FrameRange>> hands(ranks);
  for (std::uint64_t first = 0; first < places + 20;) {
    const std::uint64_t end = first + random() % (largest + 1);
    hands[random() % ranks].push_back({first, end});
    first = end;
  }
  return hands;
}

TEST(SharedStream, EveryFrameIsOneProcesssAndKeepsItsPlace) {
  std::mt19937 random(1);
  for (int round = 0; round < 12; ++round) {
    const ScratchFolder folder;
    // Only files that hold one frame may be missing, be it by their name: the length of others is not known
    // then.
    const bool stacks = round % 3 != 0;
    std::vector<std::string> urls{folder.write("first.raw", raw_frames(1))};
    for (std::size_t i = 0; i < 25; ++i) {
      const unsigned kind = random() % 4;
      if (kind == 0) {
        urls.push_back(cbf(folder, i));
      } else if (kind == 1) {
        urls.push_back(
            folder.file("missing_" + std::to_string(i) + (stacks || i % 2 == 0 ? ".cbf" : ".raw")));
      } else if (kind == 2) {
        urls.push_back(folder.write("broken_" + std::to_string(i) + ".cbf", "###CBF: no image"));
      } else {
        urls.push_back(
            folder.write("stack_" + std::to_string(i) + ".raw", raw_frames(stacks ? random() % 6 : 1)));
      }
    }
    std::erase_if(urls, [](const std::string& url) {
      return std::filesystem::exists(url) && std::filesystem::file_size(url) == 0;
    });
    FileStream whole(urls, raw_settings(2));
    const auto expected = drain(whole);
    ASSERT_GT(expected.size(), 15u);
    for (const std::size_t ranks : {1u, 2u, 5u}) {
      const auto hands = random_deal(random, ranks, expected.size(), 1 + random() % 7);
      const bool resumes = random() % 2 == 0;
      // Of a file that cannot be read its only frame is known, or nothing.
      const auto is_known = [&](const FrameId& id) {
        const bool there =
            std::filesystem::exists(id.source) && id.source.find("broken") == std::string::npos;
        return (id.source.size() + id.source[id.source.size() - 5] + (there ? id.in_source : 0)) % 3 == 0;
      };
      std::map<std::uint64_t, Seen> together;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        FileStream stream(urls, raw_settings(1 + random() % 3));
        stream.info({});
        if (resumes) stream.leave_out(is_known);
        stream.share(std::make_shared<ListDealer>(hands[rank]));
        for (const auto& [place, seen] : drain(stream)) {
          const auto holds = [place = place](const FrameRange& block) {
            return block.first <= place && place < block.end;
          };
          EXPECT_EQ(std::ranges::count_if(hands[rank], holds), 1) << place;
          EXPECT_TRUE(together.emplace(place, seen).second) << place;
        }
      }
      if (!resumes) {
        EXPECT_EQ(together, expected);
        continue;
      }
      for (const auto& [place, seen] : expected) {
        const bool known = is_known({0, seen.source, seen.in_source});
        EXPECT_EQ(together.contains(place), !known) << place;
        if (!known) {
          EXPECT_EQ(together.at(place), seen);
        }
      }
    }
  }
}

TEST(SharedStream, FilesThatHoldOneFrameOfOthersAreNotOpened) {
  const ScratchFolder folder;
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < 40; ++i) urls.push_back(cbf(folder, i));
  std::mutex mutex;
  std::set<std::string> opened;
  FileStreamSettings settings = raw_settings(3);
  settings.check_file = [&](const FrameSource&, const std::string& url) {
    const std::lock_guard lock(mutex);
    opened.insert(url);
  };
  FileStream stream(urls, settings);
  stream.info({});
  stream.share(std::make_shared<ListDealer>(std::vector<FrameRange>{{3, 5}, {20, 23}, {39, 50}}));
  EXPECT_EQ(drain(stream).size(), 6u);
  EXPECT_THAT(opened, ElementsAre(urls[20], urls[21], urls[22], urls[3], urls[39], urls[4]));
  EXPECT_EQ(stream.left_out(), 0u);  // nothing was known
  EXPECT_EQ(stream.expected(), 0u);
}

// Who is slow must not have many frames that others could reduce.
TEST(SharedStream, AsksForABlockWhenThereIsOneLeftToDo) {
  const ScratchFolder folder;
  const auto dealer = std::make_shared<ListDealer>(
      std::vector<FrameRange>{{0, 4}, {10, 14}, {20, 22}, {30, 31}, {40, 41}, {50, 60}});
  FileStream stream({folder.write("stack.raw", raw_frames(60))}, raw_settings(2));
  stream.info({});
  stream.share(dealer);
  const auto given_in_the_end = [&](std::size_t most) {
    for (int i = 0; i < 100 && dealer->given < most; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return dealer->given.load();
  };
  std::vector<Frame> held;
  const auto take = [&](std::size_t count) {
    while (held.size() < count) {
      const auto item = next_item(stream);
      if (!item || !item->frame) return;
      held.push_back(*item->frame);
    }
  };
  take(8);
  EXPECT_EQ(given_in_the_end(3), 2u);  // none of the first two blocks is done
  held.erase(held.begin(), held.begin() + 3);
  EXPECT_EQ(given_in_the_end(3), 2u);  // five are left, the last block had four
  held.erase(held.begin());
  EXPECT_EQ(given_in_the_end(3), 3u);
  // Nothing more comes as long as the frames are held: the stream says so, that they may be passed on.
  take(6);
  const auto item = stream.next({});
  ASSERT_TRUE(item);
  EXPECT_TRUE(std::holds_alternative<Pause>(*item));
  held.clear();
  EXPECT_GE(given_in_the_end(5), 5u);
  std::size_t rest = 0;
  while (next_item(stream)) ++rest;
  EXPECT_EQ(rest, 12u);
}

// A file of the next block cannot be opened before the block is given: nothing else says that ours are done.
TEST(SharedStream, SaysThatItWaitsForABlockAlsoBetweenFiles) {
  const ScratchFolder folder;
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < 12; ++i) urls.push_back(cbf(folder, i));
  FileStream stream(urls, raw_settings(1));
  stream.info({});
  stream.share(std::make_shared<ListDealer>(std::vector<FrameRange>{{0, 4}, {4, 6}, {6, 7}, {7, 12}}));
  std::vector<Frame> held;
  std::size_t frames = 0;
  std::size_t pauses = 0;
  while (const auto item = stream.next({})) {
    if (const auto* frame = std::get_if<Frame>(&*item)) {
      held.push_back(*frame);
      ++frames;
    } else {
      held.clear();
      ++pauses;
    }
  }
  EXPECT_EQ(frames, urls.size());
  EXPECT_GT(pauses, 0u);
}

TEST(SharedStream, ADealerThatFailsEndsTheStream) {
  const ScratchFolder folder;
  FileStream stream({folder.write("stack.raw", raw_frames(9))}, raw_settings(2));
  stream.info({});
  stream.share(std::make_shared<FailingDealer>());
  const auto drain_all = [&] {
    for (std::size_t i = 1; next_item(stream); ++i) EXPECT_LT(i, 3u);
  };
  EXPECT_THAT(message_of(ErrorKind::kBackend, drain_all), HasSubstr("node 3"));
}

// Never a wrong place.
TEST(SharedStream, BehindAFileOfUnknownLengthPlacesAreAnError) {
  const ScratchFolder folder;
  const std::vector<std::string> urls{folder.write("a.raw", raw_frames(3)), folder.file("missing.h5"),
                                      folder.write("b.raw", raw_frames(3))};
  FileStream stream(urls, raw_settings(1));
  stream.info({});
  stream.share(std::make_shared<ListDealer>(std::vector<FrameRange>{{2, 6}}));
  EXPECT_EQ(next_item(stream)->id.in_source, 2u);
  EXPECT_TRUE(next_item(stream)->fault);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { next_item(stream); }),
              ::testing::AllOf(HasSubstr("missing.h5"), HasSubstr("how many frames")));
  // Those before it are right, whoever reduces them.
  FileStream before(urls, raw_settings(1));
  before.info({});
  before.share(std::make_shared<ListDealer>(std::vector<FrameRange>{{0, 4}}));
  EXPECT_EQ(drain(before).size(), 4u);
}

TEST(SharedStream, AStackCannotCallItselfCbf) {
  const ScratchFolder folder;
  const std::string stack = folder.write("stack.cbf", raw_frames(3));
  FileStream first({stack}, raw_settings(1));
  first.info({});
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [&] { first.share(std::make_shared<ListDealer>(std::vector<FrameRange>{})); }),
              HasSubstr("holds 3 frames"));
  FileStream later({folder.write("a.raw", raw_frames(1)), stack, folder.write("b.raw", raw_frames(1))},
                   raw_settings(1));
  later.info({});
  later.share(std::make_shared<ListDealer>(std::vector<FrameRange>{{0, 9}}));
  const auto seen = drain(later);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_FALSE(seen.at(1).good);
  EXPECT_TRUE(seen.at(2).good);
}

TEST(SharedStream, WhatComesInNoOrderCannotBeShared) {
  const ScratchFolder folder;
  FileStreamSettings settings = raw_settings(1);
  settings.open.follow = 1;
  FileStream followed({folder.write("a.raw", raw_frames(1))}, settings);
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { followed.share(nullptr); }), HasSubstr("`follow`"));
  Frame frame;
  frame.shape = kShape;
  const auto memory = stream_memory({frame});
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { memory->share(nullptr); }), HasSubstr("cannot be shared"));
}

TEST(SharedStream, TablesGiveTheRowOfThePlace) {
  const ScratchFolder folder;
  std::string table = "x\n";
  for (int i = 0; i < 12; ++i) table += std::to_string(100 + i) + "\n";
  ColumnSettings columns;
  columns.columns.push_back(parse_column("x=" + folder.write("table.csv", table) + "#x", "column"));
  ColumnStream stream(stream_files({folder.write("stack.raw", raw_frames(12))}, raw_settings(2)), columns);
  stream.info({});
  stream.share(std::make_shared<ListDealer>(std::vector<FrameRange>{{2, 4}, {9, 11}}));
  std::vector<double> values;
  while (const auto item = next_item(stream)) values.push_back(item->frame->point.at(0));
  EXPECT_THAT(values, ElementsAre(102, 103, 109, 110));
  EXPECT_TRUE(stream.take_remarks().empty());  // the last place of ours is not the end of the scan
}

TEST(DealtBlocks, RefusesBlocksThatGoBack) {
  DealtBlocks blocks(std::make_shared<ListDealer>(std::vector<FrameRange>{}));
  blocks.take(FrameRange{4, 8});
  EXPECT_EQ(blocks.owner_of(3), DealtBlocks::Owner::kOthers);
  EXPECT_EQ(blocks.owner_of(7), DealtBlocks::Owner::kUs);
  EXPECT_EQ(blocks.owner_of(8), DealtBlocks::Owner::kNotKnownYet);
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { blocks.take(FrameRange{7, 9}); }), HasSubstr("7 to 9"));
  blocks.take(std::nullopt);
  EXPECT_EQ(blocks.owner_of(8), DealtBlocks::Owner::kOthers);
}

}  // namespace
}  // namespace annulus::testing
