#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tools/bench/bench.hpp>
#include <tools/bench/candidates.hpp>
#include <tools/bench/scratch_folder.hpp>

#include <algorithm>

namespace annulus {
namespace {

struct Bench {
  const char* name;
  const char* title;
  bool needs_plan;
  std::vector<Candidate> (*candidates)(const BenchContext&);
};

constexpr Bench kBenches[] = {
    {"memory", "reading memory: sum of 256 MiB", false, memory_candidates},
    {"decode", "decoding payloads in memory into a band in the cache", false, decode_candidates},
    {"backend", "decoding and integrating, payloads in memory to sums", true, backend_candidates},
    {"latency", "one frame at a time, all threads on it, until its pattern is in memory", true,
     latency_candidates},
    {"plan", "the plan: made, loaded into the backend, taken from a cache", true, plan_candidates},
    {"read", "reading files in the page cache", false, read_candidates},
    {"normalise", "from sums to patterns, one thread", true, normalise_candidates},
    {"write", "writing NeXus, one thread", true, write_candidates},
    {"end-to-end", "files in the page cache to NeXus, plan loaded", true, end_to_end_candidates},
    {"detectors", "as backend, against the detector's size", true, detector_candidates},
    {"bins", "as backend, against the number of bins", true, bins_candidates},
};

const Bench& find_bench(std::string_view name) {
  for (const Bench& bench : kBenches) {
    if (name == bench.name) return bench;
  }
  throw Error(ErrorKind::kUsage, "`only`", fmt::format("there is no bench '{}'", name),
              fmt::format("there are {}", fmt::join(bench_names(), ", ")));
}

// 1, 2, 4 ... and all.
std::vector<unsigned> threads_to_try(unsigned all) {
  std::vector<unsigned> threads;
  for (unsigned count = 1; count < all; count *= 2) threads.push_back(count);
  threads.push_back(all);
  return threads;
}

template <typename T>
void fill(std::vector<T>& list, std::vector<T> values) {
  if (list.empty()) list = std::move(values);
}

void choose_defaults(BenchOptions& options) {
  const bool own_frames = !options.config.inputs.empty();
  if (options.only.empty()) {
    options.only = bench_names();
    if (own_frames) std::erase(options.only, "detectors");
  }
  fill(options.instruction_sets, available_instruction_sets());
  fill(options.threads, threads_to_try(resolve_threads(0)));
  fill(options.batches, {1, 2, 4, 8, 16});
  fill(options.error_models, {ErrorModel::kNone, ErrorModel::kPoisson});
  fill(options.codecs, codec_names());
  fill(options.detectors, {"Pilatus100k", "Pilatus300k", "Pilatus1M", "Pilatus2M", "Pilatus6M"});
  fill(options.bins, {100, 300, 1000, 3000, 10000});
}

// What only the benches themselves would find out late, or never.
void check(const BenchOptions& options) {
  bool needs_plan = false;
  for (const std::string& name : options.only) needs_plan |= find_bench(name).needs_plan;
  const bool own_frames = !options.config.inputs.empty();
  if (!own_frames && !options.config.poni.empty()) {
    throw Error(ErrorKind::kUsage, "`poni`", "it goes with frames, and none are named",
                "name frames, or leave it out to measure simulated ones");
  }
  if (own_frames && needs_plan) annulus::check(options.config);
  if (own_frames && std::ranges::count(options.only, "detectors") > 0) {
    throw Error(ErrorKind::kUsage, "`only`", "frames of several detectors can only be simulated",
                "leave the inputs out");
  }
  for (const InstructionSet set : options.instruction_sets) {
    if (std::ranges::count(available_instruction_sets(), set) > 0) continue;
    std::vector<std::string_view> names;
    for (const InstructionSet available : available_instruction_sets()) names.push_back(name_of(available));
    throw Error(ErrorKind::kUsage, "`instruction_set`",
                fmt::format("'{}' is not available here", name_of(set)),
                fmt::format("this machine has: {}", fmt::join(names, ", ")));
  }
  for (const std::string& codec : options.codecs) {
    if (std::ranges::count(codec_names(), codec) > 0) continue;
    throw Error(ErrorKind::kUsage, "`codec`", fmt::format("there is no codec '{}'", codec),
                fmt::format("there are {}", fmt::join(codec_names(), ", ")));
  }
  // Names of detectors are looked up, so that a misspelt one does not cost what was measured before it.
  SimulationOptions simulation = options.simulation;
  for (const std::string& detector : options.detectors) {
    simulation.detector = detector;
    simulated_geometry(simulation);
  }
}

unsigned usual_batch(const BenchOptions& options) {
  return static_cast<unsigned>(cpu_batch_size(options.instruction_sets.back()));
}

}  // namespace

std::vector<std::string> bench_names() {
  std::vector<std::string> names;
  for (const Bench& bench : kBenches) names.emplace_back(bench.name);
  return names;
}

std::string_view bench_title(std::string_view bench) { return find_bench(bench).title; }

BenchReport run_bench(const BenchOptions& asked, const BenchMonitor& monitor) {
  BenchReport report;
  report.options = asked;
  choose_defaults(report.options);
  const BenchOptions& options = report.options;
  check(options);
  report.machine = describe_machine();
  report.usual_batch = usual_batch(options);

  const auto before_run = [&] {
    if (monitor.stop.stop_requested()) throw Error(ErrorKind::kInterrupted, "bench", "interrupted");
  };
  const ScratchFolder scratch(options.scratch);
  const Subject subject(options, scratch.path() / "scan");
  report.subject = subject.name();
  report.simulated = subject.simulated();
  report.shape = subject.frames().front().shape;
  report.frames_in_memory = subject.frames().size();
  report.payload_bytes = subject.payload_bytes();
  for (const Bench& bench : kBenches) {
    if (std::ranges::count(options.only, bench.name) == 0) continue;
    before_run();
    const auto candidates = bench.candidates({options, subject, scratch.path()});
    if (monitor.begin) monitor.begin(bench.name, candidates.size());
    for (Figure& figure : measure(candidates, options.rounds, before_run))
      report.figures.push_back(std::move(figure));
  }
  return report;
}

}  // namespace annulus
