#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/ranked_run.hpp>
#include <annulus/engine/run_ranks.hpp>
#include <annulus/outputs/held_frames.hpp>
#include <annulus/outputs/master_file.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

void refuse(const char* option, const char* why, const char* cure) {
  throw Error(ErrorKind::kUsage, option, why, cure);
}

void check_can_be_shared(const IntegrateConfig& config) {
  if (config.follow)
    refuse("`follow`", "several processes cannot follow a scan together", "start one process");
  if (output_format(config) != OutputFormat::kNexus) {
    refuse("`format`", "several processes write their results as parts of a NeXus output",
           "choose nexus, or start one process");
  }
}

class SharedRun {
 public:
  SharedRun(const IntegrateConfig& config, Ranks& ranks, const RunHooks& hooks, std::stop_token stop)
      : config_(config), ranks_(ranks), common_(ranks, hooks, std::move(stop)) {}

  RunReport run();

 private:
  PartPlace begin_part(const SharedScan& scan);
  void make_room() const;
  void check_folder(const std::vector<fs::path>& parts) const;
  void reduce_part();
  void write_whole();

  const IntegrateConfig& config_;
  Ranks& ranks_;
  RankedRun common_;
  fs::path master_;  // as soon as all have begun
  HeldFrames held_;  // by all parts of earlier runs
  RunReport report_;
};

// A part that is made now would name its frames from here, and the master says once, as the first part does,
// what names are relative to.
void SharedRun::check_folder(const std::vector<fs::path>& parts) const {
  bool all_there = true;
  for (unsigned rank = 0; rank < ranks_.size(); ++rank)
    all_there &= std::ranges::find(parts, part_name(master_, rank)) != parts.end();
  const auto is_relative = [](const std::string& input) { return fs::path(input).is_relative(); };
  if (parts.empty() || all_there || std::ranges::none_of(config_.inputs, is_relative)) return;
  const fs::path folder = PatternFile(parts.front()).header().working_directory;
  if (folder == fs::current_path()) return;
  throw Error(ErrorKind::kOutput, parts.front().string(),
              fmt::format("was made in {}, which names of its frames are relative to", folder.string()),
              "go on in that folder, or name the inputs from the root");
}

// What earlier runs left is refused, removed, or gone on with. Only the first rank does this.
void SharedRun::make_room() const {
  check_output_folder(master_);
  std::error_code ignored;
  const fs::path folder = parts_folder(master_);
  const std::vector<fs::path> parts = find_parts(master_);
  const bool there = fs::exists(master_, ignored);
  if (config_.append) {
    if (there && !is_master(master_)) {
      throw Error(ErrorKind::kOutput, master_.string(), "is the output of one process, and has no parts",
                  "go on with one process, or choose another name");
    }
    check_folder(parts);
  } else if (config_.overwrite) {
    std::vector<fs::path> old = parts;
    if (there) old.push_back(master_);
    remove_outputs(old);
  } else if (there || !parts.empty()) {
    throw Error(ErrorKind::kOutput, there ? master_.string() : folder.string(),
                there ? "exists" : "holds parts of an earlier run",
                "`append` goes on with it, `overwrite` replaces it");
  }
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (failed) throw Error(ErrorKind::kOutput, folder.string(), "cannot be made: " + failed.message());
  try {
    check_master_place(master_, config_.append ? IfExists::kAppend : IfExists::kOverwrite);
  } catch (const Error&) {
    fs::remove(folder, ignored);  // if it is empty
    throw;
  }
}

PartPlace SharedRun::begin_part(const SharedScan& scan) {
  master_ = real_output(scan.output);
  together(ranks_, [&] {
    if (ranks_.is_first()) make_room();
  });
  const fs::path ours = part_name(master_, ranks_.rank());
  // All have read what there is before anybody writes.
  together(ranks_, [&] {
    const std::vector<fs::path> parts = find_parts(master_);
    for (const fs::path& part : parts) scan.check(part);
    held_ = held_frames(parts, fs::current_path());
    check_order(scan.files, held_);
  });
  return {ours, held_.places, held_.source_length};
}

void SharedRun::reduce_part() {
  IntegrateConfig ours = config_;
  ours.backend_options.device = device_of(config_, ranks_);
  if (!ranks_.is_first()) ours.save_matrix.clear();
  const Share share = common_.share([this](const SharedScan& scan) { return begin_part(scan); },
                                    [this](const FrameId& frame) { return held_.find(frame); });
  report_ = annulus::run(ours, share, common_.hooks(), ranks_.stopped());
}

// The master of all parts, or nothing if there is nothing to keep. Only the first rank does this.
void SharedRun::write_whole() {
  const ReductionSummary& summary = report_.summary;
  report_.output = master_;
  if (summary.frames == 0 && !config_.append && (report_.failed || summary.interrupted)) {
    remove_parts(master_);
    report_.output_removed = true;
    return;
  }
  // Parts of ranks that were killed, and are not there any more.
  for (const fs::path& part : find_parts(master_)) close_left(part);
  const MasterContent content = write_master(master_, find_parts(master_),
                                             config_.overwrite ? IfExists::kOverwrite : IfExists::kAppend);
  report_.already_stored = content.frames - summary.frames;
  report_.already_bad = content.bad - summary.bad;
  report_.output_removed = false;
  if (content.missing == 0 || report_.failed || summary.interrupted || common_.failure()) return;
  throw Error(ErrorKind::kInput, master_.string(),
              fmt::format("{} frames of the scan are in no part", content.missing),
              "did its files change meanwhile? The same command with `append` reduces what is missing");
}

RunReport SharedRun::run() {
  const auto start = Clock::now();
  common_.do_part([this] { reduce_part(); });
  common_.meet(report_.failed, parts_folder(master_));
  PartSummary all =
      common_.gather({report_.summary, report_.warnings, report_.failed, common_.failure().has_value()});
  report_.summary = std::move(all.summary);
  report_.warnings = std::move(all.warnings);
  report_.failed = all.failed;
  together(ranks_, [&] {
    if (ranks_.is_first()) {
      try {
        write_whole();
      } catch (const Error&) {
        if (!all.aborted) throw;  // otherwise it follows from that
      }
    }
    if (common_.failure()) throw *common_.failure();
  });
  report_.total_seconds = seconds_since(start);
  return std::move(report_);
}

}  // namespace

RunReport run(const IntegrateConfig& config, Ranks& ranks, const RunHooks& hooks, std::stop_token stop) {
  const fs::path output = real_output(config.output);
  const bool goes_on = config.append && !config.output.empty() && !find_parts(output).empty() &&
                       (!fs::exists(output) || is_master(output));
  if (ranks.size() == 1 && !goes_on) return run(config, hooks, stop);
  together(ranks, [&] { check_can_be_shared(config); });
  return SharedRun(config, ranks, hooks, std::move(stop)).run();
}

}  // namespace annulus
