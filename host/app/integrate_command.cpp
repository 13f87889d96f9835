#include <annulus/backends/registry.hpp>
#include <annulus/core/url.hpp>
#include <annulus/engine/reduction.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/outputs/matrix_file.hpp>
#include <annulus/version.hpp>

#include <fmt/format.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "option_binder.hpp"
#include "option_names.hpp"
#include "progress.hpp"
#include "summary.hpp"

namespace annulus::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct IntegrateCommand {
  IntegrateConfig config;
  std::string config_file;
  bool dump_config = false;
  bool json = false;
  bool quiet = false;
};

// Named after the first input, in the working directory.
fs::path default_output(const IntegrateConfig& config, const std::vector<std::string>& urls,
                        std::uint64_t expected_frames) {
  fs::path stem = fs::path(split_url(urls.front()).file).filename();
  while (stem.has_extension()) stem = stem.stem();
  if (config.format == OutputFormat::kNexus) return stem.string() + ".nxs";
  return stem.string() + (expected_frames == 1 ? ".xy" : "_xy");
}

// A result must never replace what it is made from.
void protect_inputs(const IntegrateConfig& config, const std::vector<std::string>& urls,
                    const fs::path& result, const char* option) {
  std::error_code ignored;
  if (!fs::exists(result, ignored)) return;
  std::vector<std::string> sources = urls;
  for (const std::string& source : {config.poni, config.mask, config.dark, config.flat})
    sources.push_back(source);
  for (const std::string& source : sources) {
    if (!fs::equivalent(split_url(source).file, result, ignored)) continue;
    throw Error(ErrorKind::kOutput, result.string(), fmt::format("{} names an input of this run", option),
                "choose another name");
  }
}

std::unique_ptr<Sink> open_sink(const IntegrateConfig& config, const fs::path& path,
                                std::shared_ptr<const Plan> plan, const RunDescription& run,
                                bool single_frame) {
  const IfExists if_exists = config.overwrite ? IfExists::kOverwrite
                             : config.append  ? IfExists::kAppend
                                              : IfExists::kRefuse;
  if (config.format == OutputFormat::kNexus) return open_nexus(path, std::move(plan), run, if_exists);
  return open_xy(path, std::move(plan), run, if_exists, single_frame);
}

// The sums of large cakes come and go with every frame. By default such memory goes back to the system each
// time, to be cleared and mapped again: a third of the time of a scan.
void keep_memory_warm(const Plan& plan) {
  constexpr std::size_t kLargeSums = std::size_t{128} << 10;
  constexpr int kLargestBlock = 32 << 20;  // more is not possible
  constexpr int kKept = 256 << 20;
  if (plan.bins() * sizeof(std::int64_t) < kLargeSums) return;
  mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  mallopt(M_TRIM_THRESHOLD, kKept);
}

RunDescription describe_run(const IntegrateConfig& config, const ScanPlan& scan,
                            std::uint64_t expected_frames) {
  RunDescription run;
  run.program_version = kVersion;
  run.backend = config.backend;
  run.options = as_text(config);
  for (const auto& [what, text] : scan.from_file) run.options.emplace_back(what + "_from_file", text);
  run.poni_text = scan.poni_text;
  run.config_json = as_text(to_json(config));
  run.expected_frames = expected_frames;
  for (const std::string& url : scan.urls)
    run.longest_source_name = std::max(run.longest_source_name, url.size());
  return run;
}

// From the first file; 0 if that one is not readable. It shapes the output, nothing depends on it.
std::uint64_t guess_frames(const std::vector<std::string>& urls, const OpenOptions& open) {
  try {
    const auto first = open_source(urls.front(), open);
    if (open.follow) return urls.size() * first->info().promised.value_or(0);
    return urls.size() * first->info().frames;
  } catch (const Error&) {
    return 0;
  }
}

ScanPlan plan_unless_interrupted(const IntegrateConfig& config, const std::atomic<bool>& interrupted) {
  try {
    return make_scan_plan(config, &interrupted);
  } catch (const Error&) {
    if (interrupted) throw Error(ErrorKind::kInterrupted, "integrate", "interrupted before the first frame");
    throw;
  }
}

int integrate(IntegrateCommand& command) {
  IntegrateConfig& config = command.config;
  if (command.dump_config) {
    fmt::print("{}\n", as_text(to_json(config)));
    return kSuccess;
  }
  const auto start = Clock::now();
  const auto& interrupted = catch_interrupts();
  const ScanPlan scan = plan_unless_interrupted(config, interrupted);
  const std::vector<std::string>& urls = scan.urls;
  const std::shared_ptr<const Plan>& plan = scan.plan;
  for (const std::string& note : scan.notes) {
    if (!command.quiet) fmt::print(stderr, "annulus: {}\n", in_our_words(note));
  }
  keep_memory_warm(*plan);
  RunReport report;
  report.plan_loaded = scan.plan_loaded;
  report.from_file = scan.from_file;
  report.plan_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report.plan = plan.get();
  const std::uint64_t expected_frames = guess_frames(urls, scan.open);
  report.output =
      config.output.empty() ? default_output(config, urls, expected_frames) : fs::path(config.output);
  report.backend = config.backend;

  // Before the output is touched: neither a backend that is not there or refuses the plan nor a wrong name
  // may cost a file.
  const auto backend = make_backend(config.backend, backend_options(config));
  backend->load(plan);
  protect_inputs(config, urls, report.output, "`output`");
  if (!config.save_matrix.empty()) {
    protect_inputs(config, urls, config.save_matrix, "`save_matrix`");
    write_matrix(config.save_matrix, *plan, config.overwrite);
  }
  const auto sink = open_sink(config, report.output, plan, describe_run(config, scan, expected_frames),
                              expected_frames == 1);
  ReductionSettings settings;
  settings.open = scan.open;
  settings.check_file = [&scan](const FrameSource& source, const std::string& url) {
    check_agreement(scan.defaults, source, url);
  };
  settings.readers = config.readers;
  settings.keep_going = config.keep_going;
  settings.memory_for_frames = config.memory << 20;
  settings.stop_requested = &interrupted;
  Progress progress("integrating", command.quiet || command.json);
  report.summary = reduce_files(urls, plan, *backend, *sink, settings, [&](const ReductionProgress& now) {
    progress.update(now.frames, now.bad, now.expected);
  });
  report.profile = backend->profile();
  const auto closing = Clock::now();
  sink->close();
  report.summary.write_seconds += std::chrono::duration<double>(Clock::now() - closing).count();
  report.total_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  progress.finish();
  const ReductionSummary& summary = report.summary;
  const bool failed = summary.first_fault && !config.keep_going;
  // An output without a single frame would only be in the way of the next try.
  const bool nothing = summary.frames == 0 && !config.append && (failed || summary.interrupted);
  std::error_code ignored;
  if (nothing) fs::remove(report.output, ignored);
  if (command.json) {
    fmt::print("{}\n", as_text(to_json(report)));
  } else if (!command.quiet && !failed && !nothing) {
    fmt::print("{}", to_text(report));
  }
  if (failed) {
    if (summary.frames > 0) {
      fmt::print(stderr, "annulus: {} frames are in {}\n", summary.frames, report.output.string());
    }
    throw *summary.first_fault;
  }
  if (nothing) throw Error(ErrorKind::kInterrupted, "integrate", "interrupted before the first frame");
  if (summary.interrupted) {
    throw Error(ErrorKind::kInterrupted, "integrate",
                fmt::format("interrupted; {} frames are in {}", summary.frames, report.output.string()));
  }
  if (summary.bad > 0) {
    fmt::print(stderr, "annulus: {} of {} frames are bad, the first is {}\n", summary.bad, summary.frames,
               in_our_words(summary.first_fault->what()));
    return kSomeFramesBad;
  }
  return kSuccess;
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
  command.set_action([state, command] {
    apply_config_file(command, state->config_file, state->config);
    return integrate(*state);
  });
}

}  // namespace annulus::app
