#include <annulus/core/clock.hpp>
#include <annulus/sources/column_stream.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

namespace annulus {
namespace {

constexpr std::chrono::milliseconds kLookForRows(50);
constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();

std::string described_shape(const std::vector<std::uint64_t>& sides) {
  return fmt::format("{}", fmt::join(sides, " x "));
}

std::vector<std::uint64_t> without_ones(std::vector<std::uint64_t> sides) {
  std::erase(sides, std::uint64_t{1});
  return sides;
}

// A table that may not be there yet is waited for.
std::unique_ptr<TableColumn> open_column_when_there(const ColumnSpec& spec, const ColumnSettings& settings,
                                                    const std::stop_token& stop) {
  const auto start = Clock::now();
  while (true) {
    try {
      return open_column(spec, settings.follow.has_value(), settings.allow_links);
    } catch (const Error& error) {
      const bool patient = settings.follow && seconds_since(start) < *settings.follow;
      if (error.kind() == ErrorKind::kUsage || !patient || stop.stop_requested()) {
        throw Error(error.kind(), error.where(),
                    fmt::format("column {}: {}", spec.column.name, error.fault()), error.cure());
      }
    }
    std::this_thread::sleep_for(kLookForRows);
  }
}

std::optional<std::uint64_t> place_of(const StreamItem& item) {
  const Frame* const frame = std::get_if<Frame>(&item);
  return place_in_scan(frame != nullptr ? frame->id : std::get<BadFrame>(item).id);
}

}  // namespace

ColumnStream::ColumnStream(FrameStream& frames, ColumnSettings settings)
    : frames_(frames), settings_(std::move(settings)) {}

ColumnStream::ColumnStream(std::unique_ptr<FrameStream> frames, ColumnSettings settings)
    : owned_(std::move(frames)), frames_(*owned_), settings_(std::move(settings)) {}

const ScanInfo& ColumnStream::info(std::stop_token stop) {
  if (info_) return *info_;
  ScanInfo scan = frames_.info(stop);
  open_tables(scan, stop);
  for (const Column& column : columns_) scan.columns.push_back(column.table->info());
  missing_.resize(scan.columns.size());
  info_ = std::move(scan);
  return *info_;
}

void ColumnStream::open_tables(const ScanInfo& scan, const std::stop_token& stop) {
  columns_.clear();
  for (const ColumnSpec& spec : settings_.columns) {
    Column column{open_column_when_there(spec, settings_, stop), settings_.follow.has_value()};
    check_shape(*column.table, scan);
    check_length(column, scan);
    columns_.push_back(std::move(column));
  }
}

void ColumnStream::check_shape(const TableColumn& table, const ScanInfo& scan) const {
  const std::vector<std::uint64_t> shape = without_ones(table.shape());
  if (shape.size() < 2 || shape == without_ones(scan.grid)) return;
  const std::uint64_t expected = scan.count.value_or(frames_.expected());
  if (scan.grid.empty() && table.rows() == expected) return;
  const ColumnInfo& column = table.info();
  const std::string frames = scan.grid.empty() ? fmt::format("{}", expected) : described_shape(scan.grid);
  throw input_error(column.origin,
                    fmt::format("column {}: it has {} values, the scan {} frames", column.name,
                                described_shape(table.shape()), frames),
                    "a column has one value per frame, in the shape of the scan or in one row");
}

// What is known to be wrong before the first frame is reduced is told then.
void ColumnStream::check_length(Column& column, const ScanInfo& scan) {
  const TableColumn& table = *column.table;
  const std::uint64_t expected = scan.count.value_or(frames_.expected());
  if (settings_.follow || expected == 0 || table.rows() == expected) return;
  const ColumnInfo& info = table.info();
  const std::string what = fmt::format("column {}: it has {} rows, the scan {} {} frames", info.name,
                                       table.rows(), scan.count ? "has" : "seems to have", expected);
  if (scan.count && settings_.rows_must_exist) {
    throw input_error(info.origin, what,
                      "check that the table is of this scan; `keep_going` takes the rows that there are");
  }
  remarks_.push_back(fmt::format("{}: {}", info.origin, what));
  column.length_was_told = true;
}

// Where nobody knows the place of a frame there is nothing to wait for.
bool ColumnStream::row_is_there(std::optional<std::uint64_t> row) const {
  return std::ranges::all_of(columns_, [row](const Column& column) {
    return !column.growing || !row || *row < column.table->rows();
  });
}

bool ColumnStream::look_for_row(std::optional<std::uint64_t> row) {
  if (row_is_there(row)) return true;
  for (Column& column : columns_) {
    if (column.growing && *row >= column.table->rows() && column.table->grow()) last_growth_ = Clock::now();
  }
  return row_is_there(row);
}

// Until all tables have it, or nothing new for too long. False if a stop is requested.
bool ColumnStream::wait_for_row(std::optional<std::uint64_t> row, const std::stop_token& stop) {
  if (row_is_there(row)) return true;
  last_growth_ = Clock::now();
  while (!look_for_row(row)) {
    if (stop.stop_requested()) return false;
    if (seconds_since(last_growth_) >= *settings_.follow) {
      for (Column& column : columns_) {
        if (!column.growing || *row < column.table->rows()) continue;
        column.table->finish();
        column.growing = false;
      }
      return true;
    }
    std::this_thread::sleep_for(kLookForRows);
  }
  return true;
}

std::optional<StreamItem> ColumnStream::next(std::stop_token stop) {
  info(stop);
  if (!waiting_) {
    waiting_ = frames_.next(stop);
    if (!waiting_ && !stop.stop_requested()) note_end();
    if (!waiting_ || std::holds_alternative<Pause>(*waiting_)) return std::exchange(waiting_, std::nullopt);
    if (!look_for_row(place_of(*waiting_))) return Pause{};
  }
  if (!wait_for_row(place_of(*waiting_), stop)) return std::nullopt;
  add_values(*waiting_);
  return std::exchange(waiting_, std::nullopt);
}

void ColumnStream::add_values(StreamItem& item) {
  if (BadFrame* const bad = std::get_if<BadFrame>(&item)) {
    bad->point.resize(info_->columns.size() - columns_.size(), kMissingValue);
    add_row(bad->id, bad->point);
    return;
  }
  Frame& frame = std::get<Frame>(item);
  const std::optional<Error> fault = add_row(frame.id, frame.point);
  count_missing(frame.id, frame.point);
  if (!fault) return;
  BadFrame bad{frame.id, *fault, frame.point};
  item = std::move(bad);
}

// Returns why the frame has no row, if it must have one.
std::optional<Error> ColumnStream::add_row(const FrameId& id, std::vector<double>& point) {
  const auto place = place_in_scan(id);
  places_ = place ? std::optional(*place + 1) : std::nullopt;
  std::optional<Error> fault;
  for (const Column& column : columns_) {
    const TableColumn& table = *column.table;
    const bool there = place && *place < table.rows();
    point.push_back(there ? table.at(*place) : kMissingValue);
    if (there || !settings_.rows_must_exist || fault) continue;
    const ColumnInfo& info = table.info();
    const std::string why =
        place ? fmt::format("{} has {} rows, and this is frame {} of the scan, counted from 0", info.origin,
                            table.rows(), *place)
              : fmt::format(
                    "which row of {} is its own cannot be told, since nobody knows how many frames "
                    "the bad file before it holds",
                    info.origin);
    fault = input_error(describe(id), fmt::format("column {}: {}", info.name, why),
                        "check that the table is of this scan; with `keep_going` the value is NaN");
  }
  return fault;
}

void ColumnStream::count_missing(const FrameId& id, const std::vector<double>& point) {
  for (std::size_t i = 0; i < std::min(point.size(), missing_.size()); ++i) {
    if (std::isnan(point[i]) && missing_[i].frames++ == 0) missing_[i].first = describe(id);
  }
}

void ColumnStream::note_end() {
  if (std::exchange(ended_, true)) return;
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const Missing& missing = missing_[i];
    if (missing.frames == 0) continue;
    remarks_.push_back(fmt::format("column {}: {} frame{} no value, the first is {}", info_->columns[i].name,
                                   missing.frames, missing.frames == 1 ? " has" : "s have", missing.first));
  }
  for (const Column& column : columns_) {
    const TableColumn& table = *column.table;
    if (column.length_was_told || shared_ || !places_ || table.rows() <= *places_) continue;
    remarks_.push_back(
        fmt::format("{}: column {}: it has {} rows, the scan had {} frames: do they belong together?",
                    table.info().origin, table.info().name, table.rows(), *places_));
  }
}

std::vector<std::string> ColumnStream::take_remarks() {
  std::vector<std::string> remarks = frames_.take_remarks();
  std::ranges::move(std::exchange(remarks_, {}), std::back_inserter(remarks));
  return remarks;
}

}  // namespace annulus
