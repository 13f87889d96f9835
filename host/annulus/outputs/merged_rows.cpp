#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/stored_frames.hpp>
#include <annulus/outputs/stored_recipe.hpp>
#include <annulus/outputs/stored_rows.hpp>
#include <annulus/outputs/stored_sums.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_merge(const fs::path& path, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kInput, path.string(), what, cure);
}

// What frames are known by, and the input that has each.
class KnownFrames {
 public:
  // The input that had it before.
  std::optional<std::size_t> add(const StoredRow& row, std::size_t input) {
    const SourceId source = without_number(row.source);
    const Key key{source[0], source[1], row.in_source};
    const auto [found, is_new] = frames_.emplace(key, static_cast<std::uint32_t>(input));
    return is_new ? std::nullopt : std::optional<std::size_t>(found->second);
  }

 private:
  struct Key {
    std::uint64_t low, high, in_source;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.high + key.in_source * 0x9E3779B97F4A7C15; }
  };
  std::unordered_map<Key, std::uint32_t, Hash> frames_;
};

std::string name_of_columns(const OutputHeader& header) {
  std::string names;
  for (const ColumnInfo& column : header.columns)
    names += (names.empty() ? "" : ", ") + column.name + (column.unit.empty() ? "" : " in " + column.unit);
  return names.empty() ? "none" : names;
}

std::string bins_of(const OutputHeader& header) {
  std::string bins;
  for (const Axis& axis : header.axes) bins += (bins.empty() ? "" : " x ") + std::to_string(axis.bins());
  return bins;
}

// What differs, if anything does.
std::string difference(const OutputHeader& one, const OutputHeader& other) {
  if (bins_of(one) != bins_of(other)) return fmt::format("{} bins and {}", bins_of(one), bins_of(other));
  if (one.plan_hash != other.plan_hash) {
    return fmt::format("their plans, that is geometry, mask, corrections or options ({:.12} and {:.12})",
                       one.plan_hash, other.plan_hash);
  }
  if (one.has_errors != other.has_errors) return "one has errors and the other has not";
  if (one.recipe != other.recipe)
    return fmt::format("their recipes: {}, and {}", in_words(one.recipe), in_words(other.recipe));
  if (name_of_columns(one) != name_of_columns(other))
    return fmt::format("their columns: {}, and {}", name_of_columns(one), name_of_columns(other));
  return {};
}

class RowMerger {
 public:
  RowMerger(RowOrder order, const DifferenceOfRuns& difference) : order_(order), difference_(difference) {}

  void add(const fs::path& path) {
    const PatternFile file(path);
    const Hdf5Session session;
    const StoredSums sums(path, file.header());
    for (const char* part : {layout::kChecksums, layout::kNormalizationFactor, layout::kSourceId}) {
      if (!sums.has(part)) {
        refuse_merge(path, fmt::format("was written by an earlier annulus, without {}", part),
                     "reduce its frames again");
      }
    }
    check_same(path, file.header(), sums.job().plan->pixel_type);
    check_same_run(path, file.header());
    note_parts(path, file);
    const std::size_t number = merged_.inputs.size();
    MergeInput input{path, file.header(), file.frames(), 0, file.is_closed()};
    std::uint64_t row = 0;
    for_each_stored_row(sums.file(), file.frames(), ErrorKind::kInput, [&](const StoredRow& stored) {
      if (const auto other = known_.add(stored, number)) {
        refuse_merge(path,
                     fmt::format("row {} is a frame that {} holds, too", row,
                                 *other == number ? "another row" : merged_.inputs[*other].path.string()),
                     "leave one of the files out");
      }
      if (stored.bad) ++input.bad;
      add_row(number, row++, stored.number);
    });
    merged_.frames += input.frames;
    merged_.bad += input.bad;
    merged_.inputs.push_back(std::move(input));
  }

  MergedRows finish() {
    if (order_ == RowOrder::kByNumber) sort_by_number();
    std::uint64_t position = 0;
    for (RowRun& run : merged_.runs) {
      run.position = position;
      if (order_ == RowOrder::kByFile) run.number = position;
      position += run.count;
    }
    const std::uint64_t end =
        merged_.runs.empty() ? 0 : merged_.runs.back().number + merged_.runs.back().count;
    merged_.missing = end - merged_.frames;
    merged_.parts = parts_.all();
    merged_.missing_parts = parts_.missing();
    return std::move(merged_);
  }

 private:
  void check_same(const fs::path& path, const OutputHeader& header, PixelType type) {
    if (merged_.inputs.empty()) type_ = type;
    std::string what = merged_.inputs.empty() ? "" : difference(merged_.inputs.front().header, header);
    if (what.empty() && type != type_) what = "their sums have another precision";
    if (what.empty()) return;
    refuse_merge(path,
                 fmt::format("does not fit {}, they differ: {}", merged_.inputs.front().path.string(), what),
                 "merge outputs of one plan, with the same columns");
  }

  void check_same_run(const fs::path& path, const OutputHeader& header) const {
    if (!difference_ || merged_.inputs.empty()) return;
    const MergeInput& first = merged_.inputs.front();
    const std::string what = difference_(first.header.config_json, header.config_json);
    if (what.empty()) return;
    refuse_merge(path, fmt::format("does not fit {}, they differ: {}", first.path.string(), what),
                 "renormalise some of them, so that all are divided by the same");
  }

  void note_parts(const fs::path& path, const PatternFile& file) {
    const OutputHeader& header = file.header();
    if (const auto part = part_of_scan(header.config_json, header.working_directory)) note_part(path, *part);
    const auto merged =
        merged_parts(header.options, header.config_json, header.working_directory, file.frames());
    if (!merged) return;
    for (const PartOfScan& part : merged->parts) note_part(path, part);
  }

  void note_part(const fs::path& path, const PartOfScan& part) {
    if (!first_part_) first_part_ = {path, part};
    const std::string what = difference_of_scans(first_part_->second, part);
    if (order_ == RowOrder::kByNumber && !what.empty()) {
      refuse_merge(path, fmt::format("does not fit {}: {}", first_part_->first.string(), what),
                   "merge parts of one scan; `scans` puts different scans one behind the other");
    }
    parts_.add(part);
  }

  void add_row(std::size_t input, std::uint64_t row, std::uint64_t number) {
    std::vector<RowRun>& runs = merged_.runs;
    const bool follows = !runs.empty() && runs.back().input == input &&
                         (order_ == RowOrder::kByFile || runs.back().number + runs.back().count == number);
    if (follows) {
      ++runs.back().count;
    } else {
      runs.push_back({input, row, 1, number});
    }
  }

  void sort_by_number() {
    std::vector<RowRun>& runs = merged_.runs;
    std::ranges::sort(runs, {}, &RowRun::number);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const RowRun &before = runs[i - 1], &run = runs[i];
      if (before.number + before.count <= run.number) continue;
      refuse_merge(merged_.inputs[run.input].path,
                   fmt::format("holds frame {} of the scan, and so does {}", run.number,
                               merged_.inputs[before.input].path.string()),
                   "merge parts of one scan; `scans` puts different scans one behind the other");
    }
    join_neighbours();
  }

  // Runs of one output that follow each other after sorting.
  void join_neighbours() {
    std::vector<RowRun> joined;
    for (const RowRun& run : merged_.runs) {
      const bool follows = !joined.empty() && joined.back().input == run.input &&
                           joined.back().row + joined.back().count == run.row &&
                           joined.back().number + joined.back().count == run.number;
      if (follows) {
        joined.back().count += run.count;
      } else {
        joined.push_back(run);
      }
    }
    merged_.runs = std::move(joined);
  }

  RowOrder order_;
  const DifferenceOfRuns& difference_;
  PixelType type_ = PixelType::kI32;
  KnownFrames known_;
  std::optional<std::pair<fs::path, PartOfScan>> first_part_;
  PartsThere parts_;
  MergedRows merged_;
};

}  // namespace

MergedRows merge_rows(const std::vector<fs::path>& outputs, RowOrder order,
                      const DifferenceOfRuns& difference) {
  RowMerger merger(order, difference);
  for (const fs::path& output : outputs) merger.add(output);
  return merger.finish();
}

}  // namespace annulus
