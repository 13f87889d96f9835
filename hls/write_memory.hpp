// Writes the sums of every frame to memory in bursts.
//
// In: rows, and of each frame its number, its report, its number of invalid pixels and the checksum of what
// it has in `missing`. Out: memory, as layout.hpp says. II = 1 a transfer.
#pragma once

#include <hls_stream.h>

#include "checksum.hpp"
#include "streams.hpp"

namespace kernels {

inline SumBeat pair_rows(const int64_t (&low)[kBanks], const int64_t (&high)[kBanks]) {
#pragma HLS INLINE
  SumBeat beat;
each_bank:
  for (int bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
    beat.sum[bank] = low[bank];
    beat.sum[bank + kBanks] = high[bank];
  }
  return beat;
}

inline SumBeat make_header(const Report& report, uint32_t invalid_pixels, uint32_t number,
                           uint64_t missing_check) {
#pragma HLS INLINE
  SumBeat header = {};
  header.sum[kHeaderBuild] = static_cast<int64_t>(kBuildWord);
  header.sum[kHeaderStatus] = report.status;
  header.sum[kHeaderByte] = report.byte;
  header.sum[kHeaderPixel] = report.pixel;
  header.sum[kHeaderInvalid] = invalid_pixels;
  header.sum[kHeaderNumber] = number;
  header.sum[kHeaderMissing] = static_cast<int64_t>(missing_check);
  return header;
}

inline void write_results(hls::stream<FrameRow>& rows, hls::stream<Report>& reports,
                          hls::stream<uint32_t>& invalid_counts, hls::stream<uint32_t>& numbers,
                          hls::stream<uint64_t>& missing_checks, uint32_t frame_count, uint32_t bins,
                          SumBeat* results) {
  const uint32_t row_count = rows_of(bins);
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    const uint64_t first = uint64_t{frame} * result_beats_of(bins);
    Checksum check = {};
  each_row:
    for (uint32_t row = 0; row < row_count; ++row) {
#pragma HLS PIPELINE II = 1
      const FrameRow sums = rows.read();
      const SumBeat beat = pair_rows(sums.signal, sums.variance);
      add_beat(check, beat);
      results[first + 1 + row] = beat;
    }
    // Last, so that a header in memory says that its frame is complete.
    const Report report = reports.read();
    const uint32_t invalid_pixels = invalid_counts.read();
    const uint32_t number = numbers.read();
    SumBeat header = make_header(report, invalid_pixels, number, missing_checks.read());
    add_beat(check, header);
    header.sum[kHeaderCheck] = static_cast<int64_t>(check.value);
    results[first] = header;
  }
}

inline void write_missing(hls::stream<MissingRow>& rows, uint32_t frame_count, uint32_t bins,
                          SumBeat* missing, hls::stream<uint64_t>& checks) {
  const uint32_t transfers = missing_beats_of(bins);
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    const uint64_t first = uint64_t{frame} * transfers;
    MissingRow sums = {};
    Checksum check = {};
  each_transfer:
    for (uint32_t transfer = 0; transfer < transfers; ++transfer) {
#pragma HLS PIPELINE II = 1
      const bool dark = transfer % 2 != 0;
      const int64_t nothing[kBanks] = {};
      if (!dark) sums = rows.read();
      const SumBeat beat = dark ? pair_rows(sums.dark, nothing) : pair_rows(sums.count, sums.normalization);
      add_beat(check, beat);
      missing[first + transfer] = beat;
    }
    checks.write(check.value);
  }
}

}  // namespace kernels
