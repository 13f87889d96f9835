// The kernels. One launch reduces `frame_count` frames back to back with one table.
//
// Memory arguments (layout.hpp): descriptors[frame_count]; frames: the payloads; table0..3[beats];
// corrections[pixels]; results[frame_count * result_beats_of(bins)]; missing[frame_count *
// missing_beats_of(bins)]. A raw value counts if lowest <= raw <= highest and not dummy_lowest <= raw <=
// dummy_highest. Limits: bins <= kMaxBins, weight_bits <= 23, variance_bits <= min(31, 2 weight_bits), a
// payload below 4 GiB.
#pragma once

#include "layout.hpp"

extern "C" {

// Payloads in CBF's byte offset; pixels are int32.
void reduce_byte_offset(const kernels::FrameDescriptor* descriptors, const kernels::Beat* frames,
                        const kernels::TableSlice* table0, const kernels::TableSlice* table1,
                        const kernels::TableSlice* table2, const kernels::TableSlice* table3,
                        const kernels::Correction* corrections, kernels::SumBeat* results,
                        kernels::SumBeat* missing, uint32_t frame_count, uint32_t pixels, uint32_t bins,
                        uint32_t beats, uint32_t weight_bits, uint32_t variance_bits, int64_t lowest,
                        int64_t highest, int64_t dummy_lowest, int64_t dummy_highest);

// Payloads of plain pixels of 2^pixel_shift bytes (0, 1, 2), little endian, signed or not.
void reduce_raw(const kernels::FrameDescriptor* descriptors, const kernels::Beat* frames,
                const kernels::TableSlice* table0, const kernels::TableSlice* table1,
                const kernels::TableSlice* table2, const kernels::TableSlice* table3,
                const kernels::Correction* corrections, kernels::SumBeat* results, kernels::SumBeat* missing,
                uint32_t frame_count, uint32_t pixels, uint32_t bins, uint32_t beats, uint32_t weight_bits,
                uint32_t variance_bits, int64_t lowest, int64_t highest, int64_t dummy_lowest,
                int64_t dummy_highest, uint32_t pixel_shift, uint32_t is_signed);

// Payloads in bitshuffle-LZ4 (a chunk of HDF5 filter 32008): pixels as of reduce_raw, blocks up to
// kBlockBytes.
void reduce_bslz4(const kernels::FrameDescriptor* descriptors, const kernels::Beat* frames,
                  const kernels::TableSlice* table0, const kernels::TableSlice* table1,
                  const kernels::TableSlice* table2, const kernels::TableSlice* table3,
                  const kernels::Correction* corrections, kernels::SumBeat* results,
                  kernels::SumBeat* missing, uint32_t frame_count, uint32_t pixels, uint32_t bins,
                  uint32_t beats, uint32_t weight_bits, uint32_t variance_bits, int64_t lowest,
                  int64_t highest, int64_t dummy_lowest, int64_t dummy_highest, uint32_t pixel_shift,
                  uint32_t is_signed);
}
