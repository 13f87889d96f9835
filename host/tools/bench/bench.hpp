// How fast this program is on this machine: every part of the way alone, and all of it together.
#pragma once

#include <tools/bench/bench_options.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/measure.hpp>

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// Benches in the order they are run: "memory", "decode", ...
std::vector<std::string> bench_names();

// What the times of a bench are of, for people.
std::string_view bench_title(std::string_view bench);

struct BenchReport {
  Machine machine;
  BenchOptions options;  // with nothing left open
  std::string subject;   // the detector, or the first of the user's files
  bool simulated = false;
  Shape shape;
  std::uint64_t frames_in_memory = 0;
  std::uint64_t payload_bytes = 0;  // of those frames
  unsigned usual_batch = 0;         // frames side by side where no batch is asked for
  std::vector<Figure> figures;
};

struct BenchMonitor {
  // Before a bench is run.
  std::function<void(const std::string& bench, std::size_t candidates)> begin;
  std::stop_token stop = {};  // ends the measuring before the next candidate
};

// Throws kUsage for options that make no sense, before anything is measured.
BenchReport run_bench(const BenchOptions& options, const BenchMonitor& monitor);

}  // namespace annulus
