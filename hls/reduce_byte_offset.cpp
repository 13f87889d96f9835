// Frames in CBF's byte offset to sums of bins: the dataflow of docs/kernels.md.
#include "add_differences.hpp"
#include "compact_pixels.hpp"
#include "depths.hpp"
#include "find_codes.hpp"
#include "integrate_frames.hpp"
#include "kernels.hpp"
#include "list_rejected.hpp"
#include "read_frames.hpp"
#include "read_table.hpp"
#include "split_windows.hpp"
#include "sum_missing.hpp"
#include "write_memory.hpp"

using namespace kernels;

extern "C" void reduce_byte_offset(const FrameDescriptor* descriptors, const Beat* frames,
                                   const TableSlice* table0, const TableSlice* table1,
                                   const TableSlice* table2, const TableSlice* table3,
                                   const Correction* corrections, SumBeat* results, SumBeat* missing,
                                   uint32_t frame_count, uint32_t pixels, uint32_t bins, uint32_t beats,
                                   uint32_t weight_bits, uint32_t variance_bits, int64_t lowest,
                                   int64_t highest, int64_t dummy_lowest, int64_t dummy_highest) {
#pragma HLS INTERFACE m_axi port = descriptors bundle = descriptors depth = 256 max_read_burst_length = 16
#pragma HLS INTERFACE m_axi port = frames bundle = frames depth = 256 max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = table0 bundle = table0 depth = 256 max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = table1 bundle = table1 depth = 256 max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = table2 bundle = table2 depth = 256 max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = table3 bundle = table3 depth = 256 max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = corrections bundle = corrections depth = 256 num_read_outstanding = 64
#pragma HLS INTERFACE m_axi port = results bundle = results depth = 256 max_write_burst_length = 64
#pragma HLS INTERFACE m_axi port = missing bundle = missing depth = 256 max_write_burst_length = 64
#pragma HLS INTERFACE s_axilite port = frame_count
#pragma HLS INTERFACE s_axilite port = pixels
#pragma HLS INTERFACE s_axilite port = bins
#pragma HLS INTERFACE s_axilite port = beats
#pragma HLS INTERFACE s_axilite port = weight_bits
#pragma HLS INTERFACE s_axilite port = variance_bits
#pragma HLS INTERFACE s_axilite port = lowest
#pragma HLS INTERFACE s_axilite port = highest
#pragma HLS INTERFACE s_axilite port = dummy_lowest
#pragma HLS INTERFACE s_axilite port = dummy_highest
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS DATAFLOW
  hls::stream<uint32_t> sizes("sizes");
#pragma HLS STREAM variable = sizes depth = kFramesDepth
  hls::stream<uint32_t> one_counts("one_counts");
#pragma HLS STREAM variable = one_counts depth = kFramesDepth
  hls::stream<uint32_t> numbers("numbers");
#pragma HLS STREAM variable = numbers depth = kFramesDepth
  hls::stream<Beat> payload("payload");
#pragma HLS STREAM variable = payload depth = kBeatsDepth
  hls::stream<Window<kWordBytes>> windows("windows");
#pragma HLS STREAM variable = windows depth = kWindowsDepth
  hls::stream<Codes<kWordBytes>> codes("codes");
#pragma HLS STREAM variable = codes depth = kCodesDepth
  hls::stream<Values<kWordBytes>> values("values");
#pragma HLS STREAM variable = values depth = kValuesDepth
  hls::stream<Pixels<kLanes>> vectors("vectors");
#pragma HLS STREAM variable = vectors depth = kVectorsDepth
  hls::stream<Report> reports("reports");
#pragma HLS STREAM variable = reports depth = kFramesDepth
  hls::stream<TableBeat> table("table");
#pragma HLS STREAM variable = table depth = kTableDepth
  hls::stream<FrameRow> rows("rows");
#pragma HLS STREAM variable = rows depth = kRowsDepth
  hls::stream<RejectedBeat> rejected("rejected");
#pragma HLS STREAM variable = rejected depth = kRejectedDepth
  hls::stream<Rejected> shares("shares");
#pragma HLS STREAM variable = shares depth = kSharesDepth
  hls::stream<MissingRow> missing_rows("missing_rows");
#pragma HLS STREAM variable = missing_rows depth = kRowsDepth
  hls::stream<uint32_t> invalid_counts("invalid_counts");
#pragma HLS STREAM variable = invalid_counts depth = kFramesDepth
  hls::stream<uint64_t> missing_checks("missing_checks");
#pragma HLS STREAM variable = missing_checks depth = kFramesDepth

  read_frames(descriptors, frames, frame_count, sizes, one_counts, payload, numbers);
  split_windows<kWordBytes>(sizes, payload, frame_count, windows);
  find_codes<kWordBytes>(windows, frame_count, codes);
  add_differences<kWordBytes>(codes, frame_count, values);
  compact_pixels<kWordBytes, kLanes>(values, frame_count, pixels, vectors, reports);
  read_table(table0, table1, table2, table3, frame_count, beats, table);
  integrate_frames(vectors, table, one_counts, frame_count, bins, beats, weight_bits, variance_bits, lowest,
                   highest, dummy_lowest, dummy_highest, 1, rows, rejected);
  list_rejected(rejected, frame_count, shares);
  sum_missing(corrections, shares, frame_count, bins, missing_rows, invalid_counts);
  write_missing(missing_rows, frame_count, bins, missing, missing_checks);
  write_results(rows, reports, invalid_counts, numbers, missing_checks, frame_count, bins, results);
}
