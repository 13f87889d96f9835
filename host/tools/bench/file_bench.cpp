#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/plan/sums.hpp>
#include <annulus/sources/streams.hpp>
#include <annulus/version.hpp>

#include <tools/bench/backend_case.hpp>
#include <tools/bench/candidates.hpp>

#include <algorithm>
#include <atomic>
#include <memory>

namespace annulus {
namespace {

// A byte of each page: a file that is only mapped has not been read yet.
std::uint64_t touch(const Bytes& payload) {
  constexpr std::size_t kPage = 4096;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < payload.size(); i += kPage)
    sum += std::to_integer<std::uint64_t>(payload.view()[i]);
  return sum;
}

void read_all(const std::vector<std::string>& urls, const OpenOptions& open, unsigned readers) {
  FileStreamSettings settings;
  settings.open = open;
  settings.threads = readers;
  std::atomic<std::uint64_t> sum = 0;  // used, so that the reads are not optimised away
  settings.check_frame = [&](const Frame& frame) { sum += touch(frame.payload); };
  const auto stream = stream_files(urls, std::move(settings));
  stream->read_ahead(16);
  while (const auto item = stream->next({})) {
    if (const auto* const bad = std::get_if<BadFrame>(&*item)) throw bad->error;
  }
}

std::vector<FrameResult> results_of(const Workload& workload) {
  const auto backend = make_backend("cpu");
  backend->load(workload.job);
  std::vector<FrameResult> results;
  for (const Frame& frame : workload.frames) {
    backend->submit({frame});
    for (FrameResult& result : backend->collect()) {
      demand_good(result, frame);
      results.push_back(std::move(result));
    }
  }
  return results;
}

Workload workload_for(const Subject& subject, ErrorModel model) {
  Workload workload;
  workload.job = subject.make_job(model);
  workload.frames = subject.frames();
  return workload;
}

// In groups, as the reduction of a scan writes.
void write_patterns(const std::filesystem::path& path, const Job& job,
                    const std::vector<ReducedFrame>& frames, std::uint64_t count) {
  constexpr std::size_t kGroup = 32;
  RunDescription run;
  run.program_version = kVersion;
  run.expected_frames = count;
  for (const ReducedFrame& frame : frames)
    run.longest_source_name = std::max(run.longest_source_name, frame.id.source.size());
  const auto sink = open_nexus(path, job, run, IfExists::kOverwrite);
  std::vector<ReducedFrame> group;
  for (std::uint64_t i = 0; i < count; ++i) {
    group.push_back(frames[i % frames.size()]);
    group.back().id.index = i;
    if (group.size() < kGroup && i + 1 < count) continue;
    sink->append(group);
    group.clear();
  }
  sink->close();
}

std::vector<ReducedFrame> patterns_of(const Workload& workload) {
  std::vector<ReducedFrame> frames;
  for (FrameResult& result : results_of(workload)) {
    ReducedFrame frame;
    frame.id.source = workload.frames[frames.size()].id.source;
    frame.pattern = normalise(*workload.job.plan, workload.job.recipe, result.sums());
    frame.sums = std::move(result.sums());
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace

std::vector<Candidate> read_candidates(const BenchContext& context) {
  const auto scan = context.subject.scan(context.options.scan_frames);
  const OpenOptions open = open_options(context.subject.config());
  std::vector<Candidate> candidates;
  for (const unsigned readers : context.options.threads) {
    candidates.push_back(
        {"read", {{"readers", readers}}, scan.work, [=, urls = scan.urls](std::vector<double>& seconds) {
           seconds.push_back(seconds_of([&] { read_all(urls, open, readers); }));
         }});
  }
  return candidates;
}

std::vector<Candidate> normalise_candidates(const BenchContext& context) {
  std::vector<Candidate> candidates;
  for (const ErrorModel model : context.options.error_models) {
    const Workload workload = workload_for(context.subject, model);
    const auto results = std::make_shared<const std::vector<FrameResult>>(results_of(workload));
    candidates.push_back({"normalise",
                          {{"bins", workload.job.plan->bins()}, {"error_model", std::string(name_of(model))}},
                          {results->size(), 0, 0},
                          [results, job = workload.job](std::vector<double>& seconds) {
                            seconds.push_back(seconds_of([&] {
                              for (const FrameResult& result : *results)
                                normalise(*job.plan, job.recipe, result.sums());
                            }));
                          }});
  }
  return candidates;
}

std::vector<Candidate> write_candidates(const BenchContext& context) {
  std::vector<Candidate> candidates;
  for (const ErrorModel model : context.options.error_models) {
    const Workload workload = workload_for(context.subject, model);
    const auto patterns = std::make_shared<const std::vector<ReducedFrame>>(patterns_of(workload));
    const std::filesystem::path path = context.scratch / "write.nxs";
    const std::uint64_t count = context.options.scan_frames;
    write_patterns(path, workload.job, *patterns, count);
    candidates.push_back({"write",
                          {{"bins", workload.job.plan->bins()}, {"error_model", std::string(name_of(model))}},
                          {count, 0, std::filesystem::file_size(path)},
                          [=, job = workload.job](std::vector<double>& seconds) {
                            seconds.push_back(
                                seconds_of([&] { write_patterns(path, job, *patterns, count); }));
                          }});
  }
  return candidates;
}

}  // namespace annulus
