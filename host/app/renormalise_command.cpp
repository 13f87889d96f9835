#include <annulus/engine/renormalise.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

#include "commands.hpp"
#include "exit_code.hpp"
#include "input_remarks.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "option_names.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

struct RenormaliseCommand {
  RenormaliseOptions options;
  bool json = false;
  bool quiet = false;
};

int renormalise_output(const RenormaliseCommand& command) {
  Progress progress("renormalising", command.quiet || command.json);
  const RenormaliseReport report =
      renormalise(command.options, catch_interrupts(),
                  [&](const ReductionProgress& now) { progress.update(now.frames, now.bad, now.expected); });
  progress.finish();
  const std::string output = command.options.output.string();
  if (report.unclosed) warn_unclosed(command.options.input);
  if (command.json) {
    nlohmann::ordered_json json{{"frames", report.frames}, {"bad_frames", report.bad}};
    if (report.first_fault) json["first_fault"] = in_our_words(report.first_fault->what());
    for (const ColumnInfo& column : report.columns)
      json["columns"][column.name] = {{"unit", column.unit}, {"origin", column.origin}};
    if (!report.monitor.empty()) json["monitor"] = report.monitor;
    json["output"] = output;
    print("{}\n", as_text(json));
  } else if (!command.quiet) {
    const std::string by = report.monitor.empty() ? "" : " by " + report.monitor;
    print("{} frames normalised{}, {} bad\nwritten: {}\n", report.frames, on_one_line(by), report.bad,
          on_one_line(output));
  }
  if (!report.first_fault) return report.bad > 0 ? kSomeFramesBad : kSuccess;
  print_error("annulus: {} of {} frames are bad, the first for its monitor is {}\n", report.bad,
              report.frames, on_one_line(in_our_words(report.first_fault->what())));
  return kSomeFramesBad;
}

}  // namespace

void add_renormalise(CommandLine& program) {
  Command command = program.add_command(
      "renormalise", "Divide the frames of an output by another monitor, from the sums that it holds");
  const auto state = std::make_shared<RenormaliseCommand>();
  RenormaliseOptions& options = state->options;
  command.add_positional("input", &options.input, "NeXus file that 'annulus integrate' wrote").required();
  command.add("output", &options.output, "File to write", 'o').required();
  command.add("monitor", &options.monitor,
              "What divides each frame: a column of the input, or [NAME=]FILE.csv#COLUMN or FILE.h5::/PATH "
              "(default: nothing)");
  command.add("normalization_factor", &options.normalization_factor, "Divides all frames, beside --monitor");
  command.add("allow_links", &options.allow_links,
              "Folder below which HDF5 files may link to others (default: only below their own)");
  command.add("keep_going", &options.keep_going, "Record frames whose monitor cannot divide as bad");
  command.add("overwrite", &options.overwrite, "Replace the output if it exists");
  command.add("json", &state->json, "Print JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return renormalise_output(*state); });
}

}  // namespace annulus::app
