#include <annulus/core/atomic_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tools/bench/candidates.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "bench_text.hpp"
#include "comma_list.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "option_binder.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

struct BenchCommand {
  BenchOptions options;
  std::string output;
  bool json = false;
  bool quiet = false;
};

int bench(const BenchCommand& command) {
  // Now, not after minutes of measuring; what is there stays until there is something to replace it.
  std::optional<AtomicFile> output;
  if (!command.output.empty()) {
    for (const std::string& input : command.options.config.inputs) {
      std::error_code ignored;
      if (std::filesystem::equivalent(input, command.output, ignored))
        throw Error(ErrorKind::kOutput, command.output, "`output` names an input", "choose another name");
    }
    output.emplace(command.output);
  }
  BenchMonitor monitor;
  monitor.stop = catch_interrupts();
  monitor.begin = [&](const std::string& name, std::size_t candidates) {
    if (command.json || command.quiet) return;
    print_error("measuring {}: {} candidates, {} rounds\n", name, candidates, command.options.rounds);
  };
  const BenchReport report = run_bench(command.options, monitor);
  const std::string json = as_text(to_json(report)) + "\n";
  if (output) {
    output->write(std::as_bytes(std::span(json)));
    output->commit();
  }
  print("{}", command.json ? json : to_text(report));
  return kSuccess;
}

// What makes the plan, but for the error model, of which both are measured.
bool is_of_bench(const OptionInfo& info) {
  const std::string_view key = info.key;
  return (is_of_plan(info) && key != "error_model") || key == "readers" || key == "memory";
}

}  // namespace

void add_bench(CommandLine& program) {
  Command command =
      program.add_command("bench", "Measure how fast decoding, integrating and whole scans are here");
  const auto state = std::make_shared<BenchCommand>();
  BenchOptions& options = state->options;
  bind_options(command, options.config, is_of_bench);

  const Option inputs = command.get("inputs");
  const char* const frames = "Simulated frames, where no inputs are named";
  SimulationOptions& simulation = options.simulation;
  command.add("detector", &simulation.detector, "See 'annulus info --detectors'")
      .excludes(inputs)
      .group(frames);
  command.add("background", &simulation.background, "Counts per pixel at its highest")
      .excludes(inputs)
      .group(frames);
  command.add("ring_counts", &simulation.ring_counts, "Counts per pixel on the brightest ring")
      .excludes(inputs)
      .group(frames);

  const char* const group = "Bench";
  add_comma_list(command, "only", options.only, fmt::format("Of {}", fmt::join(bench_names(), ", ")))
      .group(group);
  command.add("repetitions", &options.rounds, "Samples of each candidate").check(above_zero).group(group);
  command.add("frames", &options.frames, "Frames to hold in memory at most").check(above_zero).group(group);
  command.add("scan_frames", &options.scan_frames, "Frames of an end-to-end run; files are repeated")
      .check(above_zero)
      .group(group);
  add_comma_list(command, "threads", options.threads, "Numbers of threads (default: 1, 2, 4 ... and all)")
      .group(group);
  add_comma_list(command, "batch", options.batches, "Frames side by side (default: 1,2,4,8,16)").group(group);
  add_comma_list(command, "instruction_set", options.instruction_sets, "Default: all that the machine has")
      .group(group);
  add_comma_list(command, "error_model", options.error_models, "Default: no,poisson").group(group);
  add_comma_list(command, "codec", options.codecs,
                 fmt::format("To decode: {}", fmt::join(codec_names(), ",")))
      .group(group);
  add_comma_list(command, "detectors", options.detectors, "For speed against size").group(group);
  add_comma_list(command, "bins", options.bins, "For speed against bins").group(group);
  command.add("scratch", &options.scratch, "Folder for scratch files (default: the system's)").group(group);
  command.add("json", &state->json, "Print JSON").group(group);
  command.add("output", &state->output, "File for the JSON, beside the table", 'o').group(group);
  command.add("quiet", &state->quiet, "Do not tell what is measured", 'q').group(group);
  command.set_action([state] { return bench(*state); });
}

}  // namespace annulus::app
