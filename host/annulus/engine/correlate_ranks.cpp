#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/correlate_ranks.hpp>
#include <annulus/engine/packed_snapshots.hpp>
#include <annulus/engine/ranked_run.hpp>
#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/outputs/master_file.hpp>
#include <annulus/outputs/stored_frames.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// No sum over ranks can be larger than the sum of their largest.
double largest(const CorrelationSums& sums) {
  double found = 0;
  for (const auto* const values : {&sums.signal, &sums.mask}) {
    for (const std::int64_t value : *values) found = std::max(found, std::abs(static_cast<double>(value)));
  }
  return found;
}

class SharedCorrelation {
 public:
  SharedCorrelation(const CorrelateConfig& config, Ranks& ranks, const RunHooks& hooks, std::stop_token stop)
      : config_(config), ranks_(ranks), common_(ranks, hooks, std::move(stop)) {}

  CorrelateReport run();

 private:
  void agree_on_scale();
  PartPlace begin_part(const SharedScan& scan);
  void make_room() const;
  void forget_contained_parts() const;
  void correlate_part();
  bool any_failed();
  void keep_part();
  void gather_snapshots();
  void add_up();
  void keep_whole_as_part();
  void write_whole();

  const CorrelateConfig& config_;
  Ranks& ranks_;
  RankedRun common_;
  std::int64_t scale_ = 0;
  fs::path output_;                     // of the whole, as soon as all have begun
  std::vector<fs::path> older_;         // files of earlier runs that none of us goes on with
  std::optional<FileStamp> contained_;  // of an output whose images a part has, too: the part counts
  std::shared_ptr<StoredFrames> held_elsewhere_;
  CorrelateReport report_;
  SnapshotTable all_snapshots_;  // in the first rank
};

// That of what was begun, or of the first images of the scan.
void SharedCorrelation::agree_on_scale() {
  together(ranks_, [&] {
    if (!ranks_.is_first()) return;
    std::vector<fs::path> begun;
    const fs::path output = real_output(config_.reduction.output);
    if (config_.reduction.append && !output.empty()) begun = find_parts(output);
    if (config_.reduction.append && !output.empty() && fs::exists(output)) begun.push_back(output);
    scale_ = config_.scale || begun.empty() ? find_scale(config_, ranks_.stopped())
                                            : read_correlation_record(begun.front()).setup.scale;
  });
  const auto bytes = std::as_bytes(std::span(&scale_, 1));
  std::vector<std::byte> told(bytes.begin(), bytes.end());
  ranks_.broadcast(told);
  std::memcpy(&scale_, told.data(), sizeof scale_);
}

// A job that was killed after it had written the output, or one part of everything, and before the parts of
// it were gone.
void SharedCorrelation::forget_contained_parts() const {
  std::vector<SnapshotTable> kept;
  const auto read = [](const fs::path& file) { return read_correlation_record(file).snapshots; };
  if (fs::exists(output_)) kept.push_back(read(output_));
  std::vector<std::pair<fs::path, SnapshotTable>> parts;
  for (const fs::path& part : find_parts(output_)) parts.emplace_back(part, read(part));
  // Those with the most images first: they contain others.
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const auto& part) { return part.second.rows().size(); });
  for (auto& part : parts) {
    SnapshotTable& table = part.second;
    if (std::ranges::any_of(kept, [&](const SnapshotTable& other) { return contains_all(other, table); })) {
      fs::remove(part.first);
    } else {
      kept.push_back(std::move(table));
    }
  }
}

// Only the first rank does this.
void SharedCorrelation::make_room() const {
  const IntegrateConfig& reduction = config_.reduction;
  check_place_of(config_, output_);
  check_correlation_is_free(output_);
  if (reduction.append) {
    forget_contained_parts();
  } else {
    clear_parts(reduction, output_);
    // A job that is killed is gone on with, and what it replaces is none of its images.
    if (fs::exists(output_)) remove_outputs({output_});
  }
  const fs::path folder = parts_folder(output_);
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (failed) throw Error(ErrorKind::kOutput, folder.string(), "cannot be made: " + failed.message());
}

PartPlace SharedCorrelation::begin_part(const SharedScan& scan) {
  output_ = real_output(scan.output);
  together(ranks_, [&] {
    if (ranks_.is_first()) make_room();
  });
  const fs::path ours = part_name(output_, ranks_.rank());
  // All have read what there is before anybody writes.
  together(ranks_, [&] {
    held_elsewhere_ = std::make_shared<StoredFrames>(fs::current_path());
    const auto hold = [&](const SnapshotTable& table) {
      for (const Snapshot& row : table.rows())
        held_elsewhere_->add(row.source_id, row.in_source, row.status == SnapshotStatus::kBad);
    };
    std::optional<SnapshotTable> whole;
    if (config_.reduction.append && fs::exists(output_)) {
      scan.check(output_);
      whole = read_correlation_record(output_).snapshots;
    }
    for (const fs::path& part : find_parts(output_)) {
      scan.check(part);
      const SnapshotTable table = read_correlation_record(part).snapshots;
      if (whole && contains_all(table, *whole)) contained_ = stamp_of(output_);
      if (part == ours) continue;
      hold(table);
      bool of_a_rank = false;
      for (unsigned rank = 0; rank < ranks_.size(); ++rank) of_a_rank |= part == part_name(output_, rank);
      if (!of_a_rank) older_.push_back(part);
    }
    if (!whole || contained_) return;
    hold(*whole);
    older_.push_back(output_);
  });
  return {ours};
}

void SharedCorrelation::correlate_part() {
  CorrelateConfig ours = config_;
  ours.scale = scale_;
  ours.reduction.backend_options.device = device_of(config_.reduction, ranks_);
  const Share share = common_.share([this](const SharedScan& scan) { return begin_part(scan); },
                                    [this](const FrameId& frame) { return held_elsewhere_->find(frame); });
  report_ = annulus::correlate(ours, share, common_.hooks(), ranks_.stopped());
}

bool SharedCorrelation::any_failed() {
  const auto all = ranks_.gather(std::vector<std::byte>(common_.failure() ? 1 : 0));
  std::vector<std::byte> any;
  for (const auto& bytes : all) any.insert(any.end(), bytes.begin(), bytes.end());
  ranks_.broadcast(any);
  return !any.empty();
}

// What comes after our work fails: what we did is kept, and `append` goes on with it.
void SharedCorrelation::keep_part() {
  CorrelationRecord& record = report_.correlation.record;
  if (common_.failure() || record.snapshots.rows().empty()) return;
  record.finished = false;
  write_correlation(part_name(output_, ranks_.rank()), record, report_.correlation.sums, true);
}

// The rows of all ranks, and of what earlier runs left, in the first one: as those of the whole. Those of the
// output come first, as when one process goes on with it.
void SharedCorrelation::gather_snapshots() {
  const CorrelationRecord& ours = report_.correlation.record;
  const std::string& here = ours.origin.working_directory;
  const auto rows = ranks_.gather(packed(ours.snapshots, here));
  together(ranks_, [&] {
    if (!ranks_.is_first()) return;
    if (contained_ && stamp_of(output_) != contained_) {
      throw Error(ErrorKind::kOutput, output_.string(),
                  "another program wrote this file meanwhile, so it is not touched",
                  "let one program at a time write it, or choose another `output`");
    }
    const auto read = [&](const fs::path& file) {
      CorrelationRecord record = read_correlation_record(file);
      return named_from(here, std::move(record.snapshots), record.origin.working_directory);
    };
    SnapshotTable before;
    std::vector<SnapshotTable> tables;
    if (contained_) before = read(output_);
    for (const auto& bytes : rows) tables.push_back(unpacked(bytes, here));
    for (const fs::path& file : older_) {
      if (file == output_) {
        before = read(file);
      } else {
        tables.push_back(read(file));
      }
    }
    std::vector<const SnapshotTable*> pointers;
    for (SnapshotTable& table : tables) {
      if (contained_) table = without(table, before);
      pointers.push_back(&table);
    }
    const SnapshotTable ours_and_parts = join(pointers);
    all_snapshots_ = join({&before, &ours_and_parts});
  });
}

// The sums of all ranks, and of what earlier runs left, in the first one.
void SharedCorrelation::add_up() {
  Correlation& whole = report_.correlation;
  double ours = largest(whole.sums);
  together(ranks_, [&] {
    if (!ranks_.is_first()) return;
    for (const fs::path& file : older_) ours += largest(read_correlation_sums(file).sums);
  });
  const auto all = ranks_.gather(std::as_bytes(std::span(&ours, 1)));
  together(ranks_, [&] {
    double bound = 0;
    for (const auto& bytes : all) {
      double of_rank = 0;
      std::memcpy(&of_rank, bytes.data(), sizeof of_rank);
      bound += of_rank;
    }
    if (bound < static_cast<double>(std::numeric_limits<std::int64_t>::max()) / 2) return;
    throw Error(ErrorKind::kInput, output_.string(), "sums of so many images leave 64 bits",
                "give a smaller `scale`, or correlate fewer images");
  });
  together(ranks_, [&] {
    if (!ranks_.is_first()) return;
    for (const fs::path& file : older_) whole.sums.add(read_correlation_sums(file).sums);
  });
  ranks_.add_up(whole.sums.signal);
  ranks_.add_up(whole.sums.mask);
  std::int64_t images = static_cast<std::int64_t>(whole.sums.images);
  ranks_.add_up(std::span(&images, 1));
  if (ranks_.is_first()) whole.sums.images = static_cast<std::uint64_t>(images);
}

// The output could not be written, and the first rank has everything. Where this cannot be written either,
// the parts of the last checkpoints stay.
void SharedCorrelation::keep_whole_as_part() {
  CorrelationRecord& record = report_.correlation.record;
  if (record.snapshots.rows().empty()) return;
  record.finished = false;
  const fs::path kept = part_name(output_, 0);
  try {
    write_correlation(kept, record, report_.correlation.sums, true);
  } catch (const Error&) {
    return;
  }
  std::error_code ignored;
  for (const fs::path& part : find_parts(output_)) {
    if (part != kept) fs::remove(part, ignored);
  }
}

// Only the first rank does this.
void SharedCorrelation::write_whole() {
  CorrelationRecord& record = report_.correlation.record;
  record.snapshots = std::move(all_snapshots_);
  report_.output = output_;
  const std::size_t stored = record.snapshots.rows().size();
  report_.already_stored = stored - std::min<std::uint64_t>(stored, report_.summary.frames);
  record.finished = !report_.failed && !report_.summary.interrupted;
  record.origin.config_json = to_json(config_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  record.origin.options = as_text(config_);
  if (record.finished || stored > 0) {
    try {
      write_correlation(output_, record, report_.correlation.sums,
                        config_.reduction.overwrite || config_.reduction.append,
                        config_.reduction.backend_options.threads);
    } catch (const Error&) {
      keep_whole_as_part();
      throw;
    }
  }
  remove_parts(output_);
}

CorrelateReport SharedCorrelation::run() {
  const auto start = Clock::now();
  agree_on_scale();
  common_.do_part([this] { correlate_part(); });
  common_.meet(report_.failed, parts_folder(output_));
  PartSummary all =
      common_.gather({report_.summary, report_.warnings, report_.failed, common_.failure().has_value()});
  report_.summary = std::move(all.summary);
  report_.warnings = std::move(all.warnings);
  report_.failed = all.failed;
  if (any_failed()) {
    together(ranks_, [&] {
      if (common_.failure()) throw *common_.failure();
      keep_part();
    });
  }
  try {
    gather_snapshots();
    add_up();
  } catch (const FailedTogether&) {
    try {
      keep_part();
    } catch (const Error&) {
      // The first failure is the one to tell of.
    }
    throw;
  }
  together(ranks_, [&] {
    if (ranks_.is_first()) write_whole();
  });
  report_.total_seconds = seconds_since(start);
  return std::move(report_);
}

}  // namespace

CorrelateReport correlate(const CorrelateConfig& config, Ranks& ranks, const RunHooks& hooks,
                          std::stop_token stop) {
  const std::string& output = config.reduction.output;
  const bool goes_on = config.reduction.append && config.reduction.part.empty() && !output.empty() &&
                       !find_parts(real_output(output)).empty();
  if (ranks.size() == 1 && !goes_on) return correlate(config, hooks, stop);
  together(ranks, [&] {
    if (!config.fast) return;
    throw Error(ErrorKind::kUsage, "`fast`", "previews cannot be added up, so not be made by several ranks",
                "start one process, or leave it out");
  });
  return SharedCorrelation(config, ranks, hooks, std::move(stop)).run();
}

}  // namespace annulus
