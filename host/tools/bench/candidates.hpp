// What there is to be timed. Each function makes the candidates of one bench; what they share (plans, frames)
// lives as long as they do.
#pragma once

#include <tools/bench/bench_options.hpp>
#include <tools/bench/measure.hpp>
#include <tools/bench/subject.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

struct BenchContext {
  const BenchOptions& options;  // no list is empty
  const Subject& subject;
  std::filesystem::path scratch;
};

// Summing a large array: the memory's speed, which bounds everything else.
std::vector<Candidate> memory_candidates(const BenchContext& context);

// Payloads in memory into a band of pixels that stays in the cache, one thread.
std::vector<Candidate> decode_candidates(const BenchContext& context);
const std::vector<std::string>& codec_names();

// Payloads in memory to the sums of patterns: decoding and integrating by the cpu backend.
std::vector<Candidate> backend_candidates(const BenchContext& context);

// One frame after the other, each waited for, with all threads on one frame.
std::vector<Candidate> latency_candidates(const BenchContext& context);

// Making a plan, taking it from a cache, and loading it into the backend.
std::vector<Candidate> plan_candidates(const BenchContext& context);

// Opening and reading files in the page cache, normalising sums, writing NeXus.
std::vector<Candidate> read_candidates(const BenchContext& context);
std::vector<Candidate> normalise_candidates(const BenchContext& context);
std::vector<Candidate> write_candidates(const BenchContext& context);

// Files in the page cache to NeXus on disk, plan loaded.
std::vector<Candidate> end_to_end_candidates(const BenchContext& context);

// As backend, but against the detector's size and the number of bins.
std::vector<Candidate> detector_candidates(const BenchContext& context);
std::vector<Candidate> bins_candidates(const BenchContext& context);

}  // namespace annulus
