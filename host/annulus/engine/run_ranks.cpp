#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/ranked_run.hpp>
#include <annulus/engine/run_ranks.hpp>
#include <annulus/outputs/held_frames.hpp>
#include <annulus/outputs/master_file.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
  fs::path begin_part(const fs::path& output);
  void make_room() const;
  void check_monitors(const std::vector<fs::path>& parts) const;
  void check_folder(const std::vector<fs::path>& parts) const;
  void reduce_part();
  void write_whole();

  const IntegrateConfig& config_;
  Ranks& ranks_;
  RankedRun common_;
  fs::path master_;  // as soon as all have begun
  std::function<Held(const FrameId&)> held_elsewhere_;
  RunReport report_;
};

// Before any rank writes: those whose part is there would be refused, and the others go on without them.
void SharedRun::check_monitors(const std::vector<fs::path>& parts) const {
  const std::string ours = to_json(config_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const fs::path& part : parts) {
    const std::string what = difference_of_division(PatternFile(part).header().config_json, ours);
    if (what.empty()) continue;
    throw Error(ErrorKind::kOutput, part.string(),
                fmt::format("its frames and those of this run do not go together, they differ: {}", what),
                "give the options that it was made with, or choose another `output`");
  }
}

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
  std::error_code ignored;
  const fs::path folder = parts_folder(master_);
  const std::vector<fs::path> parts = find_parts(master_);
  const bool there = fs::exists(master_, ignored);
  if (config_.append) {
    if (there && !is_master(master_)) {
      throw Error(ErrorKind::kOutput, master_.string(), "is the output of one process, and has no parts",
                  "go on with one process, or choose another name");
    }
    check_monitors(parts);
    check_folder(parts);
  } else if (config_.overwrite) {
    if (there && is_master(master_)) fs::remove(master_, ignored);  // it is nothing without its parts
    for (const fs::path& part : parts) fs::remove(part, ignored);
  } else if (there || !parts.empty()) {
    throw Error(ErrorKind::kOutput, there ? master_.string() : folder.string(),
                there ? "exists" : "holds parts of an earlier run",
                "`append` goes on with it, `overwrite` replaces it");
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error(ErrorKind::kOutput, folder.string(), "cannot be made: " + failed.message());
}

fs::path SharedRun::begin_part(const fs::path& output) {
  master_ = output;
  together(ranks_, [&] {
    if (ranks_.is_first()) make_room();
  });
  const fs::path ours = part_name(output, ranks_.rank());
  // All have read what there is before anybody writes.
  together(ranks_, [&] {
    std::vector<fs::path> others = find_parts(output);
    std::erase(others, ours);
    held_elsewhere_ = held_frames(others, fs::current_path());
  });
  return ours;
}

void SharedRun::reduce_part() {
  IntegrateConfig ours = config_;
  ours.backend_options.device = device_of(config_, ranks_);
  if (!ranks_.is_first()) ours.save_matrix.clear();
  const Share share = common_.share([this](const fs::path& output) { return begin_part(output); },
                                    [this](const FrameId& frame) { return held_elsewhere_(frame); });
  report_ = annulus::run(ours, share, common_.hooks(), ranks_.stopped());
}

// The master of all parts, or nothing if there is nothing to keep. Only the first rank does this.
void SharedRun::write_whole() {
  const ReductionSummary& summary = report_.summary;
  report_.output = master_;
  if (summary.frames == 0 && !config_.append && (report_.failed || summary.interrupted)) {
    std::error_code ignored;
    for (const fs::path& part : find_parts(master_)) fs::remove(part, ignored);
    fs::remove(parts_folder(master_), ignored);
    report_.output_removed = true;
    return;
  }
  const MasterContent content = write_master(master_, find_parts(master_),
                                             config_.overwrite ? IfExists::kOverwrite : IfExists::kAppend);
  report_.already_stored = content.frames - summary.frames;
  report_.already_bad = content.bad - summary.bad;
  report_.output_removed = false;
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
  const bool goes_on = config.append && !config.output.empty() && !find_parts(config.output).empty();
  if (ranks.size() == 1 && !goes_on) return run(config, hooks, stop);
  together(ranks, [&] { check_can_be_shared(config); });
  return SharedRun(config, ranks, hooks, std::move(stop)).run();
}

}  // namespace annulus
