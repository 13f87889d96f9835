// Patterns as text that every plotting program reads.

#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/core/url.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/outputs/sink_checks.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstWords = "# annulus ";
constexpr const char* kExtension = ".xy";
constexpr int kColumnWidth = 24;           // the longest double is 24 characters
constexpr std::size_t kMostUnnamed = 64;   // files that are open at once
constexpr std::size_t kLongestStem = 200;  // leaves room for numbers within the 255 bytes of a file name

[[noreturn]] void refuse_text(const fs::path& path, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kOutput, path.string(), what, cure);
}

// A comment for each line of the text, so that nothing in it can pass for data.
void comment(fmt::memory_buffer& out, std::string_view name, std::string_view text) {
  const std::string safe = to_utf8(text);
  std::string_view rest = safe;
  do {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    fmt::format_to(std::back_inserter(out), "# {}{}\n", name, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  } while (!rest.empty());
}

// The shortest text that reads back as the same number.
void put_number(fmt::memory_buffer& out, double value) {
  if (std::isnan(value)) {
    fmt::format_to(std::back_inserter(out), " {:>{}}", "nan", kColumnWidth);  // without a sign
  } else {
    fmt::format_to(std::back_inserter(out), " {:>{}}", value, kColumnWidth);
  }
}

bool is_ours(const fs::path& path) {
  std::string head(kFirstWords.size(), '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == kFirstWords;
}

constexpr std::string_view kWorkingDirectory = "working directory: ";
constexpr std::string_view kSource = "source: ";
constexpr std::string_view kSourceId = "source id: ";
constexpr std::string_view kFrame = "frame: ";
constexpr std::string_view kPlan = "plan: ";
constexpr std::string_view kBadFrame = "bad frame: ";
constexpr std::string_view kColumn = "column ";

// What the comments at the head of a file say of its frame, which has to be of this plan and these columns.
void add_frame_of(const fs::path& path, const std::string& plan_hash, const std::vector<ColumnInfo>& columns,
                  StoredFrames& frames) {
  std::ifstream file(path, std::ios::binary);
  std::string source, place, plan, fault;
  std::set<std::string> stored;
  for (std::string line; std::getline(file, line) && line.starts_with("# ");) {
    if (std::string_view(line).substr(2).starts_with(kColumn)) {
      const std::size_t begin = 2 + kColumn.size();
      stored.insert(line.substr(begin, line.find(": ", begin) - begin));
    }
    const auto take = [&](std::string_view name, std::string& value) {
      if (line.compare(2, name.size(), name) == 0) value = line.substr(2 + name.size());
    };
    take(kSourceId, source);
    take(kFrame, place);
    take(kPlan, plan);
    take(kBadFrame, fault);
  }
  if (plan != plan_hash) {
    refuse_text(path,
                "was made with another plan: another geometry, mask, pixel type, or option that shapes it",
                "repeat with the same options, or choose another `output`");
  }
  std::set<std::string> wanted;
  for (const ColumnInfo& column : columns) wanted.insert(column.name);
  if (stored != wanted) {
    refuse_text(path,
                fmt::format("has the columns {}, this run has {}",
                            stored.empty() ? "none" : fmt::format("{}", fmt::join(stored, ", ")),
                            wanted.empty() ? "none" : fmt::format("{}", fmt::join(wanted, ", "))),
                "repeat with the same columns, or choose another `output`");
  }
  const auto number = [](std::string_view digits, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    return whole ? std::optional(value) : std::nullopt;
  };
  const std::string_view id = source;
  const auto first = number(id.substr(0, 16), 16);
  const auto second = number(id.substr(std::min<std::size_t>(id.size(), 16)), 16);
  const auto in_source = number(place, 10);
  if (id.empty()) {
    refuse_text(path, "was written by an earlier annulus, which did not store by what a source is known",
                "move it away, or choose another `output`");
  }
  if (!first || !second || !in_source) {
    refuse_text(path, "does not say which frame it holds: its comments were changed",
                "move it away, or choose another `output`");
  }
  frames.add({*first, *second}, *in_source, !fault.empty());
}

// "scan.h5::/entry/data" -> "scan", and whether a dataset follows the file. Of the numbered datasets of one
// file each has its own: "scan.h5::/entry/data/data_000002" -> "scan_data_000002".
std::pair<std::string, bool> stem_of(const std::string& source) {
  const Url url = split_url(source);
  std::string stem = fs::path(url.file).stem().string();
  if (url.dataset) {
    const std::string name = fs::path(*url.dataset).filename().string();
    if (!name.empty() && name.back() >= '0' && name.back() <= '9') stem += "_" + name;
  }
  std::replace_if(
      stem.begin(), stem.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '_');
  if (stem.empty() || stem[0] == '.') stem = "frame" + stem;
  if (stem.size() > kLongestStem) stem = keep_tail(stem, kLongestStem);
  if (stem[0] == '.') stem[0] = '_';  // not hidden
  return {stem, url.dataset.has_value()};
}

// Returns errno, 0 for success.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return errno != 0 ? errno : EIO;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

// Written beside `path`: it gets its name when it is on the disk, so that nobody sees half of it, not even
// after a power failure, and a failure leaves what was there. To wait for the disk file by file takes long:
// files are written, then all are waited for, then all get their names.
class UnnamedFile {
 public:
  UnnamedFile(fs::path path, std::string_view content) : path_(std::move(path)) {
    const auto [temporary, descriptor] = create_temporary(path_);
    if (descriptor < 0) refuse_to_write(errno);
    temporary_ = temporary;
    descriptor_ = descriptor;
    const int fault = write_all(descriptor, content);
    if (fault == 0) return;
    remove();
    refuse_to_write(fault);
  }
  UnnamedFile(UnnamedFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::move(other.temporary_)),
        descriptor_(std::exchange(other.descriptor_, -1)) {
    other.temporary_.clear();
  }
  UnnamedFile& operator=(UnnamedFile&&) = delete;
  ~UnnamedFile() { remove(); }

  const fs::path& path() const { return path_; }

  void bring_to_disk() {
    // Some file systems cannot.
    const bool synced = ::fdatasync(descriptor_) == 0 || errno == EINVAL || errno == ENOSYS;
    if (!synced) refuse_to_write(errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) refuse_to_write(errno);
  }

  void give_name() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse_to_write(errno);
    temporary_.clear();
  }

 private:
  void remove() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  [[noreturn]] void refuse_to_write(int fault) const {
    throw Error(ErrorKind::kOutput, path_.string(), std::string("cannot be written: ") + std::strerror(fault),
                "make room, check the folder's permissions or choose another `output`");
  }

  fs::path path_;
  fs::path temporary_;
  int descriptor_ = -1;
};

class XySink : public Sink {
 public:
  XySink(fs::path path, Job job, const RunDescription& run, IfExists if_exists, bool single_frame)
      : path_(std::move(path)),
        job_(std::move(job)),
        columns_(run.columns),
        if_exists_(if_exists),
        single_frame_(single_frame && !fs::is_directory(path_)),
        stored_frames_(run.working_directory) {
    check_columns(path_, columns_);
    describe_run(run);
    if (single_frame_) {
      check_file();
    } else {
      prepare_folder();
    }
  }

  void append(const std::vector<ReducedFrame>& frames) override {
    std::vector<UnnamedFile> files;
    for (const ReducedFrame& frame : frames) {
      try {
        files.push_back(write_beside(frame));
      } catch (const Error&) {
        store(files);  // what came before is kept
        throw;
      }
      if (files.size() == kMostUnnamed) store(files);
    }
    store(files);
  }

  void flush() override {}  // every file is complete when append returns
  void close() override {}
  Held holds(const FrameId& frame) const override { return stored_frames_.find(frame); }

 private:
  void describe_run(const RunDescription& run) {
    fmt::memory_buffer out;
    fmt::format_to(std::back_inserter(out), "{}{}\n", kFirstWords, run.program_version);
    comment(out, "date: ", iso_time());
    comment(out, "backend: ", run.backend);
    comment(out, kPlan, job_.plan->hash);
    comment(out, "unit: ", name_of(job_.plan->options.unit));
    for (const auto& [name, value] : run.options) comment(out, "option " + name + ": ", value);
    comment(out, kWorkingDirectory, run.working_directory.string());
    comment(out, "poni | ", run.poni_text);
    header_ = fmt::to_string(out);
  }

  void check_file() const {
    check_output_folder(path_);
    if (fs::is_directory(path_)) refuse_text(path_, "is a folder", "name a file with `output`");
    if (!fs::exists(path_)) return;
    if (if_exists_ == IfExists::kRefuse)
      refuse_text(path_, "exists already", "use `overwrite`, or another `output`");
    if (if_exists_ == IfExists::kAppend) {
      refuse_text(path_, "a text file holds one frame, so nothing can be appended to it",
                  "use `overwrite`, or a folder or NeXus file as `output`");
    }
    check_replaceable(path_);
  }

  static void check_replaceable(const fs::path& path) {
    std::error_code error;
    if (fs::is_regular_file(path, error) && (fs::file_size(path, error) == 0 || is_ours(path))) return;
    refuse_text(path, "was not written by annulus, so it is not touched",
                "move it away, or choose another `output`");
  }

  void prepare_folder() {
    if (!fs::exists(path_)) {
      std::error_code error;
      fs::create_directory(path_, error);
      if (error) {
        refuse_text(path_, "cannot be created: " + error.message(),
                    "create its parent folder, or choose another `output`");
      }
      sync_folder_of(path_);
      return;
    }
    if (!fs::is_directory(path_)) refuse_text(path_, "is not a folder", "choose another `output`");
    if (if_exists_ == IfExists::kOverwrite) return;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() != kExtension) continue;
      if (if_exists_ == IfExists::kAppend) {
        if (is_ours(entry.path())) add_frame_of(entry.path(), job_.plan->hash, columns_, stored_frames_);
      } else {
        refuse_text(path_, fmt::format("holds patterns already ({})", entry.path().filename().string()),
                    "use `overwrite` or `append`, or another `output`");
      }
    }
  }

  UnnamedFile write_beside(const ReducedFrame& frame) {
    check_frame(job_, frame, columns_.size());
    if (single_frame_ && written_ > 0) {
      refuse_text(path_, "holds one frame, and there are more",
                  "name a folder or a NeXus file with `output`");
    }
    UnnamedFile file(single_frame_ ? path_ : path_ / file_name(frame), format(frame));
    ++written_;
    return file;
  }

  void store(std::vector<UnnamedFile>& files) const {
    if (files.empty()) return;
    std::size_t safe = 0;
    std::exception_ptr failure;
    try {
      for (; safe < files.size(); ++safe) files[safe].bring_to_disk();
    } catch (...) {
      failure = std::current_exception();
    }
    for (UnnamedFile& file : std::span(files).first(safe)) file.give_name();  // what came before is kept
    if (safe > 0) sync_folder_of(files.front().path());
    files.clear();
    if (failure) std::rethrow_exception(failure);
  }

  // The source's name, and the frame's number where the source has several. Sources of one name in different
  // folders get a counter; with `append` so do names that are on disk.
  std::string file_name(const ReducedFrame& frame) {
    auto [stem, numbered] = stem_of(frame.id.source);
    if (numbered || frame.id.in_source > 0) stem += fmt::format("_{:05}", frame.id.in_source);
    std::string name = stem + kExtension;
    for (int copy = 2; !is_free(name); ++copy) name = fmt::format("{}-{}{}", stem, copy, kExtension);
    taken_.insert(name);
    return name;
  }

  bool is_free(const std::string& name) const {
    if (taken_.contains(name)) return false;
    std::error_code unreadable;
    if (!fs::exists(path_ / name, unreadable) && !unreadable) return true;
    if (if_exists_ != IfExists::kOverwrite) return false;
    check_replaceable(path_ / name);
    return true;
  }

  std::string format(const ReducedFrame& frame) const {
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    fmt::memory_buffer out;
    out.append(std::string_view(header_));
    comment(out, kSource, frame.id.source);
    const SourceId id = stored_frames_.source_id(frame.id);
    comment(out, kSourceId, fmt::format("{:016x}{:016x}", id[0], id[1]));
    comment(out, kFrame, std::to_string(frame.id.in_source));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const double value = frame.point.empty() ? kNothing : frame.point[i];
      const std::string& unit = columns_[i].unit;
      comment(out, fmt::format("{}{}: ", kColumn, columns_[i].name),
              fmt::format("{}{}{}", std::isnan(value) ? "nan" : fmt::to_string(value),
                          unit.empty() ? "" : " ", unit));
    }
    if (frame.normalization != 1) comment(out, "normalization factor: ", fmt::to_string(frame.normalization));
    const bool bad = !frame.fault.empty();
    if (bad) comment(out, kBadFrame, frame.fault);
    const bool errors = job_.recipe.has_errors();
    const auto target = std::back_inserter(out);
    fmt::format_to(target, "#{:>{}} {:>{}}",
                   fmt::format("{}_{}", job_.plan->radial().name, job_.plan->radial().units), kColumnWidth,
                   "I", kColumnWidth);
    if (errors) fmt::format_to(target, " {:>{}}", "sigma", kColumnWidth);
    out.push_back('\n');
    const std::vector<double>& centres = job_.plan->radial().centres;
    for (std::size_t bin = 0; bin < centres.size(); ++bin) {
      put_number(out, centres[bin]);
      put_number(out, bad ? kNothing : frame.pattern.intensity[bin]);
      if (errors) put_number(out, bad ? kNothing : frame.pattern.error[bin]);
      out.push_back('\n');
    }
    return fmt::to_string(out);
  }

  fs::path path_;
  Job job_;
  std::vector<ColumnInfo> columns_;
  IfExists if_exists_;
  bool single_frame_;
  std::string header_;
  std::set<std::string> taken_;
  StoredFrames stored_frames_;  // that were in the folder before
  std::uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<Sink> open_xy(const fs::path& path, const Job& job, const RunDescription& run,
                              IfExists if_exists, bool single_frame) {
  if (job.plan->axes.size() > 1) {
    throw Error(ErrorKind::kUsage, path.string(), "xy holds one column of intensities, no cake",
                "write NeXus, or integrate without azimuthal bins");
  }
  try {
    return std::make_unique<XySink>(path, job, run, if_exists, single_frame);
  } catch (const fs::filesystem_error& error) {
    refuse_text(path, "cannot be used: " + error.code().message(),
                "check its permissions, or choose another `output`");
  }
}

}  // namespace annulus
