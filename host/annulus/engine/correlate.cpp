#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/url.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/correlate.hpp>
#include <annulus/engine/ranked_run.hpp>
#include <annulus/engine/share.hpp>
#include <annulus/engine/snapshot_scan.hpp>
#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/fxs/snapshot_correlator.hpp>
#include <annulus/outputs/master_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhere = "correlate";

// Named after the first input, in the working directory.
fs::path default_output(const std::string& input, const std::string& part) {
  fs::path path = split_url(input).file;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path = fs::canonical(path, ignored);
  fs::path stem = path.filename();
  while (stem.has_extension()) stem = stem.stem();
  return stem.string() + "_correlation" + suffix_of_part(part) + ".nxs";
}

PolarOptions polar_options(const CorrelateConfig& config) {
  return {!config.keep_mean, config.least_mean, config.most_mean};
}

fs::path current_folder() {
  std::error_code unknown;
  return fs::current_path(unknown);
}

// Images that wait until the scale is decided.
class WaitingSnapshots {
 public:
  void add(const PolarSnapshot& snapshot) {
    values_.emplace_back(snapshot.values.begin(), snapshot.values.end());
    snapshots_.push_back(snapshot);
  }

  std::size_t size() const { return snapshots_.size(); }

  std::vector<PolarSnapshot> all() const {
    std::vector<PolarSnapshot> all = snapshots_;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].values = values_[i];
    return all;
  }

 private:
  std::vector<PolarSnapshot> snapshots_;
  std::vector<std::vector<double>> values_;
};

// Keeps the output up to date while snapshots come.
class CorrelationTaker final : public SnapshotTaker {
 public:
  struct Place {
    fs::path path;
    bool overwrite = false;
    double checkpoint = 0;                // seconds
    std::optional<FileStamp> known = {};  // of what is gone on with: nobody else may have written it since
  };

  // `record` without a scale: it is found from the first snapshots.
  CorrelationTaker(CorrelationRecord record, std::optional<std::int64_t> scale, PolarOrder order,
                   SnapshotOptions options, Place place)
      : record_(std::move(record)), order_(order), options_(options), place_(std::move(place)) {
    check_memory(record_.setup.shape, options_, record_.legendre.has_value());
    finder_.emplace(record_.setup.shape, record_.setup.polar);
    if (scale) begin(static_cast<int>(*scale));
  }

  // Goes on with an output.
  CorrelationTaker(Correlation begun, PolarOrder order, SnapshotOptions options, Place place)
      : order_(order), options_(options), place_(std::move(place)) {
    const fs::path here = current_folder();
    if (begun.record.origin.working_directory != here) name_folder_ = here;
    correlator_.emplace(std::move(begun), order_, options_);
  }

  void take(std::span<const PolarSnapshot> snapshots) override {
    while (!correlator_ && !snapshots.empty()) {
      wait(snapshots.front());
      snapshots = snapshots.subspan(1);
      if (finder_->decided()) decide();
    }
    if (!snapshots.empty()) add(snapshots);
    look_at_clock();
  }

  void look_at_clock() override {
    if (!correlator_ || !unwritten_ || place_.checkpoint == 0) return;
    if (seconds_since(written_) < place_.checkpoint) return;
    write(false);
    ++checkpoints_;
  }

  // All that came is in the output. Where a run ends before its scale is decided, nothing is: going on would
  // find another one. Returns how many images that are. A finished run has an output even if no image came to
  // it: it is a part of a scan that has fewer blocks than parts, and is there when parts are merged.
  std::uint64_t finish(bool finished) {
    if (!correlator_ && !finished) return record_.snapshots.rows().size() + waiting_->size();
    if (!correlator_) decide();
    if (finished || !correlator_->record().snapshots.rows().empty()) write(finished);
    return 0;
  }

  // Without snapshots if nothing was written.
  Correlation result() {
    if (correlator_) return correlator_->take();
    record_.snapshots = {};
    return {std::move(record_), {}};
  }
  std::uint64_t checkpoints() const { return checkpoints_; }

 private:
  void begin(int scale) {
    record_.setup.scale = scale;
    correlator_.emplace(std::move(record_), order_, options_);
  }

  // Only those that may count wait with their values: of many shots without beam, few do. The others have
  // their rows at once; the rows of a finished run are sorted.
  void wait(const PolarSnapshot& snapshot) {
    Snapshot row = snapshot.row;
    row.mean = std::numeric_limits<double>::quiet_NaN();
    if (!snapshot.fault.empty()) {
      row.status = SnapshotStatus::kBad;
      return record_.snapshots.add(row, snapshot.source, snapshot.fault);
    }
    const ImageVerdict verdict =
        judge_image(record_.setup.shape, record_.setup.polar, snapshot.values, order_);
    if (verdict.reason) {
      row.status = SnapshotStatus::kRejected;
      row.mean = verdict.mean;
      return record_.snapshots.add(row, snapshot.source, *verdict.reason);
    }
    finder_->add(snapshot.values, order_);
    waiting_->add(snapshot);
  }

  void decide() {
    begin(finder_->scale());
    const WaitingSnapshots waiting = std::exchange(waiting_, std::nullopt).value();
    add(waiting.all());
  }

  void add(std::span<const PolarSnapshot> snapshots) {
    unwritten_ = true;
    if (!name_folder_) return correlator_->add(snapshots);
    std::vector<PolarSnapshot> named(snapshots.begin(), snapshots.end());
    for (PolarSnapshot& snapshot : named) snapshot.source = (*name_folder_ / snapshot.source).string();
    correlator_->add(named);
  }

  void write(bool finished) {
    correlator_->write(place_.path, place_.overwrite, finished, place_.known);
    place_.overwrite = true;  // it is ours now
    place_.known = stamp_of(place_.path);
    unwritten_ = false;
    written_ = Clock::now();
  }

  CorrelationRecord record_;  // until the scale is known
  PolarOrder order_;
  SnapshotOptions options_;
  Place place_;
  std::optional<fs::path> name_folder_;  // where names in the output are relative to another folder
  std::optional<ScaleFinder> finder_;
  std::optional<WaitingSnapshots> waiting_ = WaitingSnapshots();
  std::optional<SnapshotCorrelator> correlator_;
  Clock::time_point written_ = Clock::now();
  bool unwritten_ = false;
  std::uint64_t checkpoints_ = 0;
};

CorrelationRecord new_record(const CorrelateConfig& config, const SnapshotScan& scan) {
  CorrelationRecord record;
  record.setup.shape = scan.shape();
  record.setup.polar = polar_options(config);
  record.setup.radial = scan.radial();
  if (const auto& plan = scan.plan_of_scan().plan) record.setup.plan_hash = plan->hash;
  record.setup.normalization_factor = scan.reduction().normalization_factor;
  record.setup.monitor = monitor_of(scan.reduction());
  record.origin.backend = config.polar ? "none" : scan.reduction().backend;
  record.origin.poni_text = scan.plan_of_scan().poni_text;
  record.origin.config_json = to_json(config).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  record.origin.options = as_text(config);
  record.origin.working_directory = current_folder().string();
  record.legendre = scan.legendre();
  return record;
}

[[noreturn]] void refuse_to_continue(const fs::path& output, const std::string& why) {
  throw Error(ErrorKind::kOutput, output.string(), "cannot be continued: " + why,
              "give the options that it was made with, or choose another `output`");
}

// Throws kOutput if this run would make another correlation than the one that was begun in this file.
void check_setup(const fs::path& file, const CorrelateConfig& config, const CorrelationRecord& ours,
                 const CorrelationRecord& begun) {
  CorrelationSetup wanted = ours.setup;
  wanted.scale = static_cast<int>(config.scale.value_or(begun.setup.scale));
  if (const std::string difference = difference_of(wanted, begun.setup); !difference.empty())
    refuse_to_continue(file, difference);
  if (ours.legendre != begun.legendre)
    refuse_to_continue(file, "`legendre`: it was made with another choice");
}

void check_setup(const fs::path& file, const CorrelateConfig& config, const CorrelationRecord& ours) {
  check_setup(file, config, ours, read_correlation_record(file));
}

// What an output holds that `append` goes on with. Throws kOutput if this run would make another.
Correlation continued(const fs::path& output, const CorrelateConfig& config,
                      const CorrelationRecord& record) {
  if (!is_correlation_file(output)) refuse_to_continue(output, "is not a correlation that annulus wrote");
  Correlation begun = read_correlation_sums(output);
  check_setup(output, config, record, begun.record);
  // What comes now is of no part.
  std::erase_if(begun.record.origin.options,
                [](const auto& option) { return option.first == kMergedPartsOption; });
  return begun;
}

std::shared_ptr<StoredFrames> frames_of(const SnapshotTable& snapshots) {
  auto stored = std::make_shared<StoredFrames>(current_folder());
  for (const Snapshot& row : snapshots.rows())
    stored->add(row.source_id, row.in_source, row.status == SnapshotStatus::kBad);
  return stored;
}

SnapshotScan open_scan(const CorrelateConfig& config, const std::stop_token& stop) {
  try {
    return SnapshotScan(config, stop);
  } catch (const Error&) {
    if (!stop.stop_requested()) throw;
    throw Error(ErrorKind::kInterrupted, kWhere, "interrupted before the first frame");
  }
}

CorrelateReport run_share(const CorrelateConfig& config, const Share* share, const RunHooks& hooks,
                          const std::stop_token& stop) {
  const auto start = Clock::now();
  SnapshotScan scan = open_scan(config, stop);
  const ScanPlan& plan = scan.plan_of_scan();
  if (hooks.note) std::ranges::for_each(plan.notes, hooks.note);
  if (hooks.warning) std::ranges::for_each(plan.warnings, hooks.warning);
  if (hooks.planned && plan.plan) hooks.planned(*plan.plan);
  CorrelateReport report;
  report.preview = config.fast;
  report.plan = plan.plan;
  report.masks = plan.masks;
  report.warnings = plan.warnings;
  report.plan_seconds = seconds_since(start);

  const IntegrateConfig& reduction = scan.reduction();
  const fs::path output = reduction.output.empty() ? default_output(scan.urls().front(), reduction.part)
                                                   : fs::path(reduction.output);
  CorrelationRecord record = new_record(config, scan);
  scan.load();
  // A part: whoever names it adds up the sums of all.
  const bool is_part = share != nullptr && share->name_part;
  report.output = output;
  if (is_part) {
    const auto check = [&](const fs::path& file) { check_setup(file, config, record); };
    report.output = share->name_part({output, scan.urls(), scan.stream().expected(), check}).path;
  }
  const bool exists = check_place_of(config, report.output);
  if (!is_part) clear_parts(reduction, real_output(report.output));

  SnapshotOptions options;
  options.threads = reduction.backend_options.threads;
  options.block = config.block;
  options.preview = config.fast;
  CorrelationTaker::Place place{report.output, reduction.overwrite || reduction.append, config.checkpoint};
  std::optional<CorrelationTaker> taker;
  std::shared_ptr<StoredFrames> stored;
  if (exists && reduction.append) {
    place.known = stamp_of(report.output);
    Correlation begun = continued(report.output, config, record);
    stored = frames_of(begun.record.snapshots);
    taker.emplace(std::move(begun), scan.order(), options, place);
  } else {
    taker.emplace(std::move(record), config.scale, scan.order(), options, place);
  }
  const auto elsewhere = share != nullptr ? share->held_elsewhere : nullptr;
  // The stream asks once for each frame, and may ask until it ends, which is after this.
  const auto already_stored = std::make_shared<std::atomic<std::uint64_t>>(0);
  if (stored || elsewhere) {
    scan.stream().leave_out([stored, elsewhere, already_stored](const FrameId& frame) {
      const bool is_stored = stored && stored->find(frame) != Held::kNot;
      if (is_stored) ++*already_stored;
      return is_stored || (elsewhere && elsewhere(frame) != Held::kNot);
    });
  }
  if (share != nullptr) scan.stream().share(share->deal(scan.stream().expected()));

  const auto finish = [&](bool complete) {
    const std::uint64_t lost = taker->finish(complete);
    if (lost == 0) return;
    report.warnings.push_back(fmt::format(
        "nothing is written: {} images are too few to find the scale, which takes the first {} that "
        "count; begin again, or give `scale`",
        lost, ScaleFinder::kImages));
    if (hooks.warning) hooks.warning(report.warnings.back());
  };
  try {
    report.summary = scan.run(*taker, stop, hooks.progress);
  } catch (const Error& error) {
    // What came before is kept, unless it is the output that failed.
    if (error.kind() != ErrorKind::kOutput) finish(false);
    throw;
  }
  for (std::string& remark : scan.stream().take_remarks()) {
    if (hooks.warning) hooks.warning(remark);
    report.warnings.push_back(std::move(remark));
  }
  report.already_stored = *already_stored;
  ReductionSummary& summary = report.summary;
  report.failed = summary.first_fault && !reduction.keep_going;
  const auto closing = Clock::now();
  const bool complete = !report.failed && !summary.interrupted;
  if (!is_part || !complete) finish(complete);
  summary.write_seconds += seconds_since(closing);
  summary.wall_seconds += seconds_since(closing);
  report.checkpoints = taker->checkpoints();
  report.correlation = taker->result();
  report.total_seconds = seconds_since(start);
  return report;
}

// Looks at images until the scale is decided.
class ScaleTaker final : public SnapshotTaker {
 public:
  ScaleTaker(const SnapshotScan& scan, const PolarOptions& options, std::stop_source enough)
      : finder_(scan.shape(), options), order_(scan.order()), enough_(std::move(enough)) {}

  void take(std::span<const PolarSnapshot> snapshots) override {
    for (const PolarSnapshot& snapshot : snapshots) {
      if (snapshot.fault.empty()) finder_.add(snapshot.values, order_);
    }
    if (finder_.decided()) enough_.request_stop();
  }

  int scale() const { return finder_.scale(); }

 private:
  ScaleFinder finder_;
  PolarOrder order_;
  std::stop_source enough_;
};

}  // namespace

bool check_place_of(const CorrelateConfig& config, const fs::path& output) {
  const IntegrateConfig& reduction = config.reduction;
  std::error_code unknown;
  if (!reduction.overwrite && !reduction.append && fs::exists(output, unknown)) {
    throw Error(ErrorKind::kOutput, output.string(), "exists already",
                "`append` goes on with it, `overwrite` replaces it, or choose another `output`");
  }
  return check_correlation_place(output, reduction.overwrite || reduction.append);
}

void clear_parts(const IntegrateConfig& reduction, const fs::path& output) {
  const std::vector<fs::path> parts = find_parts(output);
  if (parts.empty()) return;
  if (!reduction.overwrite) {
    throw Error(ErrorKind::kOutput, parts_folder(output).string(), "holds parts of an earlier run",
                reduction.append
                    ? "a run of the whole scan that is given the name of its `output` goes on with it"
                    : "`append` goes on with it, `overwrite` replaces it");
  }
  remove_outputs(parts);
  remove_parts(output);
}

CorrelateReport correlate(const CorrelateConfig& config, const RunHooks& hooks, std::stop_token stop) {
  if (config.reduction.part.empty()) return run_share(config, nullptr, hooks, stop);
  const Share share = share_of(parse_part(config.reduction.part));
  CorrelateConfig shared = config;
  const std::string& output = config.reduction.output;
  std::error_code unknown;
  const bool goes_on =
      !config.scale && config.reduction.append && !output.empty() && fs::exists(output, unknown);
  shared.scale = goes_on ? read_correlation_record(output).setup.scale : find_scale(config, stop);
  return run_share(shared, &share, hooks, stop);
}

CorrelateReport correlate(const CorrelateConfig& config, const Share& share, const RunHooks& hooks,
                          std::stop_token stop) {
  if (!config.reduction.part.empty()) {
    throw Error(ErrorKind::kUsage, "`part`", "the processes of this run share the whole scan already",
                "leave it out, or start each part as a job of its own");
  }
  if (!config.scale)
    throw Error(ErrorKind::kUsage, "`scale`", "shares of a run need one that is the same for all",
                "give the scale that a run over all inputs takes");
  return run_share(config, &share, hooks, stop);
}

int find_scale(const CorrelateConfig& config, std::stop_token stop) {
  if (config.scale) return static_cast<int>(*config.scale);
  SnapshotScan scan = open_scan(config, stop);
  scan.load();
  std::stop_source enough;
  const std::stop_callback also(stop, [&] { enough.request_stop(); });
  ScaleTaker taker(scan, polar_options(config), enough);
  const ReductionSummary summary = scan.run(taker, enough.get_token());
  if (stop.stop_requested())
    throw Error(ErrorKind::kInterrupted, kWhere, "interrupted before the first frame");
  // Others, who do not meet it, would go on with a scale that the whole scan does not have.
  if (!enough.stop_requested() && summary.first_fault && !config.reduction.keep_going)
    throw *summary.first_fault;
  return taker.scale();
}

}  // namespace annulus
