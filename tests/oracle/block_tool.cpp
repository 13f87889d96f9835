// Encodes or decodes a file of many arrays, so that a test in Python compares thousands of them in one call.
//
//   block_tool encode|decode IN OUT
//
// A record of IN is five little-endian u64 (codec, bytes of an element, elements, block size in bytes, bytes
// that follow) and those bytes; of OUT one u64 and as many bytes. Decoding is done by every instruction set
// and by the path for elements of any size, which must agree.
#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/error.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace annulus {
namespace {

struct Record {
  std::uint64_t codec, element_size, elements, block_bytes, size;
};

std::vector<std::byte> decode_pixels(const Frame& frame, InstructionSet set) {
  BlockPixelDecoder decoder(frame, set);
  std::vector<std::int32_t> pixels(frame.shape.size());
  if (!decoder.decode(pixels) || !decoder.finish()) {
    throw Error(ErrorKind::kInput, "block_tool", describe_fault(decoder.fault(), frame.payload.size()));
  }
  const std::size_t size = size_of(frame.type);
  std::vector<std::byte> bytes(pixels.size() * size);
  for (std::size_t i = 0; i < pixels.size(); ++i) std::memcpy(bytes.data() + i * size, &pixels[i], size);
  return bytes;
}

std::vector<std::byte> decode(const Record& record, std::span<const std::byte> payload) {
  const auto codec = static_cast<Codec>(record.codec);
  std::vector<std::byte> bytes =
      decode_blocks(codec, payload, record.element_size, record.elements, "record");
  for (const PixelType type : {PixelType::kU8, PixelType::kU16, PixelType::kU32, PixelType::kI32}) {
    if (size_of(type) != record.element_size) continue;
    Frame frame;
    frame.codec = codec;
    frame.type = type;
    frame.shape = {1, static_cast<std::uint32_t>(record.elements)};
    frame.payload = Bytes({payload.begin(), payload.end()});
    for (const InstructionSet set : available_instruction_sets()) {
      if (decode_pixels(frame, set) == bytes) continue;
      throw Error(ErrorKind::kBackend, std::string(name_of(set)), "other pixels than without");
    }
  }
  return bytes;
}

int run(const std::string& task, const char* in, const char* out) {
  std::ifstream source(in, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(source), {}};
  std::span<const std::byte> left = std::as_bytes(std::span(text));
  std::ofstream target(out, std::ios::binary);
  for (std::size_t number = 0; !left.empty(); ++number) {
    Record record;
    std::memcpy(&record, left.data(), sizeof(record));
    const auto bytes = left.subspan(sizeof(record), record.size);
    left = left.subspan(sizeof(record) + record.size);
    std::vector<std::byte> made;
    try {
      made = task == "encode" ? encode_blocks(static_cast<Codec>(record.codec), bytes, record.element_size,
                                              record.block_bytes)
                              : decode(record, bytes);
    } catch (const Error& error) {
      fmt::print(stderr, "record {}, {} elements of {}, blocks of {}: {}\n", number, record.elements,
                 record.element_size, record.block_bytes, error.what());
      return 1;
    }
    const std::uint64_t size = made.size();
    target.write(reinterpret_cast<const char*>(&size), sizeof(size));
    target.write(reinterpret_cast<const char*>(made.data()), static_cast<std::streamsize>(size));
  }
  target.close();
  return target ? 0 : 1;
}

}  // namespace
}  // namespace annulus

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return annulus::run(argv[1], argv[2], argv[3]);
}
