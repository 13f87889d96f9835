// Frames in bitshuffle-LZ4 to sums of bins: the dataflow of docs/kernels.md.
#include "collect_pixels.hpp"
#include "deal_blocks.hpp"
#include "decode_blocks.hpp"
#include "depths.hpp"
#include "find_sequences.hpp"
#include "integrate_frames.hpp"
#include "kernels.hpp"
#include "list_rejected.hpp"
#include "read_frames.hpp"
#include "read_table.hpp"
#include "sum_missing.hpp"
#include "write_memory.hpp"

using namespace kernels;

static_assert(kLz4Engines == 6, "as many calls of find_sequences and decode_blocks");

extern "C" void reduce_bslz4(const FrameDescriptor* descriptors, const Beat* frames, const TableSlice* table0,
                             const TableSlice* table1, const TableSlice* table2, const TableSlice* table3,
                             const Correction* corrections, SumBeat* results, SumBeat* missing,
                             uint32_t frame_count, uint32_t pixels, uint32_t bins, uint32_t beats,
                             uint32_t weight_bits, uint32_t variance_bits, int64_t lowest, int64_t highest,
                             int64_t dummy_lowest, int64_t dummy_highest, uint32_t pixel_shift,
                             uint32_t is_signed) {
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
#pragma HLS INTERFACE s_axilite port = pixel_shift
#pragma HLS INTERFACE s_axilite port = is_signed
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
  hls::stream<BlockWord> words[kLz4Engines];
#pragma HLS STREAM variable = words depth = kBlockWordsDepth
  hls::stream<Sequence> sequences[kLz4Engines];
#pragma HLS STREAM variable = sequences depth = kSequencesDepth
  hls::stream<PlaneBeat> planes[kLz4Engines];
#pragma HLS STREAM variable = planes depth = kPlanesDepth
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
  deal_blocks<kLz4Engines>(sizes, payload, frame_count, pixels, pixel_shift, words);
  find_sequences(words[0], sequences[0]);
  find_sequences(words[1], sequences[1]);
  find_sequences(words[2], sequences[2]);
  find_sequences(words[3], sequences[3]);
  find_sequences(words[4], sequences[4]);
  find_sequences(words[5], sequences[5]);
  decode_blocks(sequences[0], pixel_shift, planes[0]);
  decode_blocks(sequences[1], pixel_shift, planes[1]);
  decode_blocks(sequences[2], pixel_shift, planes[2]);
  decode_blocks(sequences[3], pixel_shift, planes[3]);
  decode_blocks(sequences[4], pixel_shift, planes[4]);
  decode_blocks(sequences[5], pixel_shift, planes[5]);
  collect_pixels<kLanes, kLz4Engines>(planes, frame_count, pixels, pixel_shift, is_signed, vectors, reports);
  read_table(table0, table1, table2, table3, frame_count, beats, table);
  integrate_frames(vectors, table, one_counts, frame_count, bins, beats, weight_bits, variance_bits, lowest,
                   highest, dummy_lowest, dummy_highest, is_signed, rows, rejected);
  list_rejected(rejected, frame_count, shares);
  sum_missing(corrections, shares, frame_count, bins, missing_rows, invalid_counts);
  write_missing(missing_rows, frame_count, bins, missing, missing_checks);
  write_results(rows, reports, invalid_counts, numbers, missing_checks, frame_count, bins, results);
}
