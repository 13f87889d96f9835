#include <annulus/backends/registry.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/run_ranks.hpp>
#include <annulus/engine/share.hpp>
#include <annulus/outputs/held_frames.hpp>
#include <annulus/outputs/master_file.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// After this, those who wait for others to stop are told who does not come.
constexpr auto kPatience = std::chrono::milliseconds(300);

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

// Ranks of a node take different devices, one after the other.
std::string device_of(const IntegrateConfig& config, const Ranks& ranks) {
  const std::string& chosen = config.backend_options.device;
  if (!chosen.empty() || ranks.local_rank() == 0) return chosen;
  const std::size_t devices = devices_of(config.backend).size();
  return devices == 0 ? chosen : std::to_string(ranks.local_rank() % devices);
}

// What a rank tells the first one of its part of the run.
nlohmann::json to_json(const RunReport& report) {
  const ReductionSummary& summary = report.summary;
  nlohmann::json json = {{"frames", summary.frames},
                         {"bad", summary.bad},
                         {"payload_bytes", summary.payload_bytes},
                         {"pixels", summary.pixels},
                         {"interrupted", summary.interrupted},
                         {"failed", report.failed},
                         {"wall_seconds", summary.wall_seconds},
                         {"read_seconds", summary.read_seconds},
                         {"reduce_seconds", summary.reduce_seconds},
                         {"write_seconds", summary.write_seconds},
                         {"warnings", report.warnings}};
  if (const auto& fault = summary.first_fault) {
    json["fault"] = {{"kind", static_cast<int>(fault->kind())},
                     {"where", fault->where()},
                     {"fault", fault->fault()},
                     {"cure", fault->cure()}};
  }
  return json;
}

std::vector<std::byte> as_bytes(const nlohmann::json& json) {
  const std::vector<std::uint8_t> packed = nlohmann::json::to_cbor(json);
  const auto bytes = std::as_bytes(std::span(packed));
  return {bytes.begin(), bytes.end()};
}

nlohmann::json from_bytes(const std::vector<std::byte>& bytes) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return nlohmann::json::from_cbor(first, first + bytes.size());
}

// Adds what another rank did.
void add(RunReport& total, const nlohmann::json& part, const RunHooks& hooks) {
  ReductionSummary& summary = total.summary;
  summary.frames += part.at("frames").get<std::uint64_t>();
  summary.bad += part.at("bad").get<std::uint64_t>();
  summary.payload_bytes += part.at("payload_bytes").get<std::uint64_t>();
  summary.pixels += part.at("pixels").get<std::uint64_t>();
  summary.interrupted |= part.at("interrupted").get<bool>();
  total.failed |= part.at("failed").get<bool>();
  summary.wall_seconds = std::max(summary.wall_seconds, part.at("wall_seconds").get<double>());
  summary.read_seconds += part.at("read_seconds").get<double>();
  summary.reduce_seconds += part.at("reduce_seconds").get<double>();
  summary.write_seconds += part.at("write_seconds").get<double>();
  for (const auto& item : part.at("warnings")) {
    const auto warning = item.get<std::string>();
    if (std::ranges::find(total.warnings, warning) != total.warnings.end()) continue;
    total.warnings.push_back(warning);
    if (hooks.warning) hooks.warning(warning);
  }
  if (summary.first_fault || !part.contains("fault")) return;
  const auto& fault = part.at("fault");
  summary.first_fault.emplace(static_cast<ErrorKind>(fault.at("kind").get<int>()),
                              fault.at("where").get<std::string>(), fault.at("fault").get<std::string>(),
                              fault.at("cure").get<std::string>());
}

class SharedRun {
 public:
  SharedRun(const IntegrateConfig& config, Ranks& ranks, const RunHooks& hooks)
      : config_(config), ranks_(ranks), hooks_(hooks) {}

  RunReport run(std::stop_token stop);

 private:
  Share share();
  RunHooks our_hooks();
  std::optional<RunReport> reduce_our_part();
  void make_room(const fs::path& output) const;
  fs::path begin_part(const fs::path& output);
  void wait_for_others();
  RunReport finish(std::optional<RunReport> ours);

  const IntegrateConfig& config_;
  Ranks& ranks_;
  const RunHooks& hooks_;

  fs::path master_;     // as soon as all ranks have begun
  bool begun_ = false;  // our part, or at least we have met the others there
  std::function<Held(const FrameId&)> held_elsewhere_;
  std::optional<Error> failure_;  // of ours
  std::uint64_t expected_ = 0;
};

// What earlier runs left: refused, removed, or gone on with. Only the first rank does this.
void SharedRun::make_room(const fs::path& output) const {
  std::error_code ignored;
  const fs::path folder = parts_folder(output);
  const std::vector<fs::path> parts = find_parts(output);
  const bool there = fs::exists(output, ignored);
  if (config_.append) {
    if (there && !is_master(output)) {
      throw Error(ErrorKind::kOutput, output.string(), "is the output of one process, and has no parts",
                  "go on with one process, or choose another name");
    }
  } else if (config_.overwrite) {
    if (there && is_master(output)) fs::remove(output, ignored);  // it is nothing without its parts
    for (const fs::path& part : parts) fs::remove(part, ignored);
  } else if (there || !parts.empty()) {
    throw Error(ErrorKind::kOutput, there ? output.string() : folder.string(),
                there ? "exists" : "holds parts of an earlier run",
                "`append` goes on with it, `overwrite` replaces it");
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error(ErrorKind::kOutput, folder.string(), "cannot be made: " + failed.message());
}

fs::path SharedRun::begin_part(const fs::path& output) {
  begun_ = true;
  together(ranks_, [&] {
    if (ranks_.is_first()) make_room(output);
  });
  master_ = output;
  const fs::path ours = part_name(output, ranks_.rank());
  // All have read what there is before anybody writes.
  together(ranks_, [&] {
    std::vector<fs::path> others = find_parts(output);
    std::erase(others, ours);
    if (!others.empty()) held_elsewhere_ = held_frames(others, fs::current_path());
  });
  return ours;
}

Share SharedRun::share() {
  Share share;
  share.deal = [this](std::uint64_t expected) {
    expected_ = expected;
    return ranks_.deal(expected);
  };
  share.name_part = [this](const fs::path& output) { return begin_part(output); };
  share.held_elsewhere = [this](const FrameId& frame) {
    return held_elsewhere_ ? held_elsewhere_(frame) : Held::kNot;
  };
  return share;
}

RunHooks SharedRun::our_hooks() {
  RunHooks hooks = ranks_.is_first() ? hooks_ : RunHooks();
  hooks.progress = [this](const ReductionProgress& now) {
    ranks_.tell({now.frames, now.bad});
    if (!ranks_.is_first() || !hooks_.progress) return;
    const RankProgress all = ranks_.told();
    hooks_.progress({all.frames, all.bad, expected_});
  };
  return hooks;
}

std::optional<RunReport> SharedRun::reduce_our_part() {
  IntegrateConfig ours = config_;
  ours.backend_options.device = device_of(config_, ranks_);
  if (!ranks_.is_first()) ours.save_matrix.clear();
  try {
    return annulus::run(ours, share(), our_hooks(), ranks_.stopped());
  } catch (const FailedTogether&) {
    throw;
  } catch (const Error& error) {
    // The others wait for us where the parts begin.
    if (!begun_) together(ranks_, [&] { throw error; });
    failure_ = error;
    return std::nullopt;
  }
}

void SharedRun::wait_for_others() {
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  ranks_.wait_for_all([&](const std::vector<unsigned>& missing) {
    const RankProgress all = ranks_.told();
    if (hooks_.progress) hooks_.progress({all.frames, all.bad, expected_});
    const bool late = std::chrono::steady_clock::now() - start > kPatience;
    if (told || !late || !ranks_.stopped().stop_requested() || !hooks_.warning) return;
    told = true;
    hooks_.warning(fmt::format(
        "the job ends, but rank{} {} of {} {} not answer; what was reduced is in {}, and the same "
        "command with `append` goes on",
        missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), ranks_.size(),
        missing.size() == 1 ? "does" : "do", parts_folder(master_).string()));
  });
}

RunReport SharedRun::finish(std::optional<RunReport> ours) {
  const std::vector<std::vector<std::byte>> all =
      ranks_.gather(ours ? as_bytes(to_json(*ours)) : std::vector<std::byte>());
  RunReport report = ours ? std::move(*ours) : RunReport();
  together(ranks_, [&] {
    if (!ranks_.is_first()) {
      if (failure_) throw *failure_;
      return;
    }
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (!all[rank].empty()) add(report, from_bytes(all[rank]), hooks_);
    }
    report.output = master_;
    const bool any_failed = std::ranges::any_of(all, [](const auto& bytes) { return bytes.empty(); });
    const bool complete = !any_failed && !report.failed && !report.summary.interrupted;
    if (report.summary.frames == 0 && !complete && !config_.append) {
      std::error_code ignored;
      for (const fs::path& part : find_parts(master_)) fs::remove(part, ignored);
      fs::remove(parts_folder(master_), ignored);
      report.output_removed = true;
    } else {
      try {
        const MasterContent content = write_master(
            master_, find_parts(master_), config_.overwrite ? IfExists::kOverwrite : IfExists::kAppend);
        report.already_stored = content.frames - report.summary.frames;
        report.already_bad = content.bad - report.summary.bad;
        report.output_removed = false;
      } catch (const Error&) {
        if (!any_failed) throw;  // otherwise it follows from that failure
      }
    }
    if (failure_) throw *failure_;
  });
  return report;
}

RunReport SharedRun::run(std::stop_token stop) {
  const auto start = Clock::now();
  const std::stop_callback pass_on(stop, [this] { ranks_.stop_all(); });
  std::optional<RunReport> ours = reduce_our_part();
  if (failure_ || ours->failed) ranks_.stop_all();
  wait_for_others();
  RunReport report = finish(std::move(ours));
  report.total_seconds = seconds_since(start);
  return report;
}

}  // namespace

RunReport run(const IntegrateConfig& config, Ranks& ranks, const RunHooks& hooks, std::stop_token stop) {
  const bool goes_on = config.append && !config.output.empty() && !find_parts(config.output).empty();
  if (ranks.size() == 1 && !goes_on) return run(config, hooks, stop);
  check_can_be_shared(config);
  return SharedRun(config, ranks, hooks).run(stop);
}

}  // namespace annulus
