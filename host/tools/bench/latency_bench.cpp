#include <annulus/backends/registry.hpp>
#include <annulus/plan/sums.hpp>

#include <tools/bench/backend_case.hpp>
#include <tools/bench/candidates.hpp>

#include <algorithm>
#include <memory>

namespace annulus {
namespace {

struct LatencyCase {
  std::shared_ptr<const Workload> workload;
  std::vector<std::string> urls;  // empty: frames are in memory already
  OpenOptions open;
  unsigned threads = 1;
};

Pattern pattern_of(Backend& backend, const Workload& workload, const Frame& frame) {
  backend.submit({frame});
  const std::vector<FrameResult> results = backend.collect();
  demand_good(results.front(), frame);
  return normalise(*workload.job.plan, workload.job.recipe, results.front().sums());
}

// A sample for each frame, on a backend that has seen a few already.
void time_frames(const LatencyCase& latency, std::vector<double>& seconds) {
  const Workload& workload = *latency.workload;
  BackendOptions options;
  options.threads = latency.threads;
  options.cpu.latency = true;
  const auto backend = make_backend("cpu", options);
  backend->load(workload.job);
  constexpr std::size_t kWarmUp = 3;
  for (std::size_t i = 0; i < kWarmUp; ++i) pattern_of(*backend, workload, workload.frames.front());

  const std::size_t count = latency.urls.empty() ? workload.frames.size() : latency.urls.size();
  for (std::size_t i = 0; i < count; ++i) {
    seconds.push_back(seconds_of([&] {
      if (latency.urls.empty()) {
        pattern_of(*backend, workload, workload.frames[i]);
      } else {
        pattern_of(*backend, workload, open_source(latency.urls[i], latency.open)->read(0));
      }
    }));
  }
}

}  // namespace

std::vector<Candidate> latency_candidates(const BenchContext& context) {
  const Subject& subject = context.subject;
  const Work work{1, subject.pixels(), subject.payload_bytes() / subject.frames().size()};
  const std::vector<std::string>& inputs = subject.config().inputs;
  const std::size_t files = std::min<std::size_t>(inputs.size(), subject.frames().size());
  std::vector<Candidate> candidates;
  for (const ErrorModel model : context.options.error_models) {
    const auto workload = std::make_shared<Workload>();
    workload->job = subject.make_job(model);
    workload->frames = subject.frames();
    for (const unsigned threads : context.options.threads) {
      for (const bool from_file : {true, false}) {
        const LatencyCase latency{
            workload,
            from_file ? std::vector(inputs.begin(), inputs.begin() + files) : std::vector<std::string>(),
            open_options(subject.config()), threads};
        candidates.push_back({"latency",
                              {{"from", std::string(from_file ? "file" : "memory")},
                               {"threads", threads},
                               {"error_model", std::string(name_of(model))}},
                              work,
                              [latency](std::vector<double>& seconds) { time_frames(latency, seconds); }});
      }
    }
  }
  return candidates;
}

}  // namespace annulus
