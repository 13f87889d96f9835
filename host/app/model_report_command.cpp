#include <annulus/engine/scan_plan.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "cycle_text.hpp"
#include "exit_code.hpp"
#include "json_text.hpp"
#include "option_binder.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

namespace fs = std::filesystem;

struct ModelReportCommand {
  IntegrateConfig config;
  std::string config_file;
  std::string card = "u50";
  std::optional<double> clock_mhz;
  std::uint64_t frames = 4;
  bool json = false;
};

// Cards are found from where the program is, which has the same place in a build and in an installation.
fs::path platform_folder() {
  const char* const chosen = std::getenv("ANNULUS_PLATFORM_DIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code ignored;
  return (fs::read_symlink("/proc/self/exe", ignored).parent_path() / ANNULUS_PLATFORM_FROM_PROGRAM)
      .lexically_normal();
}

CycleReport count_cycles(const ModelReportCommand& command, const ScanPlan& scan) {
  demand_sums_only(command.config.recipe, "model-report");
  CycleCounter counter({scan.plan, command.config.recipe});
  Progress progress("counting", command.json);
  for (std::uint64_t done = 0; done < command.frames;) {
    const auto item = scan.stream->next({});
    if (!item) break;
    if (const auto* const bad = std::get_if<BadFrame>(&*item)) throw bad->error;
    const auto* const frame = std::get_if<Frame>(&*item);
    if (frame == nullptr) continue;
    counter.add(*frame);
    progress.update(++done, 0, std::min(command.frames, scan.stream->expected()));
  }
  progress.finish();
  return counter.report();
}

int report_model(const ModelReportCommand& command) {
  const Card card = read_card(command.card, platform_folder());
  const CycleReport report = count_cycles(command, make_scan_plan(command.config));
  const Prediction prediction = predict(report, card, command.clock_mhz.value_or(card.clock_mhz));
  if (command.json) {
    print("{}\n", as_text(to_json(report, card, prediction)));
  } else {
    print("{}", to_text(report, card, prediction));
  }
  return kSuccess;
}

}  // namespace

void add_model_report(CommandLine& program) {
  Command command = program.add_command(
      "model-report", "Count what frames cost in the FPGA kernels, and predict a card's frame rate");
  const auto state = std::make_shared<ModelReportCommand>();
  bind_options(command, state->config, is_of_plan);
  const char* const group = "Report";
  command.add("card", &state->card, "Folder of platform/, or a file card.json").group(group);
  command.add("clock", &state->clock_mhz, "MHz (default: the card's)").check(above_zero).group(group);
  command.add("frames", &state->frames, "Frames to run at most").check(above_zero).group(group);
  command.add("json", &state->json, "Print JSON").group(group);
  bind_config_file(command, state->config_file);
  command.set_action([state, command] {
    apply_config_file(command, state->config_file, state->config);
    return report_model(*state);
  });
}

}  // namespace annulus::app
