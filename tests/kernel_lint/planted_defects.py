"""Defects in a small file of their own, beside the kernels' sources: constructs that hardware cannot be made of."""

from cases import planted, planted_top

LOOP = "inline uint32_t f(uint32_t n) {\n  uint32_t sum = 0;\nadd:\n  %s {\n#pragma HLS PIPELINE II = 1\n    sum += n;\n  }\n" \
       "  return sum;\n}"
TOP = """extern "C" void planted(%s) {
#pragma HLS INTERFACE m_axi port = memory bundle = memory offset = slave
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS DATAFLOW
}"""

PLANTED_DEFECTS = [
    planted("heap", "inline int f() { return *new int(1); }"),
    planted("heap", "inline void* f(int n) { return __builtin_malloc(n); }\ninline void* malloc(int n) { return f(n); }",
            "inline void* malloc"),
    planted("exception", "inline int f(int n) {\n  if (n > 1) throw n;\n  return n;\n}", "throw n"),
    planted("exception", "inline int f(int n) {\n  try {\n    return n;\n  } catch (...) {\n  }\n  return 0;\n}", "  try {"),
    planted("virtual", "struct Shape {\n  virtual int area() const { return 0; }\n};", "virtual"),
    planted("goto", "inline int f(int n) {\nagain:\n  if (n > 1) goto again;\n  return n;\n}", "goto"),
    planted("union", "union Bits {\n  uint32_t whole;\n  uint8_t byte[4];\n};"),
    planted("cast", "inline uint32_t f(const uint64_t& n) { return reinterpret_cast<const uint32_t&>(n); }"),
    planted("cast", "inline void f(const int& n) { const_cast<int&>(n) = 1; }"),
    planted("c-cast", "inline int f(uint32_t n) { return (int)n; }"),
    planted("width", "inline long f(int n) { return n; }"),
    planted("width", "inline unsigned f(int n) { return n; }"),
    planted("width", "inline void f(uint32_t n) {\n  size_t m = n;\n  (void)m;\n}", "size_t"),
    planted("storage", "inline int f(int n) {\n  volatile int m = n;\n  return m;\n}", "volatile"),
    planted("storage", 'inline void f() { asm("nop"); }'),
    planted("std", "inline int f(int n) { return std::abs(n); }", includes="#include <cstdlib>\n"),
    planted("include", "inline int f(int n) { return n; }", "#include <cstring>", "#include <cstring>\n"),
    planted("std", "inline void f(int n) { assert(n > 0); }"),
    planted("floating", "inline int f(int n) {\n  float scale = 2;\n  return n * static_cast<int>(scale);\n}", "float scale"),
    planted("floating", "inline int f(int n) {\n  const auto scale = 1.5;\n  return static_cast<int>(n * scale);\n}",
            "const auto"),
    planted("floating", "inline double f(int n) { return n; }"),
    planted("floating", "template <typename T>\nstruct Ratio {\n  T part;\n  double whole[2];\n};", "double whole"),
    planted("global-state", "static uint32_t counter = 0;\ninline uint32_t f() { return ++counter; }"),
    planted("global-state", "inline uint32_t f() {\n  static uint32_t calls = 0;\n  return ++calls;\n}", "static"),
    planted("global-state", "const uint32_t table[2] = {1, 2};"),
    planted("constant-name", "constexpr int lanes = 4;"),
    planted("constant-name", "inline int f(int kLater) { return kLater; }"),
    planted("function-pointer", "inline int f(int (*g)(int), int n) { return g(n); }"),
    planted("function-pointer", "using Step = int (*)(int);"),
    planted("function-pointer", "struct Code2 {\n  int at;\n};\ninline int f(int Code2::*m, const Code2& c) { return c.*m; }",
            "inline int f"),
    planted("pointer", "inline uint32_t f(const uint32_t* memory) {\n  const uint32_t* at = memory + 1;\n  return at[0];\n}",
            "const uint32_t* at"),
    planted("pointer", "inline void g(uint32_t* n) { n[0] = 1; }\ninline void f(uint32_t n) { g(&n); }", "inline void f"),
    planted("pointer", "inline uint32_t f(const uint32_t** memory) { return memory[0][0]; }"),
    planted("pointer", "struct List {\n  List* next;\n};", "List* next"),
    planted("array-size", "inline int f(int n) {\n  int values[n];\n  values[0] = n;\n  return values[0];\n}", "int values[n]"),
    planted("plain-struct", "struct Sum {\n  explicit Sum(int n) : of(n) {}\n  int of;\n};", "explicit Sum"),
    planted("plain-struct", "struct Wide : Report {\n  int more;\n};"),
    planted("plain-struct", "inline bool operator<(const Report& a, const Report& b) { return a.byte < b.byte; }"),
    planted("lambda", "inline int f(int n) {\n  const auto twice = [](int m) { return 2 * m; };\n  return twice(n);\n}",
            "const auto twice"),
    planted("lambda", "inline int f(int n, ...) { return n; }"),
    planted("division", "inline uint32_t f(uint32_t n, uint32_t m) {\n  n %= m;\n  return n;\n}", "n %= m"),
    planted("division", "template <int kN>\ninline uint32_t f(uint32_t n, const Report& r) {\n  return n / (kN + r.byte);\n}",
            "return n /"),
    planted("recursion", "inline int even(int n);\ninline int odd(int n) { return n == 0 ? 0 : even(n - 1); }\n"
            "inline int even(int n) { return n == 0 ? 1 : odd(n - 1); }", "inline int odd"),
    planted("recursion", "template <int kN>\ninline int f(int n) {\n  return n > kN ? f<kN>(n - 1) : 0;\n}", "template <int kN>"),
    planted("recursion", "inline int f(int n) {\n  return log2_of(n);\n}", "log2_of"),
    planted("endless-loop", LOOP % "while (true)", "while (true)"),
    planted("endless-loop", LOOP % "for (;;)", "for (;;)"),
    planted("endless-loop", LOOP % "for (uint32_t i = 0; i < n;)", "for (uint32_t i"),
    planted("endless-loop", "inline void f(uint32_t n) {\nwait:\n  do {\n#pragma HLS PIPELINE II = 1\n  } while (n > 0);\n}",
            "  do {"),
    planted("range-for", "inline int f(const int (&all)[4]) {\n  int sum = 0;\nadd:\n  for (int one : all) {\n"
            "#pragma HLS UNROLL\n    sum += one;\n  }\n  return sum;\n}", "for (int one"),
    planted("unroll-bound", LOOP.replace("PIPELINE II = 1", "UNROLL") % "while (sum < n)", "while"),
    planted("pipeline-nest", "inline int f(int n) {\n#pragma HLS INLINE\n  int sum = 0;\nadd:\n  for (int i = 0; i < n; ++i) {\n"
            "#pragma HLS PIPELINE II = 1\n    sum += i;\n  }\n  return sum;\n}", "for (int i"),
    planted("unknown-call", "int elsewhere(int n);\ninline int f(int n) {\n  return elsewhere(n);\n}", "return elsewhere"),
    planted("switch-default", "inline int f(int n) {\n  switch (n) {\n    case 1:\n      return 2;\n  }\n  return 0;\n}", "switch"),
    planted("struct-place", "inline int f(int n) {\n  struct Pair {\n    int a;\n  };\n  const Pair pair = {n};\n"
            "  return pair.a;\n}", "struct Pair"),
    planted("preprocessor", "#define TWICE(n) (2 * (n))\ninline int f(int n) { return TWICE(n); }"),
    planted("preprocessor", "inline int f(int n) {\n#if defined(__SYNTHESIS__)\n  ++n;\n#endif\n  return n;\n}", "#if "),
    planted("preprocessor", 'inline int f(int n) {\n  _Pragma("HLS INLINE") return n;\n}', "_Pragma"),
    planted("file-length", "\n".join(f"constexpr int kN{n} = {n};" for n in range(150)), "kN141 = 141;"),
    planted("clang", "inline int f(int n) {\n  if constexpr (kLanes > 4) return n;\n  return 0;\n}", "if constexpr"),
    planted("clang", "inline int f(int n) {\n  int unused = n;\n  return n;\n}", "int unused"),
    planted("clang", "inline void f(hls::stream<int>& s, int& n) {\n  s >> n;\n}", "s >> n"),
    planted("clang", "inline bool f(int a, uint32_t b) {\n  return a < b;\n}", "return a < b"),
    planted("stream-use", "struct Wires {\n  hls::stream<int>* in;\n};", "hls::stream<int>* in"),
    planted("top-declared", 'extern "C" inline void planted_top(int) {}', 'extern "C"'),
    planted_top("top-declared", TOP % "const Report* memory", 'extern "C"'),
    planted_top("port-width", TOP % "const Report* memory", 'extern "C"'),
    planted_top("port-width", "struct Wide {\n  uint64_t sum[16];\n};\n\n" + TOP % "Wide* memory", 'extern "C"'),
    planted_top("port-width", "struct State {\n  uint64_t sum = 0;\n};\n\n" + TOP % "State* memory", 'extern "C"'),
]
