// Streams the table from its four ports, once for every frame.
//
// In: memory. Out: beats of entries. II = 1 a beat.
#pragma once

#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {

inline void read_table(const TableSlice* table0, const TableSlice* table1, const TableSlice* table2,
                       const TableSlice* table3, uint32_t frame_count, uint32_t beats,
                       hls::stream<TableBeat>& table) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
  each_beat:
    for (uint32_t beat = 0; beat < beats; ++beat) {
#pragma HLS PIPELINE II = 1
      const TableSlice slice[kTablePorts] = {table0[beat], table1[beat], table2[beat], table3[beat]};
      TableBeat out;
    each_lane:
      for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS UNROLL
        out.entry[lane] = slice[lane / kEntriesAPort].entry[lane % kEntriesAPort];
      }
      table.write(out);
    }
  }
}

}  // namespace kernels
