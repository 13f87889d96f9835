// Frames in blocks: LZ4, and bitshuffle with LZ4. Blocks are independent, and the host knows where each begins.

#define BLOCK_OFFSET 0   // of its first byte among the packed ones
#define BLOCK_BYTES 1    // as it is packed
#define BLOCK_PLACE 2    // of its first byte in the unpacked frame
#define BLOCK_SIZE 3     // unpacked
#define BLOCK_STORED 4   // not 0: not compressed
#define BLOCK_NUMBERS 5

// The rules of LZ4's end that a decoder may rely on, and that its own checks.
#define LAST_LITERALS 5
#define LAST_MATCH 12
#define LAST_INPUT 8

// A length that goes on in further bytes; false if the input ends.
bool read_length(global const uchar* packed, ulong packed_bytes, ulong* in, ulong end, ulong* length,
                 volatile global uint* violations) {
  uchar byte;
  do {
    if (*in >= end) return false;
    byte = AT(packed, *in, packed_bytes);
    *in += 1;
    *length += byte;
  } while (byte == 255);
  return true;
}

// Whether [in, end) is a block of LZ4 that unpacks to `size` bytes at `place`.
bool unpack_lz4(global const uchar* packed, ulong packed_bytes, ulong in, ulong end, global uchar* unpacked,
                ulong unpacked_bytes, ulong place, ulong size, volatile global uint* violations) {
  ulong out = 0;
  while (in < end) {
    const uchar token = AT(packed, in, packed_bytes);
    in += 1;
    ulong literals = token >> 4;
    if (literals == 15 && !read_length(packed, packed_bytes, &in, end, &literals, violations)) return false;
    if (literals > end - in || literals > size - out) return false;
    const bool is_last = out + literals + LAST_MATCH > size || in + literals + LAST_INPUT > end;
    if (is_last && in + literals != end) return false;
    for (ulong i = 0; i < literals; ++i) {
      AT(unpacked, place + out + i, unpacked_bytes) = AT(packed, in + i, packed_bytes);
    }
    in += literals;
    out += literals;
    if (is_last) return out == size;
    const ulong distance = as_ushort(LOAD(2, packed, in, packed_bytes));
    in += 2;
    if (distance == 0 || distance > out) return false;
    ulong length = token & 15;
    if (length == 15 && !read_length(packed, packed_bytes, &in, end, &length, violations)) return false;
    length += 4;
    if (length > size - out || out + length + LAST_LITERALS > size) return false;
    for (ulong i = 0; i < length; ++i) {
      AT(unpacked, place + out + i, unpacked_bytes) = AT(unpacked, place + out + i - distance, unpacked_bytes);
    }
    out += length;
  }
  return false;
}

// One work-item a block: (block, frame). Unpacked frames are `frame_stride` bytes apart.
kernel void unpack_blocks(global const uchar* packed, ulong packed_bytes, global const ulong* frames, uint frame_count,
                          global const ulong* blocks, ulong block_count, global uchar* unpacked, ulong frame_stride,
                          global uint* faulty, volatile global uint* violations) {
  const uint block = get_global_id(0);
  const uint frame = get_global_id(1);
  const ulong numbers = frame_count * FRAME_NUMBERS;
  if (block >= AT(frames, frame * FRAME_NUMBERS + FRAME_PIECES, numbers)) return;
  const ulong row = (AT(frames, frame * FRAME_NUMBERS + FRAME_FIRST, numbers) + block) * BLOCK_NUMBERS;
  const ulong entries = block_count * BLOCK_NUMBERS;
  const ulong in = AT(blocks, row + BLOCK_OFFSET, entries);
  const ulong bytes = AT(blocks, row + BLOCK_BYTES, entries);
  const ulong place = frame * frame_stride + AT(blocks, row + BLOCK_PLACE, entries);
  const ulong size = AT(blocks, row + BLOCK_SIZE, entries);
  const ulong unpacked_bytes = frame_count * frame_stride;
  if (AT(blocks, row + BLOCK_STORED, entries)) {
    for (ulong i = 0; i < size; ++i) AT(unpacked, place + i, unpacked_bytes) = AT(packed, in + i, packed_bytes);
  } else if (!unpack_lz4(packed, packed_bytes, in, in + bytes, unpacked, unpacked_bytes, place, size, violations)) {
    atomic_or(&AT(faulty, frame, frame_count), 1u);
  }
}

// Rows of 8 bits to columns.
ulong transpose_bits(ulong x) {
  ulong swapped = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaUL;
  x ^= swapped ^ (swapped << 7);
  swapped = (x ^ (x >> 14)) & 0x0000cccc0000ccccUL;
  x ^= swapped ^ (swapped << 14);
  swapped = (x ^ (x >> 28)) & 0x00000000f0f0f0f0UL;
  return x ^ swapped ^ (swapped << 28);
}

// Pixels of shuffled blocks, in which the bits of all of a block's elements stand together: first all lowest ones.
// One work-item for 8 pixels: (eighth of the band, frame). Elements after the last multiple of 8 are not shuffled.
kernel void unshuffle_pixels(global const uchar* unpacked, ulong frame_stride, global const ulong* frames,
                             uint frame_count, uint pixel_count, uint pixel_bytes, uint is_signed, Band band,
                             global int* pixels, ulong pixel_entries, volatile global uint* violations) {
  const uint place = 8 * get_global_id(0);
  const uint frame = get_global_id(1);
  if (band.first + place >= band.end) return;
  const uint pixel = band.first + place;
  const uint count = min(8u, band.end - pixel);
  const uint block = AT(frames, frame * FRAME_NUMBERS + FRAME_BLOCK, frame_count * FRAME_NUMBERS);
  const uint start = pixel / block * block;
  const uint shuffled = min(block, (pixel_count - start) / 8 * 8);
  const ulong bytes = frame * frame_stride + (ulong)start * pixel_bytes;
  const ulong unpacked_bytes = frame_count * frame_stride;
  uint values[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (uint byte = 0; byte < pixel_bytes; ++byte) {
    if (pixel - start < shuffled) {
      ulong planes = 0;
      for (uint bit = 0; bit < 8; ++bit) {
        const ulong at = bytes + (ulong)(8 * byte + bit) * (shuffled / 8) + (pixel - start) / 8;
        planes |= (ulong)AT(unpacked, at, unpacked_bytes) << (8 * bit);
      }
      planes = transpose_bits(planes);
      for (uint i = 0; i < 8; ++i) values[i] |= (uint)((planes >> (8 * i)) & 255) << (8 * byte);
    } else {
      for (uint i = 0; i < count; ++i) {
        const ulong at = bytes + (ulong)(pixel - start + i) * pixel_bytes + byte;
        values[i] |= (uint)AT(unpacked, at, unpacked_bytes) << (8 * byte);
      }
    }
  }
  const uint unused = is_signed ? 32 - 8 * pixel_bytes : 0;
  for (uint i = 0; i < count; ++i) {
    AT(pixels, (ulong)frame * band.stride + place + i, pixel_entries) = as_int(values[i] << unused) >> unused;
  }
}
