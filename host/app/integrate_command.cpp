#include <annulus/engine/run_ranks.hpp>

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

#include "commands.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "option_binder.hpp"
#include "option_names.hpp"
#include "print.hpp"
#include "progress.hpp"
#include "shared_work.hpp"
#include "summary.hpp"

namespace annulus::app {
namespace {

struct IntegrateCommand {
  IntegrateConfig config;
  std::string config_file;
  bool dump_config = false;
  bool json = false;
  bool quiet = false;
};

// What the user hears of a run.
int tell(const IntegrateCommand& command, const RunReport& report) {
  const ReductionSummary& summary = report.summary;
  if (command.json) {
    print("{}\n", as_text(app::to_json(report)));
  } else if (!command.quiet && !report.failed && !report.output_removed) {
    print("{}", to_text(report));
  }
  if (report.failed) {
    if (summary.frames > 0) {
      print_error("annulus: {} frames are in {}\n", summary.frames, on_one_line(report.output.string()));
    }
    throw *summary.first_fault;
  }
  if (report.output_removed)
    throw Error(ErrorKind::kInterrupted, "integrate", "interrupted before the first frame");
  if (summary.interrupted) {
    throw Error(ErrorKind::kInterrupted, "integrate",
                fmt::format("interrupted; {} frames are in {}", summary.frames, report.output.string()));
  }
  if (summary.bad > 0) {
    print_error("annulus: {} of {} frames are bad, the first is {}\n", summary.bad, summary.frames,
                on_one_line(in_our_words(summary.first_fault->what())));
    return kSomeFramesBad;
  }
  if (report.already_bad > 0) {
    print_error("annulus: {} of the frames that were in {} already are bad\n", report.already_bad,
                on_one_line(report.output.string()));
    return kSomeFramesBad;
  }
  return kSuccess;
}

int integrate(const IntegrateCommand& command) {
  const IntegrateConfig& config = command.config;
  if (command.dump_config) {
    print("{}\n", as_text(to_json(config)));
    return kSuccess;
  }
  std::optional<Progress> progress;  // from the first frame on
  RunHooks hooks;
  hooks.note = [&](const std::string& text) {
    if (!command.quiet) print_error("annulus: {}\n", on_one_line(in_our_words(text)));
  };
  hooks.warning = [&](const std::string& text) {
    if (!command.quiet) print_error("annulus: warning: {}\n", on_one_line(in_our_words(text)));
  };
  hooks.planned = [&](const Plan&) { progress.emplace("integrating", command.quiet || command.json); };
  hooks.progress = [&](const ReductionProgress& now) { progress->update(now.frames, now.bad, now.expected); };
  RunReport report;
  return share_work([&](Ranks& ranks) { report = run(config, ranks, hooks, catch_interrupts()); },
                    [&] {
                      progress->finish();
                      return tell(command, report);
                    });
}

}  // namespace

void add_integrate(CommandLine& program) {
  Command command = program.add_command("integrate", "Reduce frames to diffraction patterns");
  const auto state = std::make_shared<IntegrateCommand>();
  bind_options(command, state->config, any_option);
  bind_config_file(command, state->config_file);
  command.add("dump_config", &state->dump_config, "Print the configuration as JSON and leave");
  command.add("json", &state->json, "Print the summary as JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_shared_action([state, command] {
    apply_config_file(command, state->config_file, state->config);
    return integrate(*state);
  });
}

}  // namespace annulus::app
