#include <annulus/codecs/lz4_offsets.hpp>
#include <annulus/codecs/lz4_stream.hpp>

#include <gtest/gtest.h>
#include <lz4.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace annulus::testing {
namespace {

using Data = std::vector<std::byte>;

Data compress(const Data& data) {
  Data packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(data.size()))));
  const int size =
      LZ4_compress_default(reinterpret_cast<const char*>(data.data()), reinterpret_cast<char*>(packed.data()),
                           static_cast<int>(data.size()), static_cast<int>(packed.size()));
  packed.resize(static_cast<std::size_t>(size));
  return packed;
}

// What the library makes of a block: its bytes, which may be fewer; nothing at all if it refuses.
struct Outcome {
  bool corrupt = false;
  Data data;
};
Outcome by_library(const Data& packed, std::size_t size) {
  Outcome outcome{false, Data(size)};
  const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                       reinterpret_cast<char*>(outcome.data.data()),
                                       static_cast<int>(packed.size()), static_cast<int>(size));
  outcome.corrupt = made < 0;
  outcome.data.resize(made < 0 ? 0 : static_cast<std::size_t>(made));
  return outcome;
}

Outcome by_stream(const Data& packed, std::size_t size) {
  const auto tight = std::make_unique<std::byte[]>(packed.size());  // for AddressSanitizer
  if (!packed.empty()) std::memcpy(tight.get(), packed.data(), packed.size());
  Lz4Stream stream({tight.get(), packed.size()}, size);
  Outcome outcome;
  while (!stream.complete()) {
    const auto piece = stream.next();
    if (piece.empty()) break;
    outcome.data.insert(outcome.data.end(), piece.begin(), piece.end());
  }
  EXPECT_LE(outcome.data.size(), size);
  outcome.corrupt = stream.corrupt();
  if (outcome.corrupt) outcome.data.clear();
  return outcome;
}

// Offsets of 0 mean nothing. The library takes them and makes anything of them; the stream refuses them.
bool naive_offset_zero(const Data& packed) {
  std::size_t at = 0;
  const auto byte = [&] { return at < packed.size() ? std::to_integer<std::size_t>(packed[at++]) : 0; };
  const auto length = [&](std::size_t length) {
    for (std::size_t more = length == 15 ? 255 : 0; more == 255; length += more) more = byte();
    return length;
  };
  while (at < packed.size()) {
    const std::size_t token = byte();
    at += length(token >> 4);
    if (at + 2 > packed.size()) return false;
    const std::size_t offset = byte() + 256 * byte();
    if (offset == 0) return true;
    length(token & 15);
  }
  return false;
}

// Repeats at every distance up to the largest and beyond, runs, noise.
Data random_data(std::mt19937_64& random, std::size_t size) {
  Data data;
  while (data.size() < size) {
    const std::size_t count = 1 + random() % (random() % 8 == 0 ? 100000 : 60);
    const auto kind = random() % 3;
    const std::size_t distance = 1 + random() % (random() % 2 == 0 ? 20 : 70000);
    for (std::size_t i = 0; i < count && data.size() < size; ++i) {
      data.push_back(kind == 0 || data.size() < distance ? static_cast<std::byte>(random())
                                                         : data[data.size() - distance]);
    }
  }
  return data;
}

TEST(Lz4Stream, MakesWhatTheLibraryMakes) {
  std::mt19937_64 random(81);
  for (int round = 0; round < 60; ++round) {
    const Data data = random_data(random, random() % (round % 2 == 0 ? 400000 : 300));
    const Outcome found = by_stream(compress(data), data.size());
    ASSERT_FALSE(found.corrupt) << "round " << round;
    ASSERT_TRUE(found.data == data) << "round " << round << ", " << data.size() << " bytes";
  }
}

// Sequences as no compressor writes them, with few literals at the end and matches up to it.
struct Sequences {
  Data packed;
  std::size_t size = 0;

  void length(std::size_t left) {
    if (left < 15) return;
    for (left -= 15; left >= 255; left -= 255) packed.push_back(std::byte{255});
    packed.push_back(static_cast<std::byte>(left));
  }
  void literals(std::mt19937_64& random, std::size_t count, std::size_t match) {
    packed.push_back(
        static_cast<std::byte>(std::min<std::size_t>(count, 15) << 4 | std::min<std::size_t>(match, 15)));
    length(count);
    for (std::size_t i = 0; i < count; ++i) packed.push_back(static_cast<std::byte>(random()));
    size += count;
  }
  void match(std::size_t offset, std::size_t match) {
    packed.push_back(static_cast<std::byte>(offset));
    packed.push_back(static_cast<std::byte>(offset >> 8));
    length(match);
    size += match + 4;
  }
};

TEST(Lz4Stream, TakesEveryBlockThatEndsByTheRulesAndNoneThatTheLibraryRefuses) {
  std::mt19937_64 random(83);
  int refused = 0, by_the_rules = 0;
  constexpr int kRounds = 5000;
  for (int round = 0; round < kRounds; ++round) {
    Sequences made;
    std::size_t last_match = 0;
    for (auto left = 1 + random() % 4; left > 0; --left) {
      const std::size_t match = random() % (random() % 4 == 0 ? 400 : 20);
      made.literals(random, (made.size == 0) + random() % (random() % 4 == 0 ? 300 : 20), match);
      last_match = made.size;
      made.match(1 + random() % made.size, match);
    }
    const std::size_t last_literals = random() % 14;
    if (random() % 8 != 0 || last_literals > 4) made.literals(random, last_literals, 0);
    const std::size_t size = made.size + (random() % 4 == 0 ? random() % 14 : 0);
    const Outcome library = by_library(made.packed, size);
    const Outcome found = by_stream(made.packed, size);
    ASSERT_TRUE(found.corrupt || !library.corrupt) << "round " << round << ", " << size << " bytes";
    ASSERT_TRUE(found.corrupt || found.data == library.data) << "round " << round << ", " << size << " bytes";
    if (last_literals >= 5 && made.size - last_match >= 12) {  // the rules
      ASSERT_FALSE(found.corrupt) << "round " << round << ", " << size << " bytes";
      ++by_the_rules;
    }
    refused += found.corrupt;
  }
  EXPECT_GT(refused, kRounds / 10);
  EXPECT_GT(by_the_rules, kRounds / 4);
}

TEST(Lz4Offsets, AZeroIsFoundWhereverTheLibraryLetsItPass) {
  std::mt19937_64 random(83);
  int accepted = 0, with_zero = 0;
  for (int round = 0; round < 20000; ++round) {
    const Data data = random_data(random, 30 + random() % 400);
    Data packed = compress(data);
    const std::size_t at = random() % (packed.size() - 1);
    packed[at] = packed[at + 1] = std::byte{0};
    if (by_library(packed, data.size()).corrupt) continue;
    ++accepted;
    with_zero += naive_offset_zero(packed);
    ASSERT_EQ(has_offset_zero(packed), naive_offset_zero(packed)) << "round " << round;
  }
  EXPECT_GT(with_zero, 200);
  EXPECT_GT(accepted - with_zero, 200);
}

TEST(Lz4Stream, RefusesDamagedBlocksThatTheLibraryRefuses) {
  std::mt19937_64 random(82);
  int corrupt = 0, stricter = 0;
  constexpr int kRounds = 6000;
  for (int round = 0; round < kRounds; ++round) {
    const Data data = random_data(random, 1 + random() % (round % 50 == 0 ? 200000 : 400));
    Data packed = compress(data);
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % packed.size();
      packed[at] = random() % 2 == 0 ? static_cast<std::byte>(random())
                                     : packed[at] ^ static_cast<std::byte>(1 << random() % 8);
    }
    if (random() % 6 == 0) packed.resize(1 + random() % (packed.size() + 9));
    const std::size_t size = random() % 4 == 0 ? 1 + random() % (2 * data.size()) : data.size();
    Outcome expected = by_library(packed, size);
    if (naive_offset_zero(packed)) expected = {true, {}};
    const Outcome found = by_stream(packed, size);
    ASSERT_TRUE(found.corrupt || !expected.corrupt) << "round " << round << ", " << size << " bytes";
    ASSERT_TRUE(found.corrupt || found.data == expected.data)
        << "round " << round << ", " << size << " bytes";
    stricter += found.corrupt && !expected.corrupt;
    corrupt += expected.corrupt;
  }
  EXPECT_GT(corrupt, kRounds / 4);
  EXPECT_LT(corrupt, kRounds * 3 / 4);
  EXPECT_LT(stricter, kRounds / 100);  // ends that no compressor writes
}

}  // namespace
}  // namespace annulus::testing
