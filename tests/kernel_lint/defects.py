"""All cases: defects that the lint must find, those that only a compiler sees, and changes that it must let pass."""

from cases import Case, planted, read_planted
from source_defects import (BEAT, BYTES, COPY, DEPENDENCE, LOOP_DEFECTS, PARTITION, PIPELINE, PRAGMA_DEFECTS, RAW,
                            SIZES, SIZES_DEPTH, STORAGE, TABLE1, TOP_DEFECTS)

TOO_LONG = "\n".join(f"constexpr int kN{n} = {n};" for n in range(150)).replace("= 141;", "= 141;  // HERE")

DEFECTS = [*PRAGMA_DEFECTS, *TOP_DEFECTS, *LOOP_DEFECTS, *read_planted("planted_defects.txt"),
           planted("file-length", TOO_LONG)]

# Inside templates, so that only an instantiation shows them: who sees it, in which kernel, what.
COMPILER_DEFECTS = [
    ("g++ clang++", BYTES, Case("compiler", "split_windows.hpp", "window.reach = ", "window.range = ")),
    ("g++ clang++", RAW, Case("compiler", "unpack_pixels.hpp", "  uint32_t left = whole",
                              "  uint32_t left;\n    left += whole", "left += whole")),
    ("g++", BYTES, Case("compiler", "split_windows.hpp", COPY, COPY.replace("i < kSize", "i <= kSize"),
                        "window.byte[i] = at")),
]

TRIPCOUNT = "#pragma HLS LOOP_TRIPCOUNT min = 1 max = kWordBytes\n"

HARMLESS = [
    Case("pragma-option", "split_windows.hpp", PIPELINE, "#pragma HLS PIPELINE II=1\n"),
    Case("pragma-option", "split_windows.hpp", PIPELINE, "#pragma HLS PIPELINE II = 2 style = flp\n"),
    Case("pragma-value", "split_windows.hpp", PIPELINE, "#pragma HLS PIPELINE II = kBytes\n"),
    Case("pragma-place", "split_windows.hpp", PIPELINE, "      // A comment is no statement.\n" + PIPELINE),
    Case("pragma-place", "split_windows.hpp", PIPELINE, PIPELINE + TRIPCOUNT),
    Case("pragma-place", "split_windows.hpp", BEAT,
         BEAT + "#pragma HLS ARRAY_PARTITION variable = beat.byte complete dim = 1\n"),
    Case("pragma-option", "sum_missing.hpp", PARTITION, PARTITION.replace("complete", "type = complete")),
    Case("pragma-option", "split_windows.hpp", BEAT,
         BEAT + "#pragma HLS ARRAY_PARTITION variable = beat.byte type = cyclic factor = kBytes dim = 1\n"),
    Case("pragma-option", "sum_missing.hpp", STORAGE, STORAGE.replace("impl = uram", "impl = bram latency = 2")),
    Case("pragma-option", "sum_missing.hpp", DEPENDENCE, "#pragma HLS DEPENDENCE variable=sums inter WAR false\n"),
    Case("pragma-option", RAW, TABLE1, TABLE1.replace("\n", " offset = slave num_read_outstanding = 32\n")),
    Case("port-interface", RAW, TABLE1, TABLE1 + "#pragma HLS INTERFACE s_axilite port = table1\n"),
    Case("port-burst", RAW, TABLE1, TABLE1.replace("= 64", "= 128")),
    Case("stream-depth", RAW, SIZES + SIZES_DEPTH, SIZES + "\n" + SIZES_DEPTH.replace("kFramesDepth", "kRowsDepth")),
    Case("unroll-bound", "split_windows.hpp", COPY, COPY.replace("i < kSize", "i <= kSize - 1")),
    Case("loop-label", "split_windows.hpp", COPY, COPY.replace("copy:", "copy_bytes:")),
    Case("heap", "config.hpp", "namespace kernels {\n\n",
         "// new, delete, float, std::vector and goto in a comment are words.\nnamespace kernels {\n\n"),
    *read_planted("planted_harmless.txt"),
]
