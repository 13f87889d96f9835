// The frames of a stream, with values from tables added to their points, and an eye on what is missing.
#pragma once

#include <annulus/core/clock.hpp>
#include <annulus/sources/column_spec.hpp>
#include <annulus/sources/frame_stream.hpp>
#include <annulus/sources/table_column.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct ColumnSettings {
  std::vector<ColumnSpec> columns = {};  // of tables and datasets, not of headers
  std::string allow_links = {};
  // Tables may still be written: a row is waited for, until a table has nothing new for so many seconds.
  std::optional<double> follow = std::nullopt;
  // A frame without a row is a bad frame, and a table of another length than the scan is refused. Otherwise
  // the frame's value is missing, and the user is told.
  bool rows_must_exist = true;
};

// Row i belongs to the frame whose place in the scan is i (place_in_scan()). `frames` has to outlive it.
class ColumnStream final : public FrameStream {
 public:
  ColumnStream(FrameStream& frames, ColumnSettings settings);
  ColumnStream(std::unique_ptr<FrameStream> frames, ColumnSettings settings);

  const ScanInfo& info(std::stop_token stop) override;
  std::optional<StreamItem> next(std::stop_token stop) override;
  std::vector<std::string> take_remarks() override;

  std::optional<Mask> pixel_mask() override { return frames_.pixel_mask(); }
  std::uint64_t expected() override { return frames_.expected(); }
  void read_ahead(std::size_t frames) override { frames_.read_ahead(frames); }
  void leave_out(const std::function<bool(const FrameId&)>& is_known) override {
    frames_.leave_out(is_known);
  }
  void share(std::shared_ptr<FrameDealer> dealer) override {
    frames_.share(std::move(dealer));
    shared_ = true;
  }
  std::uint64_t left_out() const override { return frames_.left_out(); }
  double busy_seconds() const override { return frames_.busy_seconds(); }

 private:
  struct Column {
    std::unique_ptr<TableColumn> table;
    bool growing = false;          // rows may still come
    bool length_was_told = false;  // that it is not that of the scan
  };
  // Values that frames do not have, of one column.
  struct Missing {
    std::uint64_t frames = 0;
    std::string first = {};
  };

  void open_tables(const ScanInfo& scan, const std::stop_token& stop);
  void check_shape(const TableColumn& table, const ScanInfo& scan) const;
  void check_length(Column& column, const ScanInfo& scan);
  bool row_is_there(std::optional<std::uint64_t> row) const;
  bool look_for_row(std::optional<std::uint64_t> row);
  bool wait_for_row(std::optional<std::uint64_t> row, const std::stop_token& stop);
  void add_values(StreamItem& item);
  std::optional<Error> add_row(const FrameId& id, std::vector<double>& point);
  void count_missing(const FrameId& id, const std::vector<double>& point);
  void note_end();

  std::unique_ptr<FrameStream> owned_;
  FrameStream& frames_;
  ColumnSettings settings_;
  std::optional<ScanInfo> info_;
  std::vector<Column> columns_;
  std::optional<StreamItem> waiting_;             // for its row
  std::optional<std::uint64_t> places_ = 0;       // of the scan so far; none where nobody knows
  Clock::time_point last_growth_ = Clock::now();  // of any table
  std::vector<Missing> missing_;                  // of every column of the scan
  std::vector<std::string> remarks_;
  bool ended_ = false;
  bool shared_ = false;  // others have the rest of the frames
};

}  // namespace annulus
