#include <annulus/core/error.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/config.hpp>
#include <annulus/engine/renormalise.hpp>
#include <annulus/engine/stored_output.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/outputs/file_beside.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/sources/table_column.hpp>
#include <annulus/version.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_input(const fs::path& input, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kInput, input.string(), what, cure);
}

// The input, and where the values of each column of the output come from.
class OldOutput {
 public:
  explicit OldOutput(const RenormaliseOptions& options)
      : stored_(options.input), columns_(file().header().columns) {}

  const PatternFile& file() const { return stored_.file(); }
  const Job& job() const { return stored_.job(); }
  std::uint64_t frames_at_once() const { return stored_.frames_at_once(); }
  const std::vector<ColumnInfo>& columns() const { return columns_; }

  // A column from a table takes the place of one of the same name.
  void set_column(const ColumnSpec& spec, const std::string& allow_links) {
    if (spec.place == ColumnPlace::kHeader) {
      throw Error(ErrorKind::kUsage, "`monitor`", "headers of frames are not read again",
                  "reduce the frames again, or name a column of the input");
    }
    table_ = open_column(spec, false, allow_links);
    if (table_->rows() != file().frames()) {
      refuse_input(spec.column.origin,
                   fmt::format("column {}: it has {} rows, {} has {}", spec.column.name, table_->rows(),
                               file().path().string(), frame_count(file().frames())),
                   "a table has one row per frame of the input");
    }
    const auto found = std::ranges::find(columns_, spec.column.name, &ColumnInfo::name);
    place_of_table_ = static_cast<std::size_t>(found - columns_.begin());
    if (found == columns_.end()) {
      columns_.push_back(table_->info());
    } else {
      *found = table_->info();
    }
  }

  // Frames without their patterns; sums only where there are any. Throws kInput for damaged ones.
  std::vector<ReducedFrame> read(std::uint64_t first, std::uint64_t count) const {
    std::vector<ReducedFrame> frames = stored_.read(first, count);
    for (std::size_t i = 0; i < count; ++i) {
      frames[i].pattern = {};
      const bool only_its_monitor = std::isnan(frames[i].normalization);
      if (only_its_monitor) frames[i].fault.clear();
      if (!table_) continue;
      frames[i].point.resize(columns_.size());
      frames[i].point[place_of_table_] = table_->at(first + i);
    }
    return frames;
  }

 private:
  StoredOutput stored_;
  std::vector<ColumnInfo> columns_;
  std::unique_ptr<TableColumn> table_;
  std::size_t place_of_table_ = 0;
};

// The input's configuration as it would have to be to give the output.
IntegrateConfig new_configuration(const OldOutput& old, const RenormaliseOptions& options) {
  IntegrateConfig config;
  try {
    apply_json(old.file().header().config_json, old.file().path().string(), config);
  } catch (const Error&) {
    // Of a later version, or of another program: what is changed here is known.
  }
  // A monitor that had a source of its own stays a column.
  if (!config.monitor.empty() && names_a_source(config.monitor)) {
    for (const ColumnSpec& spec : parse_columns({}, config.monitor).columns)
      config.columns.push_back(spec.column.name + "=" + spec.column.origin);
  }
  const auto is_replaced = [&](const std::string& column) {
    const std::string name = column.substr(0, column.find('='));
    const auto wanted = parse_columns({}, options.monitor).columns;
    return !wanted.empty() && wanted.front().column.name == name;
  };
  if (!options.monitor.empty()) std::erase_if(config.columns, is_replaced);
  config.monitor = options.monitor;
  config.normalization_factor = options.normalization_factor;
  return config;
}

RunDescription describe_output_of(const OldOutput& old, const RenormaliseOptions& options) {
  const IntegrateConfig config = new_configuration(old, options);
  RunDescription run;
  run.program_version = kVersion;
  for (auto& [key, text] : as_text(config)) {
    if (key == "column" || key == "monitor" || key == "normalization_factor")
      run.options.emplace_back(key, text);
  }
  run.config_json = to_json(config).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  run.expected_frames = old.file().frames();
  run.columns = old.columns();
  run.made_from = old.file().path();
  run.numbered_by_place = true;  // numbers stay as they are
  run.file_name = options.output.filename().string();
  const Hdf5Session session;
  take_outliers({{old.file().path(), old.file().header(), old.file().frames()}}, true, run);
  return run;
}

void check_options(const RenormaliseOptions& options) {
  if (!std::isnormal(options.normalization_factor) || options.normalization_factor < 0) {
    throw Error(ErrorKind::kPlan, "`normalization_factor`",
                fmt::format("{} cannot divide", options.normalization_factor), "give a positive number");
  }
  std::error_code ignored;
  if (fs::equivalent(options.input, options.output, ignored)) {
    throw Error(ErrorKind::kOutput, options.output.string(), "is the input", "choose another `output`");
  }
}

class Renormaliser {
 public:
  Renormaliser(const RenormaliseOptions& options, const WantedColumns& wanted,
               const std::vector<ColumnInfo>& columns, const Job& job)
      : options_(options), wanted_(wanted), job_(job) {
    if (!wanted_.monitor.empty()) monitor_ = find_monitor(wanted_.monitor, columns);
  }

  // As a reduction does it (reduce.cpp).
  void normalise_frame(ReducedFrame& frame, RenormaliseReport& report) const {
    frame.normalization = options_.normalization_factor;
    if (monitor_) apply_monitor(frame, report);
    if (frame.fault.empty()) {
      frame.pattern = normalise(*job_.plan, job_.recipe, frame.sums, frame.normalization);
    } else {
      ++report.bad;
    }
  }

 private:
  void apply_monitor(ReducedFrame& frame, RenormaliseReport& report) const {
    const FrameFactor factor =
        frame_factor(options_.normalization_factor, wanted_.monitor, frame.point[*monitor_]);
    if (!frame.fault.empty() && !factor.fault.empty()) return;
    frame.normalization = factor.value;
    if (factor.fault.empty()) return;
    frame.fault = factor.fault;
    const Error fault(ErrorKind::kInput, describe(frame.id), factor.fault,
                      "`keep_going` records such frames as bad and keeps their sums");
    if (!options_.keep_going) throw fault;
    if (!report.first_fault) report.first_fault = fault;
  }

  const RenormaliseOptions& options_;
  const WantedColumns& wanted_;
  const Job& job_;
  std::optional<std::size_t> monitor_;
};

}  // namespace

RenormaliseReport renormalise(const RenormaliseOptions& options, std::stop_token stop,
                              const std::function<void(const ReductionProgress&)>& on_progress) {
  check_options(options);
  const WantedColumns wanted = parse_columns({}, options.monitor);
  OldOutput old(options);
  for (const ColumnSpec& spec : wanted.columns) old.set_column(spec, options.allow_links);
  const Renormaliser renormaliser(options, wanted, old.columns(), old.job());
  RenormaliseReport report;
  report.columns = old.columns();
  report.monitor = wanted.monitor;
  FileBeside output(options.output, options.overwrite);
  try {
    const RunDescription run = describe_output_of(old, options);
    const std::unique_ptr<Sink> sink = open_nexus(output.name(), old.job(), run, IfExists::kRefuse);
    const std::uint64_t frames = old.file().frames();
    while (report.frames < frames) {
      if (stop.stop_requested()) {
        throw Error(ErrorKind::kInterrupted, "renormalise",
                    fmt::format("interrupted; {} is not written", options.output.string()));
      }
      const std::uint64_t count = std::min(old.frames_at_once(), frames - report.frames);
      std::vector<ReducedFrame> block = old.read(report.frames, count);
      for (ReducedFrame& frame : block) {
        renormaliser.normalise_frame(frame, report);
        if (run.outliers != Outliers::kLists) frame.sums.outliers.clear();  // they are counted already
      }
      sink->append(block);
      sink->flush();
      report.frames += count;
      if (on_progress) on_progress({report.frames, report.bad, frames});
    }
    sink->close();
    output.take_place();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutput) throw;
    // The user knows the file by its own name, and cannot continue it.
    throw Error(ErrorKind::kOutput, options.output.string(), error.fault(),
                "make room, or choose another `output`");
  }
  if (!old.file().is_closed()) report.unclosed = true;
  return report;
}

}  // namespace annulus
