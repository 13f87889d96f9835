// Copying alone: every offset and length, and memories that answer with what they had clocks ago.
#include <hls/copy_bytes.hpp>

#include <algorithm>
#include <cstring>

#include "../decoder/stages.hpp"
#include "lz4_block.hpp"

namespace blocks_test {
namespace {

using kernels::CopyRow;
using kernels::CopyState;
using kernels::Sequence;

// A block's memory in which a write is seen only so many clocks later; until then nobody knows what its rows
// hold.
class LateMemory {
 public:
  explicit LateMemory(int late) : late_(late) { std::memset(bank_, 0xA5, sizeof(bank_)); }

  CopyRow read(uint32_t at) const { return kernels::read_bytes(bank_, at); }

  void write(const kernels::CopyOut& out) {
    pending_.push_back(out);
    if (pending_.size() == static_cast<size_t>(late_)) {
      kernels::write_rows(bank_, pending_.front());
      pending_.erase(pending_.begin());
    }
    for (kernels::CopyOut unknown : pending_) {
      std::memset(unknown.rows, 0xA5, sizeof(unknown.rows));
      kernels::write_rows(bank_, unknown);
    }
  }
  void settle() {
    for (const kernels::CopyOut& out : pending_) kernels::write_rows(bank_, out);
    pending_.clear();
  }

 private:
  int late_;
  CopyRow bank_[2][kernels::kCopyRows];
  std::vector<kernels::CopyOut> pending_;
};

Sequence make_sequence(const Bytes& literals, uint32_t offset, uint32_t match) {
  Sequence sequence = {};
  std::copy(literals.begin(), literals.end(), sequence.literal);
  sequence.literals = static_cast<uint8_t>(literals.size());
  sequence.offset = static_cast<uint16_t>(offset);
  sequence.match = static_cast<uint16_t>(match);
  return sequence;
}

// As decode_blocks does it; a write is visible `late` clocks after it was made.
Bytes copy_all(const std::vector<Sequence>& sequences, size_t size, int late, uint32_t* clocks = nullptr) {
  LateMemory memory(late);
  CopyState state;
  std::memset(state.window, 0x5A, sizeof(state.window));
  for (Sequence sequence : sequences) {
    state.match = sequence.match;
    state.offset = sequence.offset;
    do {
      memory.write(kernels::copy_step(state, sequence, memory.read(state.position - state.offset)));
      sequence.literals = 0;
      if (clocks != nullptr) ++*clocks;
    } while (state.match > 0);
  }
  memory.settle();
  EXPECT_EQ(state.position, size);
  Bytes bytes;
  for (uint32_t at = 0; at < size; at += kernels::kCopyBytes) {
    const CopyRow row = memory.read(at);
    bytes.insert(bytes.end(), row.byte, row.byte + std::min<size_t>(kernels::kCopyBytes, size - at));
  }
  return bytes;
}

// What a sequence asks for, byte by byte.
void append_naively(Bytes& bytes, const Sequence& sequence) {
  bytes.insert(bytes.end(), sequence.literal, sequence.literal + sequence.literals);
  for (uint32_t i = 0; i < sequence.match; ++i) bytes.push_back(bytes.at(bytes.size() - sequence.offset));
}

TEST(CopyBytes, EveryOffsetAtEveryPlaceInARow) {
  std::mt19937 random(1);
  for (uint32_t offset = 1; offset <= 200; ++offset) {
    for (uint32_t place = 0; place < 16; ++place) {
      std::vector<Sequence> sequences;
      Bytes expected;
      const auto add = [&](const Sequence& sequence) {
        sequences.push_back(sequence);
        append_naively(expected, sequence);
      };
      while (expected.size() < offset) add(make_sequence(random_bytes(16, random), 0, 0));
      add(make_sequence(random_bytes(place, random), 0, 0));
      for (const uint32_t match : {4u, 5u, 15u, 16u, 17u, 33u, 100u, offset, 3 * offset}) {
        add(make_sequence(random_bytes(random() % 3, random), offset, std::max(match, 4u)));
      }
      ASSERT_EQ(copy_all(sequences, expected.size(), kernels::kCopyDistance), expected)
          << "offset " << offset << ", place " << place;
    }
  }
}

TEST(CopyBytes, NothingIsReadBeforeTheMemoryHasIt) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Sequence> sequences;
    Bytes expected;
    while (expected.size() < 8000) {
      // Most often as near as the memory is asked at all.
      const uint32_t near = kernels::kCopyWindow - 8 + static_cast<uint32_t>(random()) % 48;
      const auto literals = random_bytes(random() % 4 == 0 ? random() % 17 : 0, random);
      const auto room = static_cast<uint32_t>(expected.size() + literals.size());
      const uint32_t offset = room == 0 ? 0 : near < room ? near : 1 + static_cast<uint32_t>(random()) % room;
      const uint32_t match = offset == 0 ? 0 : 4 + static_cast<uint32_t>(random()) % 40;
      sequences.push_back(make_sequence(literals, offset, match));
      append_naively(expected, sequences.back());
    }
    for (int late = 1; late <= kernels::kCopyDistance; ++late) {
      ASSERT_EQ(copy_all(sequences, expected.size(), late), expected)
          << "round " << round << ", " << late << " late";
    }
    if (round > 60 && round % 100 != 0) round += 90;
  }
}

TEST(CopyBytes, ADistanceOneLargerWouldBeTooMuch) {
  std::mt19937 random(3);
  Bytes expected;
  std::vector<Sequence> sequences;
  const auto add = [&](const Sequence& sequence) {
    sequences.push_back(sequence);
    append_naively(expected, sequence);
  };
  for (int i = 0; i < 4; ++i) add(make_sequence(random_bytes(16, random), 0, 0));
  add(make_sequence(random_bytes(2, random), 0, 0));
  for (int i = 0; i < 20; ++i) add(make_sequence({}, kernels::kCopyWindow + 1, 16));
  EXPECT_EQ(copy_all(sequences, expected.size(), kernels::kCopyDistance), expected);
  EXPECT_NE(copy_all(sequences, expected.size(), kernels::kCopyDistance + 1), expected);
}

TEST(CopyBytes, SixteenBytesAClockAlsoOfPatternsOfOneByte) {
  for (uint32_t offset = 1; offset <= 16; ++offset) {
    uint32_t clocks = 0;
    const std::vector<Sequence> sequences = {make_sequence(Bytes(16, 7), offset, 4096)};
    copy_all(sequences, 16 + 4096, 1, &clocks);
    EXPECT_EQ(clocks, 1 + 4096 / 16u) << offset;
  }
}

TEST(RemainderOf, IsThatOfADivision) {
  for (uint32_t offset = 1; offset < kernels::kCopyBytes; ++offset) {
    for (uint32_t i = 0; i < kernels::kCopyBytes; ++i)
      EXPECT_EQ(kernels::remainder_of(i, offset), i % offset);
  }
}

}  // namespace
}  // namespace blocks_test
