// Pixels as they lie in memory to 32 bits; those of uint32 stay the same bits. One work-item a pixel: (pixel, frame).
// A `frame_stride` other than 0 says that frames are as far apart.
kernel void widen_pixels(global const uchar* packed, ulong packed_bytes, global const ulong* frames, uint frame_count,
                         ulong frame_stride, uint pixel_bytes, uint is_signed, Band band, global int* pixels, ulong pixel_entries,
                         volatile global uint* violations) {
  const uint place = get_global_id(0);
  const uint frame = get_global_id(1);
  if (band.first + place >= band.end) return;
  const ulong offset = frame_stride > 0
                           ? frame * frame_stride
                           : AT(frames, frame * FRAME_NUMBERS + FRAME_OFFSET, frame_count * FRAME_NUMBERS);
  const ulong at = offset + (ulong)(band.first + place) * pixel_bytes;
  int value;
  if (pixel_bytes == 1) {
    const uchar byte = AT(packed, at, packed_bytes);
    value = is_signed ? (int)as_char(byte) : (int)byte;
  } else if (pixel_bytes == 2) {
    const ushort two = as_ushort(LOAD(2, packed, at, packed_bytes));
    value = is_signed ? (int)as_short(two) : (int)two;
  } else {
    value = as_int(LOAD(4, packed, at, packed_bytes));
  }
  AT(pixels, (ulong)frame * band.stride + place, pixel_entries) = value;
}
