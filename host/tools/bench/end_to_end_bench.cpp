#include <annulus/backends/registry.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/sources/streams.hpp>
#include <annulus/version.hpp>

#include <tools/bench/candidates.hpp>

#include <algorithm>
#include <memory>

namespace annulus {
namespace {

struct EndToEndCase {
  Subject::Scan scan;
  OpenOptions open;
  Job job;
  unsigned threads = 1;
  unsigned readers = 2;
  std::uint64_t memory = 0;  // MiB
  std::filesystem::path output;
};

// The backend is there and has the plan: the time is that of a scan, as 'annulus integrate' states it, with
// opening and closing the output.
void time_scan(const EndToEndCase& run, std::vector<double>& seconds) {
  BackendOptions options;
  options.threads = run.threads;
  const auto backend = make_backend("cpu", options);
  backend->load(run.job);
  RunDescription description;
  description.program_version = kVersion;
  description.expected_frames = run.scan.work.frames;
  for (const std::string& url : run.scan.urls)
    description.longest_source_name = std::max(description.longest_source_name, url.size());
  FileStreamSettings files;
  files.open = run.open;
  files.open.map_payloads = true;
  files.threads = run.readers;
  files.memory = run.memory << 20;
  ReductionSettings settings;
  settings.memory_for_frames = files.memory;
  ReductionSummary summary;
  seconds.push_back(seconds_of([&] {
    const auto sink = open_nexus(run.output, run.job, description, IfExists::kOverwrite);
    const auto stream = stream_files(run.scan.urls, files);
    summary = reduce(*stream, run.job, *backend, *sink, settings);
    sink->close();
  }));
  if (summary.first_fault) throw *summary.first_fault;
}

}  // namespace

std::vector<Candidate> end_to_end_candidates(const BenchContext& context) {
  const IntegrateConfig& config = context.subject.config();
  std::vector<Candidate> candidates;
  for (const ErrorModel model : context.options.error_models) {
    const Job job = context.subject.make_job(model);
    for (const unsigned threads : context.options.threads) {
      const EndToEndCase run{context.subject.scan(context.options.scan_frames),
                             open_options(config),
                             job,
                             threads,
                             config.readers,
                             config.memory,
                             context.scratch / "end_to_end.nxs"};
      candidates.push_back(
          {"end-to-end",
           {{"threads", threads}, {"readers", run.readers}, {"error_model", std::string(name_of(model))}},
           run.scan.work,
           [run](std::vector<double>& seconds) { time_scan(run, seconds); }});
    }
  }
  return candidates;
}

}  // namespace annulus
