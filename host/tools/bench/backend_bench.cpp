#include <annulus/backends/cpu/cpu_reducer.hpp>

#include <tools/bench/backend_case.hpp>
#include <tools/bench/candidates.hpp>

#include <algorithm>

namespace annulus {
namespace {

// One thing at a time is varied around what a user gets who asks for nothing.
std::vector<BackendCase> cases_of(const BenchOptions& options) {
  const unsigned most_threads = *std::max_element(options.threads.begin(), options.threads.end());
  const BackendCase usual{options.instruction_sets.back(), most_threads, 0};
  std::vector<BackendCase> cases;
  const auto add = [&](BackendCase added) {
    // The batch that suits has a number too: it is measured once.
    if (added.batch == 0) added.batch = static_cast<unsigned>(cpu_batch_size(added.instruction_set));
    if (std::find(cases.begin(), cases.end(), added) == cases.end()) cases.push_back(added);
  };
  add(usual);
  for (const InstructionSet set : options.instruction_sets) add({set, usual.threads, usual.batch});
  for (const unsigned threads : options.threads) add({usual.instruction_set, threads, usual.batch});
  for (const unsigned batch : options.batches) add({usual.instruction_set, usual.threads, batch});
  return cases;
}

}  // namespace

std::vector<Candidate> backend_candidates(const BenchContext& context) {
  std::vector<Candidate> candidates;
  for (const ErrorModel model : context.options.error_models) {
    const auto workload = std::make_shared<Workload>();
    workload->job = context.subject.make_job(model);
    workload->frames = context.subject.frames();
    for (const BackendCase& each : cases_of(context.options)) {
      const Work work = work_of(each, *workload);
      candidates.push_back(
          {"backend",
           {{"instruction_set", std::string(name_of(each.instruction_set))},
            {"threads", each.threads},
            {"batch", each.batch},
            {"error_model", std::string(name_of(model))}},
           work,
           [=](std::vector<double>& seconds) { time_backend(each, *workload, work.frames, seconds); }});
    }
  }
  return candidates;
}

}  // namespace annulus
