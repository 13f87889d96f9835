#include <annulus/engine/separate.hpp>

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

namespace annulus::app {
namespace {

struct SeparateCommand {
  IntegrateConfig config;
  std::filesystem::path images;
  bool json = false;
  bool quiet = false;
};

// What reads frames once, or makes no sense of all that are named.
bool is_of_separate(const OptionInfo& info) {
  const std::string_view key = info.key;
  return key != "outliers" && key != "append" && key != "part" && key != "follow" &&
         key != "follow_timeout" && key != "format" && key != "spottiness";
}

int tell(const SeparateCommand& command, const SeparateReport& report) {
  const ReductionSummary& summary = report.run.summary;
  if (report.run.failed) throw *summary.first_fault;
  if (summary.interrupted)
    throw Error(ErrorKind::kInterrupted, "separate", "interrupted; no images are written");
  if (command.json) {
    const nlohmann::ordered_json json{{"frames", report.frames},
                                      {"bad_frames", summary.bad},
                                      {"outliers", report.outliers},
                                      {"output", report.run.output.string()},
                                      {"images", report.images.string()}};
    print("{}\n", as_text(json));
  } else if (!command.quiet) {
    print("{} frames, {} pixels in spots\nwritten: {}\nwritten: {}\n", report.frames, report.outliers,
          on_one_line(report.run.output.string()), on_one_line(report.images.string()));
  }
  if (summary.bad == 0) return kSuccess;
  print_error("annulus: {} of {} frames are bad, the first is {}\n", summary.bad, summary.frames,
              on_one_line(in_our_words(summary.first_fault->what())));
  return kSomeFramesBad;
}

int separate_frames(const SeparateCommand& command) {
  std::optional<Progress> progress;
  RunHooks hooks;
  hooks.note = [&](const std::string& text) {
    if (!command.quiet) print_error("annulus: {}\n", on_one_line(in_our_words(text)));
  };
  hooks.warning = [&](const std::string& text) {
    if (!command.quiet) print_error("annulus: warning: {}\n", on_one_line(in_our_words(text)));
  };
  hooks.planned = [&](const Plan&) { progress.emplace("clipping", command.quiet || command.json); };
  hooks.progress = [&](const ReductionProgress& now) { progress->update(now.frames, now.bad, now.expected); };
  const SeparateReport report = separate(command.config, command.images, hooks, catch_interrupts());
  if (progress) progress->finish();
  return tell(command, report);
}

}  // namespace

void add_separate(CommandLine& program) {
  Command command = program.add_command(
      "separate",
      "Separate spots of single crystals from the powder: patterns without spots, and images of both");
  const auto state = std::make_shared<SeparateCommand>();
  bind_options(command, state->config, is_of_separate);
  command.add("images", &state->images, "File of images to write: spots and powder of each frame").required();
  command.add("json", &state->json, "Print JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return separate_frames(*state); });
}

}  // namespace annulus::app
