#include <annulus/engine/correlate_ranks.hpp>
#include <annulus/engine/share.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

namespace annulus::app {
namespace {

struct CorrelateCommand {
  CorrelateConfig config;
  bool json = false;
  bool quiet = false;
};

std::uint64_t count_of(const CorrelateReport& report, SnapshotStatus status) {
  return report.correlation.record.snapshots.count(status);
}

double rate_of(const ReductionSummary& summary) {
  return summary.wall_seconds > 0 ? static_cast<double>(summary.frames) / summary.wall_seconds : 0;
}

nlohmann::ordered_json json_of(const CorrelateReport& report) {
  const ReductionSummary& summary = report.summary;
  const CorrelationSetup& setup = report.correlation.record.setup;
  nlohmann::ordered_json json;
  json["images"] = summary.frames;
  json["already_stored"] = report.already_stored;
  json["counted"] = count_of(report, SnapshotStatus::kCounted);
  json["rejected"] = count_of(report, SnapshotStatus::kRejected);
  json["bad"] = count_of(report, SnapshotStatus::kBad);
  json["finished"] = report.correlation.record.finished;
  json["preview"] = report.preview;
  json["interrupted"] = summary.interrupted;
  if (summary.first_fault) json["first_fault"] = in_our_words(summary.first_fault->what());
  json["images_per_second"] = rate_of(summary);
  json["seconds"] = {{"plan", report.plan_seconds},          {"scan", summary.wall_seconds},
                     {"read_threads", summary.read_seconds}, {"reduce_threads", summary.reduce_seconds},
                     {"correlate", summary.write_seconds},   {"total", report.total_seconds}};
  json["rings"] = setup.shape.rings;
  json["angles"] = setup.shape.angles;
  json["unit"] = setup.radial.units;
  json["range"] = {setup.radial.low(), setup.radial.high()};
  json["scale"] = setup.scale;
  json["plan_hash"] = setup.plan_hash;
  json["masks"] = report.masks;
  json["checkpoints"] = report.checkpoints;
  json["warnings"] = nlohmann::ordered_json::array();
  for (const std::string& warning : report.warnings) json["warnings"].push_back(in_our_words(warning));
  json["output"] = report.output.string();
  return json;
}

std::string text_of(const CorrelateReport& report) {
  const ReductionSummary& summary = report.summary;
  const CorrelationSetup& setup = report.correlation.record.setup;
  std::string text = fmt::format("{} images in {:.2f} s: {:.1f} images/s\n", summary.frames,
                                 summary.wall_seconds, rate_of(summary));
  if (report.already_stored > 0)
    text += fmt::format("{} images were in the output already and are left out\n", report.already_stored);
  text += fmt::format("in the output: {} counted, {} rejected, {} bad\n",
                      count_of(report, SnapshotStatus::kCounted), count_of(report, SnapshotStatus::kRejected),
                      count_of(report, SnapshotStatus::kBad));
  text += fmt::format("correlated: {} rings x {} angles, {} from {:.5g} to {:.5g} {}, scale {}, {}\n",
                      setup.shape.rings, setup.shape.angles, setup.radial.name, setup.radial.low(),
                      setup.radial.high(), setup.radial.units, setup.scale,
                      setup.polar.subtract_mean ? "means subtracted" : "means kept");
  text += fmt::format(
      "time: plan {:.2f} s, read {:.2f} s, decode and integrate {:.2f} s (both added up over threads), "
      "correlate and write {:.2f} s, total {:.2f} s\n",
      report.plan_seconds, summary.read_seconds, summary.reduce_seconds, summary.write_seconds,
      report.total_seconds);
  if (report.preview) text += "this is a preview in single precision: nothing can be added to it\n";
  text += fmt::format("written: {}\n", on_one_line(report.output.string()));
  return text;
}

// What the user hears of a run.
int tell(const CorrelateCommand& command, const CorrelateReport& report) {
  const bool empty = report.correlation.record.snapshots.rows().empty();
  const ReductionSummary& summary = report.summary;
  if (command.json) {
    print("{}\n", as_text(json_of(report)));
  } else if (!command.quiet && !report.failed && !(empty && summary.interrupted)) {
    print("{}", text_of(report));
  }
  const std::string output = report.output.string();
  if (report.failed) {
    if (!empty)
      print_error("annulus: {} images are in {}, which is not finished\n",
                  report.correlation.record.snapshots.rows().size(), on_one_line(output));
    throw *summary.first_fault;
  }
  if (summary.interrupted) {
    throw Error(ErrorKind::kInterrupted, "correlate",
                summary.frames == 0 ? "interrupted before the first image"
                : empty             ? "interrupted, and nothing is written"
                                    : fmt::format("interrupted; {} images are in {}",
                                                  report.correlation.record.snapshots.rows().size(), output));
  }
  if (count_of(report, SnapshotStatus::kBad) > 0) {
    print_error("annulus: {} of the images in {} are bad\n", count_of(report, SnapshotStatus::kBad),
                on_one_line(output));
    return kSomeFramesBad;
  }
  return kSuccess;
}

int correlate(const CorrelateCommand& command) {
  const auto say = [&](const char* kind, const std::string& text) {
    if (!command.quiet) print_error("annulus: {}{}\n", kind, on_one_line(in_our_words(text)));
  };
  std::optional<Progress> progress;  // from the first images on
  RunHooks hooks;
  hooks.note = [&](const std::string& text) { say("", text); };
  hooks.warning = [&](const std::string& text) { say("warning: ", text); };
  hooks.progress = [&](const ReductionProgress& now) {
    if (!progress) progress.emplace("correlating", command.quiet || command.json);
    progress->update(now.frames, now.bad, now.expected);
  };
  CorrelateReport report;
  return share_work(
      [&](Ranks& ranks) { report = annulus::correlate(command.config, ranks, hooks, catch_interrupts()); },
      [&] {
        if (progress) progress->finish();
        return tell(command, report);
      });
}

}  // namespace

void add_correlate(CommandLine& program) {
  Command command =
      program.add_command("correlate", "Correlate snapshots of particles in solution over the azimuth");
  const auto state = std::make_shared<CorrelateCommand>();
  bind_options(command, state->config.reduction, is_of_correlation);
  for_each_own_option(state->config, [&](const OptionInfo& info, auto& field) {
    command.add(info.key, &field, in_our_words(info.help)).group(info.group);
  });
  command.add("json", &state->json, "Print the summary as JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_shared_action([state] { return correlate(*state); });
}

}  // namespace annulus::app
