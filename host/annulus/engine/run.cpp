#include <annulus/backends/registry.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/core/url.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/run.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/engine/share.hpp>
#include <annulus/outputs/matrix_file.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/outputs/stored_frames.hpp>
#include <annulus/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Named after the first input, in the working directory.
fs::path default_output(const IntegrateConfig& config, const std::string& input,
                        std::uint64_t expected_frames) {
  fs::path path = split_url(input).file;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path = fs::canonical(path, ignored);  // "." has a name, too
  fs::path stem = path.filename();
  while (stem.has_extension()) stem = stem.stem();
  if (output_format(config) == OutputFormat::kNexus)
    return stem.string() + suffix_of_part(config.part) + ".nxs";
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
  for (const ColumnSpec& column : parse_columns(config.columns, config.monitor).columns)
    sources.push_back(column.file);
  for (const std::string& source : sources) {
    if (!fs::equivalent(split_url(source).file, result, ignored)) continue;
    throw Error(ErrorKind::kOutput, result.string(), fmt::format("{} names an input of this run", option),
                "choose another name");
  }
}

// The name of a text file, for frames that need many.
void check_room_for_frames(const fs::path& output, std::uint64_t expected_frames) {
  std::error_code ignored;
  if (!is_text_name(output.string()) || expected_frames == 1 || fs::is_directory(output, ignored)) return;
  throw Error(ErrorKind::kUsage, "`output`",
              fmt::format("{} is one text file, which holds one frame, and this run {}", output.string(),
                          expected_frames > 0 ? fmt::format("has {}", expected_frames) : "may have many"),
              "name a folder and give `format` xy, or name a NeXus file, for example .nxs");
}

std::unique_ptr<Sink> open_sink(const IntegrateConfig& config, const fs::path& path, const Job& job,
                                const RunDescription& description) {
  const IfExists if_exists = config.overwrite ? IfExists::kOverwrite
                             : config.append  ? IfExists::kAppend
                                              : IfExists::kRefuse;
  if (output_format(config) == OutputFormat::kNexus) return open_nexus(path, job, description, if_exists);
  return open_xy(path, job, description, if_exists, description.expected_frames == 1);
}

// Frames of HDF5 files are named with their dataset, those of a folder with their file.
constexpr std::size_t kRoomForNames = 96;

// Where the first frames lie and in which shape: a file may hold more than one dataset.
std::string describe_frames(const ScanInfo& first) {
  const SourceInfo& info = first.frames;
  const auto dataset = std::ranges::find(info.header, "dataset", &std::pair<std::string, std::string>::first);
  const bool named = info.format == "HDF5" && dataset != info.header.end();
  std::string shape;
  for (const std::uint64_t side : first.grid) shape += fmt::format("{} x ", side);
  return fmt::format("{}: {}{} {}", named ? dataset->second : first.name, shape, to_string(info.shape),
                     name_of(info.type));
}

RunDescription describe_run(const IntegrateConfig& config, const ScanPlan& scan, const ScanInfo& first,
                            const std::string& name, std::uint64_t expected_frames, bool shared) {
  RunDescription run;
  run.program_version = kVersion;
  run.backend = config.backend;
  run.options = as_text(config);
  for (const auto& [what, text] : scan.from_file) run.options.emplace_back(what + "_from_file", text);
  if (!scan.warnings.empty())
    run.options.emplace_back("warnings", fmt::format("{}", fmt::join(scan.warnings, "\n")));
  run.poni_text = scan.poni_text;
  std::error_code unknown;
  run.working_directory = fs::current_path(unknown);
  run.config_json = to_json(config).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  run.difference_from = [ours = run.config_json](const std::string& stored) {
    return difference_of_division(stored, ours);
  };
  run.expected_frames = expected_frames;
  run.scan_shape = first.grid;
  run.numbered_by_place = shared;
  run.outliers = config.outliers;
  run.columns = first.columns;
  run.longest_source_name = name.size();
  for (const std::string& url : scan.urls)
    run.longest_source_name = std::max(run.longest_source_name, url.size());
  run.longest_source_name += kRoomForNames;
  return run;
}

template <typename MakePlan>
ScanPlan plan_unless_interrupted(const std::stop_token& stop, MakePlan&& make_plan) {
  try {
    return make_plan();
  } catch (const Error&) {
    if (!stop.stop_requested()) throw;
    throw Error(ErrorKind::kInterrupted, "integrate", "interrupted before the first frame");
  }
}

// What comes from elsewhere may be called the same every time: only files are known by their names. The
// stream may ask until it ends, which is after the run. It asks once for each frame.
std::shared_ptr<const std::atomic<std::uint64_t>> leave_out_stored(FrameStream& stream,
                                                                   const std::shared_ptr<Sink>& sink,
                                                                   const Share* share) {
  const auto already_bad = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto elsewhere = share != nullptr ? share->held_elsewhere : nullptr;
  stream.leave_out([sink, already_bad, elsewhere](const FrameId& frame) {
    const Held held = sink->holds(frame);
    if (held == Held::kBad) ++*already_bad;
    return held != Held::kNot || (elsewhere && elsewhere(frame) != Held::kNot);
  });
  return already_bad;
}

// `share`: none if all frames are ours.
RunReport run_planned(const IntegrateConfig& config, const Share* share, const ScanPlan& scan,
                      FrameStream& stream, const RunHooks& hooks, const std::stop_token& stop,
                      Clock::time_point start) {
  if (hooks.note) std::ranges::for_each(scan.notes, hooks.note);
  if (hooks.warning) std::ranges::for_each(scan.warnings, hooks.warning);
  if (hooks.planned) hooks.planned(*scan.plan);
  RunReport report;
  report.plan = scan.plan;
  report.plan_loaded = scan.plan_loaded;
  report.from_file = scan.from_file;
  report.masks = scan.masks;
  report.warnings = scan.warnings;
  report.plan_seconds = seconds_since(start);
  report.backend = config.backend;
  const std::uint64_t expected_frames = stream.expected();
  const ScanInfo& first = stream.info(stop);
  report.frames_from = describe_frames(first);
  report.columns = first.columns;
  const std::string name = scan.urls.empty() ? first.name : scan.urls.front();
  report.output =
      config.output.empty() ? default_output(config, name, expected_frames) : fs::path(config.output);

  check_room_for_frames(report.output, expected_frames);

  // Before the output is touched: neither a backend that is not there or refuses the plan nor a wrong name
  // may cost a file.
  const auto backend = make_backend(config.backend, config.backend_options);
  Job job = make_job(scan.plan, config.recipe);
  job.list_outliers = config.outliers != Outliers::kNone;
  backend->load(job);
  protect_inputs(config, scan.urls, report.output, "`output`");
  if (!config.save_matrix.empty()) {
    protect_inputs(config, scan.urls, config.save_matrix, "`save_matrix`");
    write_matrix(config.save_matrix, *scan.plan, config.overwrite);
  }
  RunDescription run = describe_run(config, scan, first, name, expected_frames, share != nullptr);
  if (share != nullptr) check_named_once(scan.urls, run.working_directory);
  if (share != nullptr && share->name_part) {
    const auto check = [&](const fs::path& other) { check_same_job(other, job, run); };
    const PartPlace part = share->name_part({report.output, scan.urls, expected_frames, check});
    report.output = part.path;
    run.taken = part.taken;
    // Rows of parts are alike; longer names are cut.
    if (part.source_length > 0) run.longest_source_name = part.source_length;
  }
  if (share != nullptr && !share->name_part && config.append)
    check_order(scan.urls, held_frames({report.output}, run.working_directory));
  const std::shared_ptr<Sink> sink = open_sink(config, report.output, job, run);
  std::shared_ptr<const std::atomic<std::uint64_t>> already_bad;
  if (config.append && scan.stream) already_bad = leave_out_stored(stream, sink, share);
  if (share != nullptr) stream.share(share->deal(expected_frames));
  ReductionSettings settings;
  settings.keep_going = config.keep_going;
  settings.memory_for_frames = config.memory << 20;
  settings.normalization_factor = config.normalization_factor;
  const std::string monitor = parse_columns(config.columns, config.monitor).monitor;
  if (!monitor.empty()) settings.monitor = report.monitor = monitor;
  report.summary = reduce(stream, job, *backend, *sink, settings, stop, hooks.progress);
  for (std::string& remark : stream.take_remarks()) {
    if (hooks.warning) hooks.warning(remark);
    report.warnings.push_back(std::move(remark));
  }
  report.already_stored = stream.left_out();
  report.already_bad = already_bad ? already_bad->load() : 0;
  report.profile = backend->profile();
  const auto closing = Clock::now();
  sink->close();
  ReductionSummary& summary = report.summary;
  summary.write_seconds += seconds_since(closing);
  report.total_seconds = seconds_since(start);
  report.failed = summary.first_fault && !config.keep_going;
  report.output_removed = summary.frames == 0 && !config.append && (report.failed || summary.interrupted);
  std::error_code ignored;
  if (report.output_removed) fs::remove(report.output, ignored);
  return report;
}

// What the configuration says.
std::optional<Share> share_in(const IntegrateConfig& config) {
  if (config.part.empty()) return std::nullopt;
  return share_of(parse_part(config.part));
}

RunReport run_inputs(const IntegrateConfig& config, const Share* share, const RunHooks& hooks,
                     const std::stop_token& stop) {
  const auto start = Clock::now();
  const ScanPlan scan = plan_unless_interrupted(stop, [&] { return make_scan_plan(config, stop); });
  return run_planned(config, share, scan, *scan.stream, hooks, stop, start);
}

}  // namespace

RunReport run(const IntegrateConfig& config, const RunHooks& hooks, std::stop_token stop) {
  const std::optional<Share> share = share_in(config);
  return run_inputs(config, share ? &*share : nullptr, hooks, stop);
}

RunReport run(const IntegrateConfig& config, const Share& share, const RunHooks& hooks,
              std::stop_token stop) {
  if (!config.part.empty()) {
    throw Error(ErrorKind::kUsage, "`part`", "the processes of this run share the whole scan already",
                "leave it out, or start each part as a job of its own");
  }
  return run_inputs(config, &share, hooks, stop);
}

RunReport run(const IntegrateConfig& config, FrameStream& stream, const RunHooks& hooks,
              std::stop_token stop) {
  const auto start = Clock::now();
  const WantedColumns wanted = parse_columns(config.columns, config.monitor);
  if (!header_columns(wanted).empty()) {
    throw Error(ErrorKind::kUsage, "`column`", "frames of this stream have no headers",
                "let the stream give the values with its frames");
  }
  ColumnStream with_columns(stream, table_columns(wanted, config));
  FrameStream& frames = wanted.columns.empty() ? stream : with_columns;
  const std::optional<Share> share = share_in(config);
  const ScanPlan scan = plan_unless_interrupted(stop, [&] { return make_scan_plan(config, frames, stop); });
  return run_planned(config, share ? &*share : nullptr, scan, frames, hooks, stop, start);
}

}  // namespace annulus
