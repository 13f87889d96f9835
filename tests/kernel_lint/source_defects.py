"""Defects planted into the kernels' own sources: pragmas, tops, streams, loops."""

from cases import Case

BYTES, RAW = "reduce_byte_offset.cpp", "reduce_raw.cpp"
PIPELINE = "#pragma HLS PIPELINE II = 1\n"
SIZES = '  hls::stream<uint32_t> sizes("sizes");\n'
SIZES_DEPTH = "#pragma HLS STREAM variable = sizes depth = kFramesDepth\n"
BINS = "#pragma HLS INTERFACE s_axilite port = bins\n"
TABLE1 = "#pragma HLS INTERFACE m_axi port = table1 bundle = table1 depth = 256 max_read_burst_length = 64\n"
RETURN = "#pragma HLS INTERFACE s_axilite port = return\n"
DATAFLOW = "#pragma HLS DATAFLOW\n"
LIST = "  list_rejected(rejected, frame_count, shares);\n"
SUM = "  sum_missing(corrections, shares, frame_count, bins, missing_rows, invalid_counts);\n"
WRITE_MISSING = "  write_missing(missing_rows, frame_count, bins, missing, missing_checks);\n"
PARTITION = "#pragma HLS ARRAY_PARTITION variable = sums complete dim = 2\n"
STORAGE = "#pragma HLS BIND_STORAGE variable = sums type = ram_2p impl = uram\n"
DEPENDENCE = "#pragma HLS DEPENDENCE variable = sums type = inter direction = RAW distance = 7 dependent = true\n"
MEMORY = "  int64_t sums[kBanks][kMissing][kRows];\n"
BEAT = "    Beat beat = {};\n"
COPY = "copy:\n  for (uint32_t i = 0; i < kSize; ++i) {\n#pragma HLS UNROLL\n"
CUT_WINDOW = "uint32_t bytes_left) {\n#pragma HLS INLINE\n"
TOP = 'extern "C" void reduce_raw('
BSLZ4 = "reduce_bslz4.cpp"
WORDS = "  hls::stream<BlockWord> words[kLz4Engines];\n"
WORDS_DEPTH = "#pragma HLS STREAM variable = words depth = kBlockWordsDepth\n"
FIND_3 = "  find_sequences(words[3], sequences[3]);\n"


def pragma(rule, new, old=PIPELINE, file="split_windows.hpp", at=""):
    return Case(rule, file, old, new, at)


PRAGMA_DEFECTS = [
    pragma("pragma-unknown", "#pragma HLS PIPLINE II = 1\n"),
    pragma("pragma-unknown", "#pragma HLS pipeline II = 1\n"),
    pragma("pragma-unknown", "#pragma HSL PIPELINE II = 1\n"),
    pragma("pragma-unknown", "#pragma HLS\n"),
    pragma("pragma-unknown", "#pragma GCC unroll 4\n" + PIPELINE),
    pragma("pragma-unknown", "#pragma HLS INTERFACE ap_none port = bins\n", BINS, RAW),
    pragma("pragma-option", "#pragma HLS PIPELINE\n"),
    pragma("pragma-option", "#pragma HLS PIPELINE II = 1 II = 1\n"),
    pragma("pragma-option", "#pragma HLS PIPELINE II = 1 deep\n"),
    pragma("pragma-option", COPY.replace("UNROLL", "UNROLL factor = 2"), COPY),
    pragma("pragma-option", "#pragma HLS STREAM variable = sizes\n", SIZES_DEPTH, RAW),
    pragma("pragma-option", "#pragma HLS ARRAY_PARTITION variable = sums complete\n", PARTITION, "sum_missing.hpp"),
    pragma("pragma-option", PARTITION.replace("complete", "cyclic"), PARTITION, "sum_missing.hpp"),
    pragma("pragma-option", PARTITION.replace("complete", "complete factor = 2"), PARTITION, "sum_missing.hpp"),
    pragma("pragma-option", STORAGE.replace(" impl = uram", ""), STORAGE, "sum_missing.hpp"),
    pragma("pragma-option", DEPENDENCE.replace("= true", "= false"), DEPENDENCE, "sum_missing.hpp"),
    pragma("pragma-option", DEPENDENCE.replace(" dependent = true", ""), DEPENDENCE, "sum_missing.hpp"),
    pragma("pragma-option", DEPENDENCE.replace("inter", "intra"), DEPENDENCE, "sum_missing.hpp"),
    pragma("pragma-option", TABLE1.replace("bundle = table1 ", ""), TABLE1, RAW),
    pragma("pragma-option", TABLE1.replace("max_read", "longest_read"), TABLE1, RAW),
    pragma("pragma-option", BINS.replace("bins", "bins max_read_burst_length = 64"), BINS, RAW),
    pragma("pragma-value", "#pragma HLS PIPELINE II = 0\n"),
    pragma("pragma-value", "#pragma HLS PIPELINE II = word\n"),
    pragma("pragma-value", "#pragma HLS PIPELINE II = 1 rewind = yes\n"),
    pragma("pragma-value", "#pragma HLS PIPELINE II = 1 style = fast\n"),
    pragma("pragma-value", "#pragma HLS PIPELINE II =\n"),
    pragma("pragma-value", SIZES_DEPTH.replace("kFramesDepth", "kFramesDeep"), SIZES_DEPTH, RAW),
    pragma("pragma-value", STORAGE.replace("= uram", "= urams"), STORAGE, "sum_missing.hpp"),
    pragma("pragma-value", STORAGE.replace("2p impl = uram", "t2p impl = lutram"), STORAGE, "sum_missing.hpp"),
    pragma("pragma-value", PARTITION.replace("dim = 2", "dim = 4"), PARTITION, "sum_missing.hpp"),
    pragma("pragma-value", DEPENDENCE.replace("RAW", "RAR"), DEPENDENCE, "sum_missing.hpp"),
    pragma("pragma-value", TABLE1.replace("= 64", "= long"), TABLE1, RAW),
    pragma("pragma-value", TABLE1.replace("\n", " offset = off\n"), TABLE1, RAW),
    pragma("pragma-variable", STORAGE.replace("= sums", "= sum"), STORAGE, "sum_missing.hpp"),
    pragma("pragma-variable", SIZES_DEPTH.replace("= sizes", "= size"), SIZES_DEPTH, RAW),
    pragma("pragma-variable", DEPENDENCE.replace("= sums", "= recent.row"), DEPENDENCE, "sum_missing.hpp"),
    pragma("pragma-variable", DEPENDENCE.replace("= sums", "= item"), DEPENDENCE, "sum_missing.hpp"),
    pragma("pragma-variable", BEAT + "#pragma HLS ARRAY_PARTITION variable = beat.bytes complete dim = 1\n", BEAT),
    pragma("pragma-variable", BEAT + "#pragma HLS ARRAY_PARTITION variable = beat complete dim = 0\n", BEAT),
    pragma("pragma-variable", BEAT + "#pragma HLS STREAM variable = beat depth = kParts\n", BEAT),
    pragma("pragma-place", "      const uint32_t part = word % kParts;\n" + PIPELINE,
           PIPELINE + "      const uint32_t part = word % kParts;\n", at=PIPELINE),
    pragma("pragma-place", "  each_word:\n" + PIPELINE + "    for (uint32_t word = 0; word < words; ++word) {\n",
           "  each_word:\n    for (uint32_t word = 0; word < words; ++word) {\n" + PIPELINE),
    pragma("pragma-place", "uint32_t bytes_left) {\n  constexpr uint32_t kSize = Window<kBytes>::kSize;\n"
           "#pragma HLS INLINE\n", CUT_WINDOW + "  constexpr uint32_t kSize = Window<kBytes>::kSize;\n",
           at="#pragma HLS INLINE\n"),
    pragma("pragma-place", CUT_WINDOW + "#pragma HLS UNROLL\n", CUT_WINDOW),
    pragma("pragma-place", CUT_WINDOW + PIPELINE, CUT_WINDOW),
    pragma("pragma-place", CUT_WINDOW + DATAFLOW, CUT_WINDOW),
    pragma("pragma-place", SIZES + DATAFLOW, DATAFLOW + SIZES, RAW, DATAFLOW),
    pragma("pragma-place", DATAFLOW + SIZES + RETURN, RETURN + DATAFLOW + SIZES, RAW, RETURN),
    pragma("pragma-place", "\n" + SIZES_DEPTH + "  read_frames(", "\n  read_frames(", RAW),
    pragma("pragma-place", "  const uint32_t row_count = rows_of(bins);\n" + STORAGE,
           STORAGE + "  const uint32_t row_count = rows_of(bins);\n", "sum_missing.hpp", STORAGE),
    pragma("memory-storage", "", PARTITION, "sum_missing.hpp", MEMORY),
    pragma("memory-storage", "", STORAGE, "sum_missing.hpp", MEMORY),
    pragma("memory-storage", PARTITION.replace("dim = 2", "dim = 3") + PARTITION, PARTITION, "sum_missing.hpp", MEMORY),
    pragma("uram-content", MEMORY.replace(";", " = {};"), MEMORY, "sum_missing.hpp"),
    pragma("pragma-twice", PIPELINE + PIPELINE, PIPELINE),
    pragma("pragma-twice", PARTITION + PARTITION, PARTITION, "sum_missing.hpp"),
    pragma("pragma-twice", DATAFLOW + DATAFLOW, DATAFLOW, RAW),
]

TOP_DEFECTS = [
    Case("stream-depth", RAW, SIZES_DEPTH, "", SIZES),
    Case("stream-depth", RAW, SIZES_DEPTH, SIZES_DEPTH.replace("kFramesDepth", "4")),
    Case("stream-name", RAW, SIZES, SIZES.replace('"sizes"', '"size"')),
    Case("stream-name", RAW, SIZES, SIZES.replace('("sizes")', "")),
    Case("stream-element", "reduce_byte_offset.cpp", DATAFLOW, DATAFLOW + '  hls::stream<AddDifferencesState> states("states");\n',
         'states("states")'),
    Case("stream-element", RAW, DATAFLOW, DATAFLOW + '  hls::stream<const Beat*> places("places");\n',
         'places("places")'),
    Case("stream-ends", RAW, LIST, LIST + LIST, "  hls::stream<RejectedBeat> rejected("),
    Case("stream-ends", RAW, LIST, "", "  hls::stream<Rejected> shares("),
    Case("stream-ends", RAW, WRITE_MISSING, "", "  hls::stream<MissingRow> missing_rows("),
    Case("stream-ends", RAW, LIST + SUM, SUM + LIST, "  hls::stream<Rejected> shares("),
    Case("stream-ends", RAW, "sizes, one_counts, payload, numbers);", "sizes, sizes, payload, numbers);", SIZES),
    Case("stream-ends", "write_memory.hpp", "= invalid_counts.read();", "= 0;",
         'invalid_counts("invalid_counts")', RAW),
    Case("stream-ends", "list_rejected.hpp", "    shares.write({{}, 0, true});",
         "    shares.write({{}, 0, true});\n    shares.read();", '  hls::stream<Rejected> shares("', RAW),
    Case("stream-depth", BSLZ4, WORDS_DEPTH, "", WORDS),
    Case("stream-element", BSLZ4, DATAFLOW, DATAFLOW + "  hls::stream<ParseState> states[2];\n", "states[2]"),
    Case("stream-ends", BSLZ4, FIND_3, "", WORDS),
    Case("stream-ends", BSLZ4, FIND_3, FIND_3.replace("words[3]", "words[2]"), WORDS),
    Case("stream-ends", BSLZ4, "pixel_shift, words);", "pixel_shift, words[0]);", WORDS),
    Case("stream-index", "deal_blocks.hpp", "    if (i == engine) words[i].write(word);", "    words[engine].write(word);"),
    Case("top-content", BSLZ4, FIND_3, FIND_3.replace("words[3]", "words[bins]")),
    Case("stream-use", "find_codes.hpp", "      const Window<kBytes> window = windows.read();",
         "      if (windows.empty()) continue;\n      const Window<kBytes> window = windows.read();"),
    Case("clang", "split_windows.hpp", "const uint32_t bytes = sizes.read();",
         "const uint32_t bytes = sizes.empty() ? 0 : sizes.read();"),
    Case("stream-use", "split_windows.hpp", "windows.write(cut", "windows.write_nb(cut"),
    Case("stream-use", "split_windows.hpp", "hls::stream<uint32_t>& sizes,", "hls::stream<uint32_t> sizes,"),
    Case("stream-use", "split_windows.hpp", BEAT, BEAT + "    hls::stream<Beat> own;\n", "hls::stream<Beat> own;"),
    Case("port-interface", RAW, BINS, "", TOP),
    Case("port-interface", RAW, RETURN, "", TOP),
    Case("port-interface", RAW, TABLE1, "", TOP),
    Case("port-interface", RAW, BINS, BINS.replace("bins", "bin")),
    Case("port-interface", RAW, BINS, TABLE1.replace("table1", "bins")),
    Case("port-interface", RAW, TABLE1, "#pragma HLS INTERFACE s_axilite port = table1\n", TOP),
    Case("port-burst", RAW, TABLE1, TABLE1.replace("= 64", "= 256")),
    Case("port-burst", RAW, TABLE1, TABLE1.replace("= 64", "= 257")),
    Case("port-bundle", RAW, TABLE1, TABLE1.replace("bundle = table1", "bundle = table0")),
    Case("port-stage", RAW, "read_table(table0, table1,", "read_table(table0, table0,", TOP),
    Case("port-stage", RAW, WRITE_MISSING, "", "SumBeat* missing,"),
    Case("top-dataflow", RAW, DATAFLOW, "", TOP),
    Case("top-declared", RAW, TOP, TOP.replace("raw", "plain"), TOP.replace("raw", "plain")),
    Case("top-declared", RAW, TOP, "static void help() {}\n\n" + TOP),
    Case("top-declared", RAW, "using namespace kernels;\n", "using namespace kernels;\n\nvoid help(uint32_t) {}\n",
         "void help"),
    Case("top-content", "list_rejected.hpp", "hls::stream<Rejected>& shares) {\n",
         "hls::stream<Rejected>& shares) {\n#pragma HLS INLINE\n", LIST, RAW),
    Case("top-content", RAW, WRITE_MISSING, WRITE_MISSING + "  if (bins == 0) return;\n", "  if (bins"),
    Case("top-content", RAW, WRITE_MISSING, WRITE_MISSING.replace("frame_count", "frame_count + 1")),
    Case("top-content", RAW, WRITE_MISSING, "again:\n  for (int i = 0; i < 2; ++i) {\n" + WRITE_MISSING + "  }\n"),
    Case("top-content", RAW, DATAFLOW, DATAFLOW + "  const uint32_t rows_a_frame = bins;\n", "rows_a_frame = "),
    Case("top-content", RAW, WRITE_MISSING, WRITE_MISSING + "  rows_of(bins);\n", "  rows_of(bins);"),
]

LOOP_DEFECTS = [
    Case("loop-label", "read_table.hpp", "    each_lane:\n", "", "      for (int lane"),
    Case("loop-label", "split_windows.hpp", "each_frame:\n", "", "  for (uint32_t frame"),
    Case("loop-directive", "split_windows.hpp", PIPELINE, "", "    for (uint32_t word"),
    Case("loop-directive", "split_windows.hpp", COPY, COPY + PIPELINE, "  for (uint32_t i"),
    Case("pipeline-nest", "read_table.hpp", "#pragma HLS UNROLL\n", "", "      for (int lane"),
    Case("pipeline-nest", "split_windows.hpp", COPY, COPY.replace("#pragma HLS UNROLL\n", ""), "  for (uint32_t i"),
    Case("pipeline-call", "split_windows.hpp", CUT_WINDOW, CUT_WINDOW.replace("#pragma HLS INLINE\n", ""),
         "windows.write(cut_window"),
    Case("pipeline-call", "split_windows.hpp", CUT_WINDOW, CUT_WINDOW.replace("INLINE", "INLINE off"),
         "windows.write(cut_window"),
    Case("pipeline-call", "shares.hpp", "BankShare share_of_bank(const Footprint& share, uint32_t bank) {\n"
         "#pragma HLS INLINE\n", "BankShare share_of_bank(const Footprint& share, uint32_t bank) {\n",
         "share_of_bank(share, bank)", "sum_missing.hpp"),
    Case("helper-inline", "write_memory.hpp", "uint64_t missing_check) {\n#pragma HLS INLINE\n",
         "uint64_t missing_check) {\n", "inline SumBeat make_header"),
    Case("unroll-bound", "split_windows.hpp", COPY, COPY.replace("i < kSize", "i < bytes_left"), "  for (uint32_t i"),
    Case("unroll-bound", "split_windows.hpp", COPY, COPY.replace("i = 0", "i = part"), "  for (uint32_t i"),
    Case("unroll-bound", "split_windows.hpp", COPY, COPY.replace("i < kSize", "i < kSize && i < part"),
         "  for (uint32_t i"),
    Case("division", "split_windows.hpp", "(bytes - 1) / kBytes", "(bytes - 1) / frame_count"),
    Case("division", "split_windows.hpp", "word % kParts", "word % words"),
    Case("recursion", "shares.hpp", "  return (share.weight[0] | share.weight[1] | share.weight[2]) != 0;",
         "  return share.closes && has_weight(share);", "inline bool has_weight"),
    Case("preprocessor", "config.hpp", "namespace kernels {\n\n", "#ifdef FAST\n#endif\nnamespace kernels {\n\n"),
    Case("preprocessor", "config.hpp", "#define ANNULUS_KERNEL_BINS 4096", "#define ANNULUS_KERNEL_BINS (1 << 12)",
         "#ifndef ANNULUS_KERNEL_BINS"),
    Case("first-comment", "config.hpp", "// What a build of the kernels is", "#include <cstdint>\n// What"),
    Case("include-once", "config.hpp", "#pragma once\n", "", "// What a build"),
    Case("include", "config.hpp", "#include <cstdint>\n", "#include <cstdint>\n#include <vector>\n", "<vector>"),
    Case("include", "config.hpp", "#include <cstdint>\n", '#include <cstdint>\n#include "../host.hpp"\n', "../host"),
    Case("clang", "split_windows.hpp", BEAT, BEAT + BEAT),
    Case("endless-loop", "find_codes.hpp", "      last = window.last;\n", "", "    while (!last)"),
    Case("global-state", "config.hpp", "constexpr int kLanes", "int kLanes"),
]
