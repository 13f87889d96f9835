#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/engine/config.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/verify_output.hpp>
#include <annulus/sources/streams.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json_text.hpp"
#include "option_binder.hpp"
#include "option_names.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

struct VerifyCommand {
  IntegrateConfig config;
  bool json = false;
  bool quiet = false;
};

struct VerifyResult {
  std::uint64_t frames = 0;
  std::uint64_t recorded_bad = 0;
  nlohmann::json faults = nlohmann::json::array();
  nlohmann::json notes = nlohmann::json::array();

  void add_fault(const std::string& text) { faults.push_back(in_our_words(text)); }
};

// Reads and decodes every frame to its last byte, with the checksum where there is one.
void verify_frames(const std::vector<std::string>& urls, const VerifyCommand& command, VerifyResult& result) {
  FileStreamSettings settings;
  settings.open = open_options(command.config);
  settings.open.verify_checksum = true;
  settings.threads = resolve_threads(0);
  settings.check_frame = [](const Frame& frame) { decode_frame(frame); };
  const auto stream = stream_files(urls, settings);
  stream->read_ahead(2 * settings.threads);
  Progress progress("verifying", command.quiet || command.json);
  while (const auto item = stream->next({})) {
    if (std::holds_alternative<Pause>(*item)) continue;
    ++result.frames;
    if (const auto* const bad = std::get_if<BadFrame>(&*item)) result.add_fault(bad->error.what());
    progress.update(result.frames, result.faults.size(), stream->expected());
  }
  progress.finish();
}

// A file that cannot be asked is verified as frames, which says why, and the others are verified too.
bool may_be_output(const std::string& url) {
  try {
    return is_annulus_output(url) || was_annulus_output(url);
  } catch (const Error&) {
    return false;
  }
}

// A file that cannot be asked is none of them: see above.
DerivedFile derived_kind(const std::string& url) {
  try {
    return derived_file(url);
  } catch (const Error&) {
    return DerivedFile::kNone;
  }
}

void verify_snapshots(const std::string& url, VerifyResult& result) {
  const CorrelationCheck check = verify_correlation(url);
  result.frames += check.snapshots;
  result.recorded_bad += check.bad;
  for (const std::string& fault : check.faults) result.add_fault(fault);
  for (const std::string& note : check.notes) result.notes.push_back(in_our_words(note));
}

int verify(const VerifyCommand& command) {
  std::vector<std::string> frames;
  VerifyResult result;
  for (const std::string& url : expand_inputs(command.config.inputs)) {
    const DerivedFile kind = derived_kind(url);
    if (kind == DerivedFile::kCorrelation) {
      verify_snapshots(url, result);
      continue;
    }
    if (kind != DerivedFile::kNone) {
      result.add_fault(fmt::format(
          "{}: is {}: it holds no integers that could be verified (verify the patterns that it was made of)",
          url, noun_of(kind)));
      continue;
    }
    if (!may_be_output(url)) {
      frames.push_back(url);
      continue;
    }
    const OutputCheck check = verify_output(url);
    result.frames += check.frames;
    result.recorded_bad += check.recorded_bad;
    for (const std::string& fault : check.faults) result.add_fault(fault);
    for (const std::string& note : check.notes) result.notes.push_back(in_our_words(note));
  }
  if (!frames.empty()) verify_frames(frames, command, result);

  if (command.json) {
    print("{}\n", as_text(nlohmann::json{{"frames", result.frames},
                                         {"recorded_bad", result.recorded_bad},
                                         {"faults", result.faults},
                                         {"notes", result.notes}}));
  } else {
    for (const auto& fault : result.faults) print_error("bad: {}\n", on_one_line(fault.get<std::string>()));
    const std::string recorded =
        result.recorded_bad > 0 ? fmt::format("; {} recorded as bad when reduced", result.recorded_bad) : "";
    if (!command.quiet) {
      for (const auto& note : result.notes)
        print_error("annulus: {}\n", on_one_line(note.get<std::string>()));
      print("{} frames verified, {} bad{}\n", result.frames, result.faults.size(), recorded);
    }
  }
  return result.faults.empty() ? kSuccess : kInputError;
}

}  // namespace

void add_verify(CommandLine& program) {
  Command command = program.add_command("verify",
                                        "Check frames (checksum, every pixel decodes) and outputs (patterns "
                                        "follow from accumulators, checksums)");
  const auto state = std::make_shared<VerifyCommand>();
  bind_options(command, state->config, is_of_inputs);
  command.add("json", &state->json, "Print JSON");
  command.add("quiet", &state->quiet, "Print nothing but faults", 'q');
  command.set_action([state] { return verify(*state); });
}

}  // namespace annulus::app
