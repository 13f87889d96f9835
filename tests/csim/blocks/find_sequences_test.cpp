// Parsing alone: every class of lengths at every place, and how many clocks it takes.
#include <hls/find_sequences.hpp>

#include "../decoder/stages.hpp"
#include "lz4_block.hpp"

namespace blocks_test {
namespace {

using namespace decoder_test;
using kernels::BlockWord;
using kernels::Sequence;

void feed_block(hls::stream<BlockWord>& words, const Bytes& bytes, const kernels::BlockInfo& info) {
  size_t at = 0;
  do {
    BlockWord word;
    word.count = static_cast<uint8_t>(std::min<size_t>(bytes.size() - at, kernels::kWordBytes));
    for (size_t i = 0; i < kernels::kWordBytes; ++i) word.byte[i] = i < word.count ? bytes[at + i] : 0xFF;
    at += word.count;
    word.last = at == bytes.size();
    word.info = info;
    words.write(word);
  } while (at < bytes.size());
}

struct Parsed {
  uint32_t status = kernels::kGood;
  Bytes decoded;
  uint64_t clocks = 0;
};

// All sequences of one block between two of literals, put together byte by byte.
Parsed parse(const Bytes& bytes, uint32_t size) {
  hls::stream<BlockWord> words("words");
  hls::stream<Sequence> sequences("sequences");
  Lz4Writer other;
  other.finish(Bytes(40, 9));
  feed_block(words, other.bytes, {1, kernels::kGood, 40, kernels::kShuffled});
  feed_block(words, bytes, {2, kernels::kGood, static_cast<uint16_t>(size), kernels::kShuffled});
  feed_block(words, Bytes(20, 8), {3, kernels::kGood, 20, kernels::kStored});
  feed_block(words, {}, {0, kernels::kGood, 0, kernels::kNoMore});
  Parsed blocks[4];
  blocks[1].clocks = iterations_of([&] { kernels::find_sequences(words, sequences); });
  EXPECT_TRUE(is_empty(words));
  size_t block = 0;
  for (const Sequence& sequence : drain(sequences)) {
    if (block >= 4) {
      ADD_FAILURE() << "a sequence after the last block";
      break;
    }
    Bytes& decoded = blocks[block].decoded;
    decoded.insert(decoded.end(), sequence.literal, sequence.literal + sequence.literals);
    for (uint32_t i = 0; i < sequence.match; ++i)
      decoded.push_back(decoded.at(decoded.size() - sequence.offset));
    if (!sequence.last) continue;
    blocks[block].status = sequence.info.status;
    EXPECT_EQ(sequence.info.byte, (block + 1) % 4);
    ++block;
  }
  EXPECT_EQ(block, 4u);
  EXPECT_EQ(blocks[0].decoded, Bytes(40, 9));
  EXPECT_EQ(blocks[2].decoded, Bytes(20, 8));
  EXPECT_TRUE(blocks[3].decoded.empty());
  return blocks[1];
}

void expect_good(const Lz4Writer& writer, const std::string& what) {
  const auto size = static_cast<uint32_t>(writer.decoded.size());
  ASSERT_EQ(decode_by_library(writer.bytes, size), writer.decoded) << what;
  const Parsed got = parse(writer.bytes, size);
  ASSERT_EQ(got.status, kernels::kGood) << what;
  ASSERT_EQ(got.decoded, writer.decoded) << what;
}

TEST(FindSequences, EveryNumberOfLiteralsAndEveryLengthOfAMatch) {
  std::mt19937 random(1);
  const auto is_worth = [](uint32_t n) {
    return n < 40 || (n > 260 && n < 300) || (n > 520 && n < 540) || n % 97 == 0;
  };
  for (uint32_t literals = 0; literals < 1100; ++literals) {
    if (!is_worth(literals)) continue;
    for (uint32_t match = 4; match < 1100; ++match) {
      if (!is_worth(match) || (literals > 40 && match > 60)) continue;
      Lz4Writer writer;
      writer.add_sequence(random_bytes(1 + random() % 16, random), 1, 4);
      writer.add_sequence(random_bytes(literals, random), 5, match);
      writer.add_sequence(random_bytes(random() % 20, random), 2, 4 + random() % 30);
      writer.finish(random_bytes(12, random));
      ASSERT_NO_FATAL_FAILURE(
          expect_good(writer, std::to_string(literals) + " literals, match of " + std::to_string(match)));
    }
  }
}

TEST(FindSequences, EveryNumberOfLastLiterals) {
  std::mt19937 random(2);
  for (uint32_t literals = 1; literals < 8192; literals += literals < 600 ? 1 : 251) {
    Lz4Writer alone;
    alone.finish(random_bytes(literals, random));
    ASSERT_NO_FATAL_FAILURE(expect_good(alone, std::to_string(literals) + " alone"));
    if (literals < 5 || literals > 8000) continue;
    Lz4Writer after;
    after.add_sequence(random_bytes(1 + random() % 30, random), 1, 8 + random() % 300);
    after.finish(random_bytes(literals, random));
    ASSERT_NO_FATAL_FAILURE(expect_good(after, std::to_string(literals) + " after a match"));
  }
}

TEST(FindSequences, AShortSequenceTakesOneClock) {
  for (uint32_t literals = 0; literals <= 13; ++literals) {
    Lz4Writer writer;
    writer.add_sequence({1}, 1, 4);
    for (int i = 0; i < 100; ++i) writer.add_sequence(Bytes(literals, 3), 2, 4 + i % 15);
    writer.finish(Bytes(12, 4));
    const Parsed got = parse(writer.bytes, static_cast<uint32_t>(writer.decoded.size()));
    ASSERT_EQ(got.decoded, writer.decoded);
    // Words to begin with, the last sequence, and the other blocks: literals of 16 a clock.
    EXPECT_LE(got.clocks, 1 + 100 + 1 + 20u) << literals << " literals";
  }
}

TEST(FindSequences, EveryBlockCutAtEveryByteIsRefusedAsSeriallyAndTheNextIsRight) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    const uint32_t size = 64 + static_cast<uint32_t>(random()) % 200;
    const Bytes whole = random_block(size, random).bytes;
    for (size_t length = 0; length < whole.size(); ++length) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_EQ(parse(cut, size).status, decode_block_serially(cut, size).status)
          << length << " of " << whole.size();
    }
  }
}

}  // namespace
}  // namespace blocks_test
