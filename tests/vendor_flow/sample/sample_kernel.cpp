// A kernel in the form of hls/, for the tests of check_hls_log. Never compiled.
#include "scale.hpp"

inline void read_words(const int* memory, uint32_t count, hls::stream<int>& words) {
each_beat:
  for (uint32_t word = 0; word < count; ++word) {
#pragma HLS PIPELINE II = 1
    words.write(memory[word]);
  }
}

extern "C" void sample_kernel(const int* memory, uint32_t frame_count, uint32_t count) {
#pragma HLS DATAFLOW
  hls::stream<int> words("words");
#pragma HLS STREAM variable = words depth = kWordsDepth
  hls::stream<int> scaled("scaled");
#pragma HLS STREAM variable = scaled depth = kWordsDepth

  read_words(memory, frame_count * count, words);
  scale_words<3>(words, frame_count, count, scaled);
}
