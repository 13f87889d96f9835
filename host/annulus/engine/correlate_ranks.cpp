#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/correlate_ranks.hpp>
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
#include <type_traits>
#include <utility>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Rows as they lie in memory, then the texts of each.
std::vector<std::byte> packed(const SnapshotTable& table) {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  std::vector<std::byte> bytes;
  const auto put = [&](const void* data, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + size);
  };
  const auto put_texts = [&](const std::vector<std::string>& texts) {
    const std::uint64_t count = texts.size();
    put(&count, sizeof count);
    for (const std::string& text : texts) {
      const std::uint64_t size = text.size();
      put(&size, sizeof size);
      put(text.data(), text.size());
    }
  };
  put_texts(table.sources());
  put_texts(table.reasons());
  put(table.rows().data(), table.rows().size() * sizeof(Snapshot));
  return bytes;
}

SnapshotTable unpacked(std::span<const std::byte> bytes) {
  const auto get = [&](void* data, std::size_t size) {
    std::memcpy(data, bytes.data(), size);
    bytes = bytes.subspan(size);
  };
  const auto get_texts = [&] {
    std::uint64_t count = 0, size = 0;
    get(&count, sizeof count);
    std::vector<std::string> texts(count);
    for (std::string& text : texts) {
      get(&size, sizeof size);
      text.resize(size);
      if (size > 0) get(text.data(), size);
    }
    return texts;
  };
  const std::vector<std::string> sources = get_texts();
  const std::vector<std::string> reasons = get_texts();
  SnapshotTable table;
  while (!bytes.empty()) {
    Snapshot row;
    get(&row, sizeof row);
    table.add(row, sources.at(row.source), row.reason == 0 ? "" : reasons.at(row.reason - 1));
  }
  return table;
}

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
  fs::path begin_part(const fs::path& output);
  void make_room() const;
  void forget_parts_of_output() const;
  void correlate_part();
  void keep_parts_after_failure();
  void add_up();
  void write_whole();

  const CorrelateConfig& config_;
  Ranks& ranks_;
  RankedRun common_;
  std::int64_t scale_ = 0;
  fs::path output_;              // of the whole, as soon as all have begun
  std::vector<fs::path> older_;  // files of earlier runs that none of us goes on with
  std::shared_ptr<StoredFrames> held_elsewhere_;
  CorrelateReport report_;
  std::vector<SnapshotTable> tables_;  // of all that is added up
};

void SharedCorrelation::agree_on_scale() {
  together(ranks_, [&] {
    if (ranks_.is_first()) scale_ = find_scale(config_, ranks_.stopped());
  });
  const auto bytes = std::as_bytes(std::span(&scale_, 1));
  std::vector<std::byte> told(bytes.begin(), bytes.end());
  ranks_.broadcast(told);
  std::memcpy(&scale_, told.data(), sizeof scale_);
}

// A job that was killed after it had written the output, and before its parts were gone.
void SharedCorrelation::forget_parts_of_output() const {
  if (!fs::exists(output_)) return;
  const SnapshotTable whole = read_correlation_record(output_).snapshots;
  const auto rows_of = [](const SnapshotTable& table) {
    std::vector<std::pair<SourceId, std::uint64_t>> rows;
    for (const Snapshot& row : table.rows()) rows.emplace_back(row.source_id, row.in_source);
    std::ranges::sort(rows);
    return rows;
  };
  const auto in_whole = rows_of(whole);
  for (const fs::path& part : find_parts(output_)) {
    const auto in_part = rows_of(read_correlation_record(part).snapshots);
    if (std::ranges::includes(in_whole, in_part)) fs::remove(part);
  }
}

// Only the first rank does this.
void SharedCorrelation::make_room() const {
  const IntegrateConfig& reduction = config_.reduction;
  check_place_of(config_, output_);
  const fs::path folder = parts_folder(output_);
  if (reduction.append) {
    forget_parts_of_output();
  } else {
    const std::vector<fs::path> parts = find_parts(output_);
    if (!parts.empty() && !reduction.overwrite) {
      throw Error(ErrorKind::kOutput, folder.string(), "holds parts of an earlier run",
                  "`append` goes on with it, `overwrite` replaces it");
    }
    std::error_code ignored;
    for (const fs::path& part : parts) fs::remove(part, ignored);
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error(ErrorKind::kOutput, folder.string(), "cannot be made: " + failed.message());
}

fs::path SharedCorrelation::begin_part(const fs::path& output) {
  output_ = output;
  together(ranks_, [&] {
    if (ranks_.is_first()) make_room();
  });
  const fs::path ours = part_name(output, ranks_.rank());
  // All have read what there is before anybody writes.
  together(ranks_, [&] {
    held_elsewhere_ = std::make_shared<StoredFrames>(fs::current_path());
    std::vector<fs::path> files = find_parts(output);
    if (config_.reduction.append && fs::exists(output)) files.push_back(output);
    for (const fs::path& file : files) {
      if (file == ours) continue;
      const CorrelationRecord record = read_correlation_record(file);
      for (const Snapshot& row : record.snapshots.rows())
        held_elsewhere_->add(row.source_id, row.in_source, row.status == SnapshotStatus::kBad);
      bool of_a_rank = false;
      for (unsigned rank = 0; rank < ranks_.size(); ++rank) of_a_rank |= file == part_name(output, rank);
      if (!of_a_rank) older_.push_back(file);
    }
  });
  return ours;
}

void SharedCorrelation::correlate_part() {
  CorrelateConfig ours = config_;
  ours.scale = scale_;
  ours.reduction.backend_options.device = device_of(config_.reduction, ranks_);
  const Share share = common_.share([this](const fs::path& output) { return begin_part(output); },
                                    [this](const FrameId& frame) { return held_elsewhere_->find(frame); });
  report_ = annulus::correlate(ours, share, common_.hooks(), ranks_.stopped());
}

// Where one rank failed, its sums are in its part only. So are then those of the others.
void SharedCorrelation::keep_parts_after_failure() {
  const auto all = ranks_.gather(std::vector<std::byte>(common_.failure() ? 1 : 0));
  std::vector<std::byte> any;
  for (const auto& bytes : all) any.insert(any.end(), bytes.begin(), bytes.end());
  ranks_.broadcast(any);
  together(ranks_, [&] {
    if (common_.failure()) throw *common_.failure();
    if (any.empty() || report_.correlation.record.snapshots.rows().empty()) return;
    report_.correlation.record.finished = false;
    write_correlation(part_name(output_, ranks_.rank()), report_.correlation.record, report_.correlation.sums,
                      true);
  });
}

// The sums of all ranks, and of what earlier runs left, in the first one.
void SharedCorrelation::add_up() {
  Correlation& whole = report_.correlation;
  together(ranks_, [&] {
    if (!ranks_.is_first()) return;
    for (const fs::path& file : older_) {
      Correlation older = read_correlation_sums(file);
      if (const std::string difference = difference_of(whole.record.setup, older.record.setup);
          !difference.empty()) {
        throw Error(ErrorKind::kOutput, file.string(), "cannot be continued: " + difference,
                    "give the options that it was made with, or choose another `output`");
      }
      whole.sums.add(older.sums);
      const std::string& folder = older.record.origin.working_directory;
      tables_.push_back(folder == whole.record.origin.working_directory
                            ? std::move(older.record.snapshots)
                            : with_folder(older.record.snapshots, folder));
    }
  });
  const double ours = largest(whole.sums);
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
  ranks_.add_up(whole.sums.signal);
  ranks_.add_up(whole.sums.mask);
  std::int64_t images = static_cast<std::int64_t>(whole.sums.images);
  ranks_.add_up(std::span(&images, 1));
  const auto rows = ranks_.gather(packed(whole.record.snapshots));
  if (!ranks_.is_first()) return;
  whole.sums.images = static_cast<std::uint64_t>(images);
  for (const auto& bytes : rows) tables_.push_back(unpacked(bytes));
}

// Only the first rank does this.
void SharedCorrelation::write_whole() {
  CorrelationRecord& record = report_.correlation.record;
  std::vector<const SnapshotTable*> tables;
  for (const SnapshotTable& table : tables_) tables.push_back(&table);
  record.snapshots = join(tables);
  report_.output = output_;
  const std::size_t stored = record.snapshots.rows().size();
  report_.already_stored = stored - std::min<std::uint64_t>(stored, report_.summary.frames);
  record.finished = !report_.failed && !report_.summary.interrupted;
  record.origin.config_json = to_json(config_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  record.origin.options = as_text(config_);
  if (record.finished || stored > 0) {
    write_correlation(output_, record, report_.correlation.sums,
                      config_.reduction.overwrite || config_.reduction.append,
                      config_.reduction.backend_options.threads);
  }
  std::error_code ignored;
  for (const fs::path& part : find_parts(output_)) fs::remove(part, ignored);
  fs::remove(parts_folder(output_), ignored);
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
  keep_parts_after_failure();
  add_up();
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
  const bool goes_on = config.reduction.append && !output.empty() && !find_parts(output).empty();
  if (ranks.size() == 1 && !goes_on) return correlate(config, hooks, stop);
  together(ranks, [&] {
    if (!config.fast) return;
    throw Error(ErrorKind::kUsage, "`fast`", "previews cannot be added up, so not be made by several ranks",
                "start one process, or leave it out");
  });
  return SharedCorrelation(config, ranks, hooks, std::move(stop)).run();
}

}  // namespace annulus
