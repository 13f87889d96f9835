#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/merge.hpp>
#include <annulus/engine/merged_pattern.hpp>
#include <annulus/engine/stored_output.hpp>
#include <annulus/outputs/file_beside.hpp>
#include <annulus/outputs/master_file.hpp>
#include <annulus/outputs/merged_header.hpp>
#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/outliers.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Inputs that are open at once: blocks of parts take turns, and there may be more parts than files a process
// may open.
constexpr std::size_t kMostOpen = 64;

void check_options(const MergeOptions& options) {
  if (options.inputs.empty())
    throw Error(ErrorKind::kUsage, "merge", "no outputs are named", "name two or more");
  if (options.scans && options.to == MergeTo::kMaster) {
    throw Error(ErrorKind::kUsage, "`scans`",
                "a master shows frames by the numbers that they have in one scan",
                "copy the frames of different scans, without `virtual`");
  }
  for (const fs::path& input : options.inputs) {
    std::error_code ignored;
    if (fs::equivalent(input, options.output, ignored))
      throw Error(ErrorKind::kOutput, options.output.string(), "is an input", "choose another `output`");
  }
}

// Nobody reads the output before it is complete, so it need not be flushed for readers. But what waits for a
// flush takes memory, and each flush waits for the disk.
constexpr double kSecondsBetweenFlushes = 1;

class OpenInputs {
 public:
  explicit OpenInputs(const std::vector<MergeInput>& inputs) : inputs_(inputs) {}

  const StoredOutput& at(std::size_t number) {
    const auto found = std::ranges::find(open_, number, &Entry::first);
    if (found != open_.end()) {
      open_.splice(open_.begin(), open_, found);
    } else {
      if (open_.size() >= kMostOpen) open_.pop_back();
      open_.emplace_front(number, std::make_unique<StoredOutput>(inputs_[number].path));
      // What was counted before must be there still, and it may have grown.
      if (open_.front().second->file().frames() < inputs_[number].frames) {
        throw Error(ErrorKind::kInput, inputs_[number].path.string(), "became shorter while it was read",
                    "see that no other program changes it meanwhile");
      }
    }
    return *open_.front().second;
  }

 private:
  using Entry = std::pair<std::size_t, std::unique_ptr<StoredOutput>>;
  const std::vector<MergeInput>& inputs_;
  std::list<Entry> open_;  // the last used first
};

// Of parts, blocks of a few frames come in turn: they are written together.
class Gathering {
 public:
  Gathering(Sink& sink, std::uint64_t at_once) : sink_(sink), at_once_(at_once) {}

  void add(std::vector<ReducedFrame> frames) {
    if (frames_.size() + frames.size() > at_once_) write();
    std::ranges::move(frames, std::back_inserter(frames_));
  }

  void write() {
    sink_.append(frames_);
    frames_.clear();
    if (seconds_since(flushed_) < kSecondsBetweenFlushes) return;
    sink_.flush();
    flushed_ = Clock::now();
  }

 private:
  Sink& sink_;
  const std::uint64_t at_once_;
  std::vector<ReducedFrame> frames_;
  Clock::time_point flushed_ = Clock::now();
};

class Merger {
 public:
  Merger(const MergeOptions& options, std::stop_token stop,
         const std::function<void(const ReductionProgress&)>& on_progress)
      : options_(options),
        stop_(std::move(stop)),
        on_progress_(on_progress),
        rows_(merge_rows(options.inputs, options.scans ? RowOrder::kByFile : RowOrder::kByNumber,
                         difference_of_division)),
        inputs_(rows_.inputs) {
    if (rows_.frames == 0)
      throw Error(ErrorKind::kInput, options.inputs.front().string(),
                  "there is no frame in any of the inputs");
  }

  const MergedRows& rows() const { return rows_; }

  void copy(const fs::path& output) {
    RunDescription run = describe_merged(rows_, options_.output);
    run.of_other_frames = options_.scans;
    {
      const Hdf5Session session;
      take_outliers(rows_.inputs, true, run);
    }
    const std::unique_ptr<Sink> sink = open_nexus(output, inputs_.at(0).job(), run, IfExists::kRefuse);
    Gathering gathering(*sink, inputs_.at(0).frames_at_once());
    for_each_block([&](std::vector<ReducedFrame> frames, const RowRun&) {
      if (run.outliers != Outliers::kLists) forget_outliers(frames);
      gathering.add(std::move(frames));
    });
    gathering.write();
    sink->close();  // now it is on the disk
  }

  void merge_to_one(const fs::path& output, MergedValue value) {
    const FramesToMerge all = look_at_frames();
    const OutputHeader& header = rows_.inputs.front().header;
    MergedPattern merged(inputs_.at(0).job(), header.columns.size(), all);
    for_each_block([&](const std::vector<ReducedFrame>& frames, const RowRun&) {
      for (const ReducedFrame& frame : frames) {
        if (frame.fault.empty()) merged.add(frame);
      }
    });
    MergedPattern::Result result = merged.finish(value);
    result.frame.id.source = rows_.inputs.front().path.string();
    RunDescription run = describe_merged(rows_, options_.output);
    run.of_other_frames = true;
    run.expected_frames = 1;
    std::erase_if(run.options, [](const auto& option) { return option.first == kMergedPartsOption; });
    run.options.emplace_back("merged", describe_sources(value, all.frames));
    std::error_code unknown;
    run.working_directory = fs::current_path(unknown);
    const std::unique_ptr<Sink> sink = open_nexus(output, result.job, run, IfExists::kRefuse);
    sink->append({std::move(result.frame)});
    sink->close();
  }

 private:
  // What run.outliers_before counts already.
  static void forget_outliers(std::vector<ReducedFrame>& frames) {
    for (ReducedFrame& frame : frames) frame.sums.outliers.clear();
  }

  // Calls visit(frames, run) for all frames, numbered as in the output.
  template <typename Visit>
  void for_each_block(const Visit& visit) {
    ReductionProgress now{0, 0, rows_.frames};
    const fs::path folder = inputs_.at(0).working_directory();
    for (const RowRun& run : rows_.runs) {
      for (std::uint64_t done = 0; done < run.count;) {
        if (stop_.stop_requested()) {
          throw Error(ErrorKind::kInterrupted, "merge",
                      fmt::format("interrupted; {} is not written", options_.output.string()));
        }
        const StoredOutput& input = inputs_.at(run.input);
        const std::uint64_t count = std::min(input.frames_at_once(), run.count - done);
        std::vector<ReducedFrame> frames = input.read(run.row + done, count);
        for (std::size_t i = 0; i < count; ++i) {
          FrameId& id = frames[i].id;
          id.index = run.number + done + i;
          // Names are relative to one folder in the output.
          if (input.working_directory() != folder)
            id.source = (input.working_directory() / id.source).string();
          if (!frames[i].fault.empty()) ++now.bad;
        }
        visit(std::move(frames), run);
        done += count;
        now.frames += count;
        if (on_progress_) on_progress_(now);
      }
    }
  }

  FramesToMerge look_at_frames() {
    FramesToMerge all;
    for (std::size_t i = 0; i < rows_.inputs.size(); ++i) {
      const StoredOutput& input = inputs_.at(i);
      const std::uint64_t frames = rows_.inputs[i].frames;
      const std::vector<bool> bad = input.file().read_bad(0, frames);
      const std::vector<double> factors = input.file().read_factors(0, frames);
      const std::vector<std::int64_t> fraction_bits = input.read_fraction_bits(frames);
      for (std::size_t row = 0; row < frames; ++row) {
        if (bad[row]) continue;
        const int bits = static_cast<int>(fraction_bits[row]);
        if (all.frames++ > 0 && bits != all.finest) all.alike = false;
        all.finest = all.frames == 1 ? bits : std::max(all.finest, bits);
        all.largest_factor = std::max(all.largest_factor, factors[row]);
      }
    }
    if (all.frames == 0) {
      throw Error(ErrorKind::kInput, options_.inputs.front().string(), "all frames of the inputs are bad",
                  "a mean needs a good one");
    }
    return all;
  }

  std::string describe_sources(MergedValue value, std::uint64_t good) const {
    std::string text = fmt::format("{} of {} good frames, {} bad ones left out:",
                                   value == MergedValue::kMean ? "mean" : "sum", good, rows_.bad);
    for (const MergeInput& input : rows_.inputs) text += fmt::format(" {}", input.path.string());
    return text;
  }

  const MergeOptions& options_;
  const std::stop_token stop_;
  const std::function<void(const ReductionProgress&)>& on_progress_;
  const MergedRows rows_;
  OpenInputs inputs_;
};

MergeReport report_of(const MergedRows& rows) {
  MergeReport report{rows.frames, rows.bad, rows.missing, rows.missing_parts, {}};
  for (const MergeInput& input : rows.inputs) {
    if (!input.closed) report.unclosed.push_back(input.path);
  }
  return report;
}

}  // namespace

MergeReport merge_outputs(const MergeOptions& options, std::stop_token stop,
                          const std::function<void(const ReductionProgress&)>& on_progress) {
  check_options(options);
  if (options.to == MergeTo::kMaster) {
    const MasterContent content =
        write_master(options.output, options.inputs,
                     options.overwrite ? IfExists::kOverwrite : IfExists::kRefuse, difference_of_division);
    return {content.frames, content.bad, content.missing, content.missing_parts, {}};
  }
  Merger merger(options, std::move(stop), on_progress);
  FileBeside output(options.output, options.overwrite);
  try {
    if (options.to == MergeTo::kFrames) {
      merger.copy(output.name());
    } else {
      merger.merge_to_one(output.name(),
                          options.to == MergeTo::kMean ? MergedValue::kMean : MergedValue::kSum);
    }
    output.take_place();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutput) throw;
    // The user knows the file by its own name, and cannot continue it.
    throw Error(ErrorKind::kOutput, options.output.string(), error.fault(),
                "make room, or choose another `output`");
  }
  return report_of(merger.rows());
}

}  // namespace annulus
