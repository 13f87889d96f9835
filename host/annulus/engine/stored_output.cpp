#include <annulus/core/error.hpp>
#include <annulus/engine/stored_output.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/outliers.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_output(const fs::path& path, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kInput, path.string(), what, cure);
}

// Read before the rest: whoever closes the file meanwhile is not taken for damage.
std::uint64_t closing_of(const fs::path& path) {
  if (const DerivedFile kind = derived_file(path); kind != DerivedFile::kNone)
    refuse_output(path, fmt::format("is {}: it holds no patterns", noun_of(kind)),
                  "name the patterns that it was made of");
  if (!is_annulus_output(path))
    refuse_output(path, "is not an output of annulus", "name a NeXus file that Annulus wrote");
  const Hdf5Session session;
  return stored_closing(path);
}

Pattern pattern_of(const StoredPatterns& patterns, std::size_t i) {
  Pattern pattern;
  const auto copy = [](std::span<const double> values) {
    PooledArray<double> array(values.size());
    std::ranges::copy(values, array.begin());
    return array;
  };
  pattern.intensity = copy(patterns.intensity(i));
  if (patterns.header.has_errors) pattern.error = copy(patterns.error(i));
  if (patterns.header.has_deviation) pattern.deviation = copy(patterns.deviation(i));
  if (patterns.header.has_spottiness) pattern.spottiness = copy(patterns.spottiness(i));
  return pattern;
}

}  // namespace

StoredOutput::StoredOutput(const fs::path& path) : closing_(closing_of(path)), file_(path) {
  const Hdf5Session session;
  sums_.emplace(path, file_.header());
  for (const char* part : {layout::kChecksums, layout::kNormalizationFactor, layout::kSourceId}) {
    if (!sums_->has(part)) {
      refuse_output(path, fmt::format("was written by an earlier annulus, without {}", part),
                    "reduce its frames again");
    }
  }
  checksums_.emplace(sums_->file(), closing_);
  const std::string fault = checksums_->check_header();
  if (!fault.empty()) refuse_damaged(fault);
  working_directory_ = read_text(sums_->file(), layout::kWorkingDirectory).value_or("");
}

StoredOutput::~StoredOutput() {
  const Hdf5Session session;
  checksums_.reset();
  sums_.reset();
}

void StoredOutput::refuse_damaged(const std::string& fault) const {
  refuse_output(file_.path(), "is damaged: " + fault, "reduce its frames again");
}

std::vector<std::int64_t> StoredOutput::read_fraction_bits(std::uint64_t frames) const {
  const Hdf5Session session;
  return sums_->fraction_bits(0, frames);
}

std::vector<ReducedFrame> StoredOutput::read(std::uint64_t first, std::uint64_t count) const {
  const Hdf5Session session;
  const std::vector<std::string> damage = checksums_->check_frames(first, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!damage[i].empty()) refuse_damaged(fmt::format("frame {}: {}", first + i, damage[i]));
  }
  const StoredPatterns patterns = file_.read(first, count);
  std::vector<Sums> sums = sums_->frames(first, count);
  const auto source_ids = sums_->source_ids(first, count);
  std::vector<std::vector<std::uint32_t>> outliers = read_outlier_lists(sums_->file(), first, count);
  std::vector<ReducedFrame> frames(count);
  for (std::size_t i = 0; i < count; ++i) {
    sums[i].outliers = std::move(outliers[i]);
    const FrameRecord& record = patterns.frames[i];
    ReducedFrame& frame = frames[i];
    frame.id = {record.index, record.source, record.frame_in_source};
    frame.source_id = source_ids[i];
    frame.normalization = record.normalization;
    if (record.bad) frame.fault = record.fault;
    if (!record.bad) frame.pattern = pattern_of(patterns, i);
    const bool only_its_monitor = record.bad && std::isnan(record.normalization);
    if (!record.bad || only_its_monitor) frame.sums = std::move(sums[i]);
  }
  std::vector<double> values(count);
  for (std::size_t column = 0; column < file_.header().columns.size(); ++column) {
    file_.read_column(column, first, count, values);
    for (std::size_t i = 0; i < count; ++i) frames[i].point.push_back(values[i]);
  }
  return frames;
}

}  // namespace annulus
