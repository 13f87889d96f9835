#include <annulus/core/error.hpp>
#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/fxs/merge_correlations.hpp>
#include <annulus/outputs/merged_header.hpp>

#include <fmt/format.h>

#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

void check_agreement(const fs::path& first, const CorrelationRecord& here, const fs::path& path,
                     const CorrelationRecord& there) {
  std::string difference = difference_of(here.setup, there.setup);
  if (difference.empty()) difference = difference_of(here.legendre, there.legendre);
  if (difference.empty()) return;
  throw Error(ErrorKind::kInput, path.string(),
              fmt::format("cannot be added to {}: {}", first.string(), difference),
              "correlate all with the same plan, scale, limits and coefficients");
}

// Returns whether all of it is finished, but for parts that are missing.
bool note_parts(const CorrelationRecord& record, PartsThere& parts) {
  const CorrelationOrigin& origin = record.origin;
  const auto part = part_of_scan(origin.config_json, origin.working_directory);
  if (part) parts.add(*part);
  const auto merged = merged_parts(origin.options, origin.config_json, origin.working_directory,
                                   record.snapshots.rows().size());
  if (!merged || record.finished) return record.finished;
  for (const PartOfScan& inside : merged->parts) parts.add(inside);
  return merged->finished;
}

void make_no_part(CorrelationOrigin& origin) {
  origin.config_json = with_options(origin.config_json, {{"part", ""}});
  for (auto& [key, text] : origin.options) {
    if (key == "part") text.clear();
  }
}

}  // namespace

MergedCorrelations merge_correlations(const std::vector<fs::path>& inputs, const fs::path& output,
                                      bool overwrite) {
  if (inputs.empty())
    throw Error(ErrorKind::kUsage, "`inputs`", "no files are named", "name correlations to add up");
  check_correlation_place(output, overwrite);
  for (const fs::path& input : inputs) {
    std::error_code absent;
    if (fs::equivalent(input, output, absent))
      throw Error(ErrorKind::kUsage, "`output`", fmt::format("{} is one of the inputs", output.string()),
                  "choose another name");
  }
  Correlation all = read_correlation_sums(inputs.front());
  PartsThere parts;
  bool finished = note_parts(all.record, parts);
  std::vector<SnapshotTable> tables;
  tables.push_back(std::move(all.record.snapshots));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Correlation next = read_correlation_sums(inputs[i]);
    check_agreement(inputs.front(), all.record, inputs[i], next.record);
    finished = note_parts(next.record, parts) && finished;
    all.sums.add(next.sums);
    tables.push_back(named_from(all.record.origin.working_directory, std::move(next.record.snapshots),
                                next.record.origin.working_directory));
  }
  std::vector<const SnapshotTable*> pointers;
  for (const SnapshotTable& table : tables) pointers.push_back(&table);
  all.record.snapshots = join(pointers);
  make_no_part(all.record.origin);
  const std::vector<Part> missing = parts.missing();
  all.record.finished = finished && missing.empty();
  CorrelationOrigin& origin = all.record.origin;
  std::erase_if(origin.options, [](const auto& option) { return option.first == kMergedPartsOption; });
  if (!missing.empty()) {
    const MergedParts merged{parts.all(), all.record.snapshots.rows().size(), finished};
    origin.options.emplace_back(kMergedPartsOption,
                                text_of(merged, origin.config_json, origin.working_directory));
  }
  write_correlation(output, all.record, all.sums, overwrite);
  const SnapshotTable& snapshots = all.record.snapshots;
  return {inputs.size(),
          snapshots.count(SnapshotStatus::kCounted),
          snapshots.count(SnapshotStatus::kRejected),
          snapshots.count(SnapshotStatus::kBad),
          all.record.finished,
          missing};
}

}  // namespace annulus
