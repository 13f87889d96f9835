// An LZ4 block in pieces. The LZ4 library decodes a block as a whole, and HDF5's LZ4 filter makes one block
// of a whole frame unless told otherwise: it would be written to memory and read again. This decoder keeps
// the 64 KiB that matches may reach back to, and no more. It refuses what the library refuses, and ends
// and offsets that are against LZ4's rules but that the library lets pass.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace annulus {

class Lz4Stream {
 public:
  // Of a block that decodes to `size` bytes.
  Lz4Stream(std::span<const std::byte> packed, std::size_t size);

  // The next bytes, valid until it is called again. Empty where the block is corrupt or ends early.
  std::span<const std::byte> next();

  bool corrupt() const { return corrupt_; }
  std::size_t size() const { return size_; }
  std::size_t made() const { return made_; }  // bytes so far
  bool complete() const { return made_ == size_; }

 private:
  void copy_short_sequences(const std::byte* stop);
  bool begin_sequence();
  bool begin_match();
  bool read_length(std::size_t& length);
  void copy_literals(std::size_t room);
  void copy_match(std::size_t room);

  const std::byte* at_;
  const std::byte* end_;
  std::size_t size_;
  std::size_t made_ = 0;

  // What is left of the sequence at hand.
  std::size_t literals_ = 0;
  std::size_t match_ = 0;
  std::size_t offset_ = 0;
  bool match_follows_ = false;
  unsigned token_ = 0;
  bool corrupt_ = false;

  std::shared_ptr<std::byte[]> window_;  // what was made last, then room for a piece
  std::byte* out_ = nullptr;
};

}  // namespace annulus
