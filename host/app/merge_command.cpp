#include <annulus/engine/merge.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/fxs/merge_correlations.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

#include "commands.hpp"
#include "exit_code.hpp"
#include "input_remarks.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

struct MergeCommand {
  MergeOptions options;
  std::vector<std::string> inputs;
  bool as_master = false;
  bool mean = false;
  bool sum = false;
  bool json = false;
  bool quiet = false;
};

MergeTo chosen(const MergeCommand& command) {
  if (command.as_master + command.mean + command.sum > 1) {
    throw Error(ErrorKind::kUsage, "merge", "`virtual`, `mean` and `sum` exclude each other",
                "give one of them");
  }
  if (command.as_master) return MergeTo::kMaster;
  if (command.mean) return MergeTo::kMean;
  return command.sum ? MergeTo::kSum : MergeTo::kFrames;
}

std::string not_there(const std::vector<Part>& parts) {
  return fmt::format("{} {} not among the files", names_of(parts), parts.size() == 1 ? "is" : "are");
}

void warn_of_missing(const std::vector<Part>& parts, const char* so) {
  if (!parts.empty()) print_error("annulus: warning: {}{}\n", not_there(parts), so);
}

nlohmann::ordered_json as_json(const std::vector<Part>& parts) {
  auto json = nlohmann::ordered_json::array();
  for (const Part& part : parts) json.push_back(text_of(part));
  return json;
}

std::string outcome(const MergeOptions& options, const MergeReport& report) {
  const std::string files =
      fmt::format("{} file{}", options.inputs.size(), options.inputs.size() == 1 ? "" : "s");
  if (options.to == MergeTo::kMean || options.to == MergeTo::kSum) {
    return fmt::format("{} of {} frames of {}, {} bad ones left out",
                       options.to == MergeTo::kMean ? "mean" : "sum", report.frames - report.bad, files,
                       report.bad);
  }
  std::string text = fmt::format("{} frames of {} merged, {} bad", report.frames, files, report.bad);
  if (report.missing > 0) text += fmt::format("; {} of the scan are in none of them", report.missing);
  if (!report.missing_parts.empty()) text += fmt::format("; {}", not_there(report.missing_parts));
  return text;
}

int merge_snapshots(const MergeCommand& command) {
  const MergeOptions& options = command.options;
  if (options.to != MergeTo::kFrames || options.scans) {
    throw Error(ErrorKind::kUsage, "merge",
                "sums of correlations add up, and nothing else can be made of them",
                "leave `virtual`, `mean`, `sum` and `scans` out");
  }
  const MergedCorrelations merged = merge_correlations(options.inputs, options.output, options.overwrite);
  warn_of_missing(merged.missing_parts, ", so the correlation is not finished");
  const std::string output = options.output.string();
  if (command.json) {
    const nlohmann::ordered_json json{{"snapshots", merged.counted},
                                      {"rejected", merged.rejected},
                                      {"bad", merged.bad},
                                      {"finished", merged.finished},
                                      {"missing_parts", as_json(merged.missing_parts)},
                                      {"output", output}};
    print("{}\n", as_text(json));
  } else if (!command.quiet) {
    print("correlations of {} snapshots in {} files added up, {} rejected, {} bad\nwritten: {}\n",
          merged.counted, merged.files, merged.rejected, merged.bad, on_one_line(output));
  }
  return merged.bad > 0 ? kSomeFramesBad : kSuccess;
}

int merge(MergeCommand& command) {
  MergeOptions& options = command.options;
  options.inputs.assign(command.inputs.begin(), command.inputs.end());
  options.to = chosen(command);
  if (is_correlation_file(options.inputs.front())) return merge_snapshots(command);
  Progress progress("merging", command.quiet || command.json);
  const MergeReport report = merge_outputs(options, catch_interrupts(), [&](const ReductionProgress& now) {
    progress.update(now.frames, now.bad, now.expected);
  });
  progress.finish();
  for (const std::filesystem::path& input : report.unclosed) warn_unclosed(input);
  warn_of_missing(report.missing_parts, "");
  const std::string output = options.output.string();
  if (command.json) {
    const nlohmann::ordered_json json{{"frames", report.frames},
                                      {"bad_frames", report.bad},
                                      {"missing_frames", report.missing},
                                      {"missing_parts", as_json(report.missing_parts)},
                                      {"output", output}};
    print("{}\n", as_text(json));
  } else if (!command.quiet) {
    print("{}\nwritten: {}\n", outcome(options, report), on_one_line(output));
  }
  return report.bad > 0 ? kSomeFramesBad : kSuccess;
}

}  // namespace

void add_merge(CommandLine& program) {
  Command command =
      program.add_command("merge", "Put outputs of one plan together: frames, a mean, correlations");
  const auto state = std::make_shared<MergeCommand>();
  MergeOptions& options = state->options;
  command
      .add_positional("inputs", &state->inputs,
                      "NeXus files that 'annulus integrate' or 'annulus correlate' wrote")
      .required();
  command.add("output", &options.output, "File to write", 'o').required();
  command.add("virtual", &state->as_master,
              "Write a master: frames stay in the files, which must lie below its folder");
  command.add("mean", &state->mean, "Write one pattern, the mean of all good frames, from their exact sums");
  command.add("sum", &state->sum, "Write one pattern, the sum of all good frames, from their exact sums");
  command.add("scans", &options.scans,
              "The files are of different scans: put them one behind the other (default: parts of one scan)");
  command.add("overwrite", &options.overwrite, "Replace the output if it exists");
  command.add("json", &state->json, "Print JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return merge(*state); });
}

}  // namespace annulus::app
