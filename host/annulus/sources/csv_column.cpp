#include <annulus/core/text.hpp>
#include <annulus/sources/csv_line.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>
#include <annulus/sources/table_column.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace annulus {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A descriptor that closes itself.
class OpenedTable {
 public:
  explicit OpenedTable(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) throw input_error(path, std::strerror(errno), "check the name of the table");
    if (::fstat(descriptor_, &status_) != 0 || !S_ISREG(status_.st_mode)) {
      ::close(descriptor_);
      throw input_error(path, "is not a plain file", "name a table in text");
    }
  }
  ~OpenedTable() { ::close(descriptor_); }
  OpenedTable(const OpenedTable&) = delete;
  OpenedTable& operator=(const OpenedTable&) = delete;

  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }
  ino_t inode() const { return status_.st_ino; }

  // What there is at `offset`; nothing at the end.
  std::string_view read(std::uint64_t offset, std::string& block, const std::string& path) const {
    block.resize(kBlock);
    ssize_t got = 0;
    do got = ::pread(descriptor_, block.data(), block.size(), static_cast<off_t>(offset));
    while (got < 0 && errno == EINTR);
    if (got < 0) throw input_error(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    return std::string_view(block).substr(0, static_cast<std::size_t>(got));
  }

 private:
  int descriptor_;
  struct stat status_ {};
};

bool is_number_or_missing(const std::string& field) { return parse_value(field).has_value(); }

class CsvColumn final : public TableColumn {
 public:
  CsvColumn(const ColumnSpec& spec, bool growing)
      : TableColumn(spec.column), path_(spec.file), key_(spec.key), wanted_(spec.column) {
    read_on();
    if (!growing) take_last_line();
    if (!place_) throw input_error(path_, "has no line with values", "a table has a row per frame");
  }

  bool grow() override {
    const std::uint64_t before = rows();
    read_on();
    return rows() > before;
  }

  void finish() override { take_last_line(); }

 private:
  void read_on() {
    const OpenedTable file(path_);
    // Replaced by another, or written once more from its start.
    if (file.inode() != inode_ || file.size() < offset_) begin_again(file.inode());
    std::string block;
    while (true) {
      std::string_view bytes = file.read(offset_, block, path_);
      if (bytes.empty()) return;
      offset_ += bytes.size();
      while (true) {
        const auto end = bytes.find('\n');
        pending_ += bytes.substr(0, end);
        if (pending_.size() > kLongestLine) refuse_line("is too long for a line of a table");
        if (end == std::string_view::npos) break;
        bytes.remove_prefix(end + 1);
        take_pending();
      }
    }
  }

  void begin_again(ino_t inode) {
    *this = CsvColumn(path_, key_, wanted_);
    inode_ = inode;
  }

  CsvColumn(std::string path, std::string key, ColumnInfo wanted)
      : TableColumn(wanted), path_(std::move(path)), key_(std::move(key)), wanted_(std::move(wanted)) {}

  void take_last_line() {
    if (!trim(pending_).empty()) take_pending();
  }

  void take_pending() {
    ++line_;
    const std::string line = std::exchange(pending_, {});
    take_line_of_table(line);
  }

  void take_line_of_table(std::string_view line) {
    if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view text = trim(line);
    if (text.empty()) {
      // Of a single column nothing is left of a missing value but its line.
      if (place_ && fields_ == 1) ++empty_lines_;
      return;
    }
    if (text.front() == '#') {
      if (!place_) comment_ = text.substr(1);
      return;
    }
    if (!place_ && read_names(line)) return;
    take_row(line);
  }

  // Of the first line that is no comment: whether it holds the names of the columns. Where it holds numbers,
  // the comment before it may.
  bool read_names(std::string_view line) {
    delimiter_ = find_delimiter(line);
    std::vector<std::string> fields = fields_of(line);
    const bool numbers = std::ranges::all_of(fields, is_number_or_missing);
    fields_ = fields.size();
    if (numbers) {
      const auto above = split_fields(comment_, delimiter_);
      fields = above && above->size() == fields_ ? *above : std::vector<std::string>();
    }
    place_ = find_column(fields);
    return !numbers;
  }

  std::size_t find_column(const std::vector<std::string>& names) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const NameAndUnit column = split_unit(names[i]);
      if (names[i] != key_ && column.name != key_) continue;
      if (found) {
        throw Error(ErrorKind::kUsage, path_, fmt::format("has two columns {}", in_quotes(key_)),
                    fmt::format("give the number of one: {} or {}", *found + 1, i + 1));
      }
      found = i;
      info_.unit = to_utf8(column.unit);
    }
    if (found) return *found;
    const auto number = parse_integer(key_);
    if (number && *number >= 1 && std::cmp_less_equal(*number, fields_)) {
      const auto place = static_cast<std::size_t>(*number) - 1;
      if (place < names.size()) info_.unit = to_utf8(split_unit(names[place]).unit);
      return place;
    }
    std::vector<std::string> shown;
    for (const std::string& name : names) shown.push_back(printable(name));
    throw Error(ErrorKind::kUsage, path_, fmt::format("has no column {}", in_quotes(key_)),
                shown.empty() ? fmt::format("its columns have no names, only the numbers 1 to {}", fields_)
                              : fmt::format("there are: {}; or a number from 1 to {}", fmt::join(shown, ", "),
                                            fields_));
  }

  void take_row(std::string_view line) {
    const std::vector<std::string> fields = fields_of(line);
    const auto is_empty = [](const std::string& field) { return field.empty(); };
    const bool fits =
        fields.size() >= fields_ &&
        std::all_of(fields.begin() + static_cast<std::ptrdiff_t>(fields_), fields.end(), is_empty);
    if (!fits) {
      refuse_line(fmt::format("has {} fields, the first line of the table has {}", fields.size(), fields_));
    }
    const std::string& field = fields[*place_];
    const auto value = parse_value(field);
    if (!value) {
      refuse_line(fmt::format("has {} in column {}, which is no number", in_quotes(field), in_quotes(key_)),
                  "leave it empty, or write nan, where a value is missing; write 1.5, not 1,5");
    }
    // Behind the last value they mean nothing.
    values_.insert(values_.end(), std::exchange(empty_lines_, 0), std::numeric_limits<double>::quiet_NaN());
    if (rows() >= kMostRows) refuse_line("is too far from the start: no scan has so many frames");
    values_.push_back(*value);
  }

  std::vector<std::string> fields_of(std::string_view line) const {
    auto fields = split_fields(line, delimiter_);
    if (!fields) refuse_line("has quotes that do not end");
    return *std::move(fields);
  }

  [[noreturn]] void refuse_line(const std::string& what, const std::string& cure = {}) const {
    throw input_error(path_, fmt::format("line {} {}", std::max<std::uint64_t>(line_, 1), what), cure);
  }

  std::string path_;
  std::string key_;
  ColumnInfo wanted_;
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;  // of what was read
  std::string pending_;       // a line whose end was not read yet
  std::uint64_t line_ = 0;
  std::string comment_;  // the last one before the first row
  char delimiter_ = kBlanks;
  std::size_t fields_ = 0;
  std::optional<std::size_t> place_;  // of the column, once the first line was read
  std::size_t empty_lines_ = 0;       // since the last row, of a table with one column
};

}  // namespace

std::unique_ptr<TableColumn> open_csv_column(const ColumnSpec& spec, bool growing) {
  return std::make_unique<CsvColumn>(spec, growing);
}

}  // namespace annulus
