"""All cases: defects that the lint must find, those that only a compiler sees, and changes that it must let pass."""

from cases import Case, planted
from planted_defects import PLANTED_DEFECTS
from source_defects import COPY, DEPENDENCE, LOOP_DEFECTS, PARTITION, PIPELINE, PRAGMA_DEFECTS, RAW, SIZES, SIZES_DEPTH, \
    STORAGE, TABLE1, TOP_DEFECTS

DEFECTS = PRAGMA_DEFECTS + TOP_DEFECTS + LOOP_DEFECTS + PLANTED_DEFECTS

COMPILER_DEFECTS = [
    Case("compiler", "split_windows.hpp", "window.reach = bytes_left", "window.range = bytes_left"),  # in a template
    Case("compiler", "unpack_pixels.hpp", "  uint32_t left = whole", "  uint32_t left;\n    left += whole", "left += whole"),
    Case("compiler", "split_windows.hpp", COPY, COPY.replace("i < kSize", "i <= kSize"), "window.byte[i] = at"),  # too far
]

HARMLESS = [
    Case("pragma-option", "split_windows.hpp", PIPELINE, "#pragma HLS PIPELINE II=1\n"),
    Case("pragma-option", "split_windows.hpp", PIPELINE, "#pragma HLS PIPELINE II = 2 style = flp\n"),
    Case("pragma-value", "split_windows.hpp", PIPELINE, "#pragma HLS PIPELINE II = kBytes\n"),
    Case("pragma-place", "split_windows.hpp", PIPELINE, "      // A comment is no statement.\n" + PIPELINE),
    Case("pragma-place", "split_windows.hpp", PIPELINE, PIPELINE + "#pragma HLS LOOP_TRIPCOUNT min = 1 max = kWordBytes\n"),
    Case("pragma-option", "sum_missing.hpp", PARTITION, PARTITION.replace("complete", "type = complete")),
    Case("pragma-option", "sum_missing.hpp", PARTITION, PARTITION.replace("complete", "cyclic factor = 3")),
    Case("pragma-option", "sum_missing.hpp", STORAGE, STORAGE.replace("impl = uram", "impl = bram latency = 2")),
    Case("pragma-option", "sum_missing.hpp", DEPENDENCE, "#pragma HLS DEPENDENCE variable=sums inter WAR false\n"),
    Case("pragma-place", "split_windows.hpp", "    Beat beat = {};\n",
         "    Beat beat = {};\n#pragma HLS ARRAY_PARTITION variable = beat.byte complete dim = 1\n"),
    Case("pragma-option", RAW, TABLE1, TABLE1.replace("\n", " num_read_outstanding = 32\n")),
    Case("port-interface", RAW, TABLE1, TABLE1 + "#pragma HLS INTERFACE s_axilite port = table1\n"),
    Case("stream-depth", RAW, SIZES + SIZES_DEPTH, SIZES + "\n" + SIZES_DEPTH.replace("kFramesDepth", "kRowsDepth")),
    Case("unroll-bound", "split_windows.hpp", COPY, COPY.replace("i < kSize", "i <= kSize - 1")),
    Case("loop-label", "split_windows.hpp", COPY, COPY.replace("copy:", "copy_bytes:")),
    Case("heap", "config.hpp", "namespace kernels {\n\n",
         "// new, delete, float, std::vector and goto in a comment are words.\nnamespace kernels {\n\n"),
    planted("recursion", "inline int f() {\n  constexpr int kBits = log2_of(kLanes);\n  return kBits;\n}"),
    planted("division", "template <int kN>\ninline uint32_t f(uint32_t n) {\n  return n / kN + n % (kN + 1) + n / rows_of(8);\n}"),
    planted("endless-loop", "inline uint32_t f(uint32_t n) {\nhalve:\n  while (true) {\n#pragma HLS PIPELINE II = 1\n"
            "    n >>= 1;\n    if (n == 0) break;\n  }\n  return n;\n}"),
    planted("endless-loop", "inline void f(hls::stream<Report>& reports) {\ndrain:\n  while (reports.read().status != 0) {\n"
            "#pragma HLS PIPELINE II = 1\n  }\n}"),
    planted("pointer", "inline uint32_t f(const uint32_t* memory, uint32_t (&out)[2]) {\n  out[0] = memory[0] & memory[1];\n"
            "  return out[0];\n}"),
    planted("plain-struct", "struct Pair {\n  int a;\n  Report report;\n};\ninline Pair f(int n) { return Pair{n, {}}; }"),
    planted("unroll-bound", "inline int f(int n) {\nouter:\n  for (int i = 0; i < kLanes; ++i) {\n#pragma HLS UNROLL\n  inner:\n"
            "    for (int j = i; j < kLanes - i; j += 2) {\n#pragma HLS UNROLL\n      n += j;\n    }\n  }\n  return n;\n}"),
    planted("loop-label", "constexpr int sum_to(int n) {\n  int sum = 0;\n  for (int i = 1; i <= n; ++i) sum += i;\n  return sum;\n}"),
]
