#include <annulus/core/clock.hpp>
#include <annulus/core/text.hpp>
#include <annulus/core/url.hpp>
#include <annulus/core/whole_source.hpp>
#include <annulus/sources/file_stream.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_number.hpp>
#include <annulus/sources/image_names.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <utility>

namespace annulus {
namespace {

constexpr std::chrono::milliseconds kLookAgain(50);

std::vector<double> without_values(std::size_t columns) {
  return std::vector<double>(columns, std::numeric_limits<double>::quiet_NaN());
}

// The column with its unit. A key that the first file does not have is a mistake of the user; files after it
// may lack a value.
ColumnInfo described(const HeaderColumn& wanted, const HeaderPairs& header, const std::string& url) {
  const auto number = find_header_number(header, wanted.key);
  if (!number)
    throw input_error(
        url, fmt::format("column {}: its header has no {}", wanted.column.name, in_quotes(wanted.key)),
        header_keys(header));
  if (std::isnan(number->value) && !number->is_missing) {
    throw input_error(url,
                      fmt::format("column {}: {} is {} in its header, which is not a number",
                                  wanted.column.name, in_quotes(wanted.key), in_quotes(number->text)),
                      header_keys(header));
  }
  ColumnInfo column = wanted.column;
  column.unit = number->unit;
  return column;
}

// As open_source, but a file that is followed is waited for until it can be opened, as long as for a new
// frame of it.
std::unique_ptr<FrameSource> open_when_there(const std::string& url, const OpenOptions& open,
                                             const std::stop_token& stop) {
  const auto start = Clock::now();
  while (true) {
    try {
      return open_source(url, open);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUsage) throw;  // it will never be there
      if (!open.follow || seconds_since(start) >= *open.follow || stop.stop_requested()) throw;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace

struct FileStream::Ledger {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::uint64_t frame_bytes = 0;  // of frames that are being read, wait, or were handed out
  std::uint64_t frames = 0;       // their number

  // Gives the bytes back when the last copy of a frame is gone.
  static std::shared_ptr<const void> receipt(std::shared_ptr<Ledger> ledger, std::uint64_t bytes) {
    return {nullptr, [ledger = std::move(ledger), bytes](const void*) {
              const std::lock_guard lock(ledger->mutex);
              ledger->frame_bytes -= bytes;
              --ledger->frames;
              ledger->changed.notify_all();
            }};
  }
};

FileStream::FileStream(std::vector<std::string> urls, FileStreamSettings settings)
    : urls_(std::move(urls)),
      settings_(std::move(settings)),
      growing_(settings_.open.follow.has_value()),
      ledger_(std::make_shared<Ledger>()),
      files_(urls_.size()) {}

FileStream::FileStream(std::unique_ptr<FolderWatch> folder, FileStreamSettings settings)
    : folder_(std::move(folder)),
      settings_(std::move(settings)),
      growing_(true),
      ledger_(std::make_shared<Ledger>()),
      count_unknown_(true) {}

FileStream::~FileStream() {
  for (std::jthread& reader : readers_) reader.request_stop();
  const std::lock_guard lock(ledger_->mutex);
  stopping_ = true;
  ledger_->changed.notify_all();
}

const ScanInfo& FileStream::info(std::stop_token stop) {
  if (info_) return *info_;
  if (!readers_.empty())
    throw Error(ErrorKind::kUsage, "frames", "info() was asked for after next()", "ask for it first");
  std::optional<Error> first_fault;
  while (!files_ || next_to_open_ < *files_) {
    auto opened = open(next_to_open_, stop, false);
    if (opened && opened->fault) {
      if (opened->fault->kind() == ErrorKind::kUsage || stop.stop_requested()) throw *opened->fault;
      if (!first_fault) first_fault = opened->fault;
    }
    const bool speaks = opened && opened->source && (opened->source->info().frames > 0 || growing_);
    if (speaks) {
      first_ = opened->source;
      info_ = {opened->url, first_->info(), columns_in(*first_, opened->url)};
      if (files_ == 1u) {
        info_->grid = first_->info().grid;
        info_->count = settings_.open.follow ? first_->info().promised : first_->info().frames;
      }
    }
    const std::lock_guard lock(ledger_->mutex);
    take_opened(next_to_open_++, std::move(opened));
    if (speaks) return *info_;
  }
  throw first_fault.value_or(Error(ErrorKind::kInput,
                                   folder_         ? folder_->path()
                                   : urls_.empty() ? "input"
                                                   : urls_.front(),
                                   folder_ ? "no frame came" : "no frame to read"));
}

std::optional<Mask> FileStream::pixel_mask() {
  info({});
  return first_->pixel_mask();
}

// Asked without the lock: finding out where a frame is may take a while.
std::vector<bool> FileStream::known_frames(const OpenedFile& file, std::uint64_t first,
                                           std::uint64_t end) const {
  std::vector<bool> known;
  if (!is_known_) return known;
  for (std::uint64_t frame = first; frame < end; ++frame) {
    FrameId id{0, file.url, frame, false};
    try {
      if (file.source) id = file.source->locate(frame).value_or(id);
    } catch (const std::exception&) {
      // Reading it says what is wrong.
    }
    known.push_back(is_known_(id));
  }
  return known;
}

void FileStream::note_known(OpenedFile& file, std::uint64_t frames) const {
  if (file.source) {
    file.known = known_frames(file, 0, frames);
  } else {
    note_known_before_fault(file);
  }
}

// A file that cannot be opened is left out if that is stored already, or if its only frame is. Otherwise its
// bad frame follows the frames that were stored when it could be read: a stack may have had more.
void FileStream::note_known_before_fault(OpenedFile& file) const {
  if (!is_known_) return;
  if (is_known_({0, file.url, kWholeSource, false})) {
    file.known = {true};
    return;
  }
  std::uint64_t stored = 0;
  while (is_known_({0, file.url, stored, false})) ++stored;
  file.known.assign(stored, true);
  file.frames = stored;
}

// Of a CBF file that is packed its only frame may be known: then it is not unpacked for nothing.
bool FileStream::is_known_archive(const std::string& url) const {
  return (url.ends_with(".cbf.gz") || url.ends_with(".cbf.bz2")) && is_known_ &&
         is_known_({0, url, 0, false});
}

std::uint64_t FileStream::left_out() const {
  const std::lock_guard lock(ledger_->mutex);
  return left_out_ - of_others_;
}

void FileStream::share(std::shared_ptr<FrameDealer> dealer) {
  if (growing_) {
    throw Error(ErrorKind::kUsage, "`follow`", "several processes do not see files come in the same order",
                "let one process follow the scan, or share it when it is complete");
  }
  const std::lock_guard lock(ledger_->mutex);
  for (const auto& [number, file] : opened_) check_one_frame(file);
  blocks_.emplace(std::move(dealer));
}

// Others did not look into it, and go by its name.
void FileStream::check_one_frame(const OpenedFile& file) const {
  if (!file.source || !names_one_frame(split_url(file.url).file)) return;
  const std::uint64_t frames = file.source->info().frames;
  if (frames == 1) return;
  throw Error(ErrorKind::kInput, file.url,
              fmt::format("holds {} frames, and its name is that of a CBF file, which holds one", frames),
              "give it the extension of its format, so that all processes count its frames");
}

void FileStream::start_reading() {
  places_opened_ = 0;
  for (auto& [number, file] : opened_) {  // by info(), which comes before anybody says what is known
    note_known(file, file.frames);
    places_opened_ += file.places();
  }
  for (std::size_t i = 0; i < std::max(1u, settings_.threads); ++i)
    readers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

std::optional<StreamItem> FileStream::next(std::stop_token stop) {
  if (readers_.empty()) start_reading();
  // Told once that there is nothing, the caller has done what it can.
  const bool may_pause = !std::exchange(paused_, false);
  std::unique_lock lock(ledger_->mutex);
  const auto decided = [this] {
    return ready_.contains(handed_out_) || (exhausted_ && handed_out_ == numbered_);
  };
  ledger_->changed.wait(lock, stop, [&] {
    return decided() || (may_pause && (starved() || waits_for_growth() || waits_for_block()));
  });
  if (stop.stop_requested()) return std::nullopt;
  if (!decided()) {
    paused_ = true;
    return Pause{};
  }
  const auto found = ready_.find(handed_out_);
  if (found == ready_.end() && failure_) std::rethrow_exception(failure_);
  if (found == ready_.end()) return std::nullopt;
  auto taken = ready_.extract(found);
  ++handed_out_;
  ledger_->changed.notify_all();
  return std::move(taken.mapped());
}

std::uint64_t FileStream::expected() {
  const std::lock_guard lock(ledger_->mutex);
  if (!files_ || count_unknown_ || blocks_) return 0;
  const std::uint64_t files = current_file_ + opened_.size();  // opened so far
  if (files == 0) return *files_;
  const std::uint64_t frames =
      frames_opened_ + (*files_ - files) * std::max<std::uint64_t>(1, frames_opened_ / files);
  return frames - std::min(frames, left_out_);
}

double FileStream::busy_seconds() const {
  const std::lock_guard lock(ledger_->mutex);
  return busy_seconds_;
}

void FileStream::work(const std::stop_token& stop) {
  while (true) {
    Task task = next_task();
    if (task.kind == Task::Kind::kEnd) return;
    if (task.kind == Task::Kind::kLook) {
      look(task);
      continue;
    }
    if (task.kind == Task::Kind::kAsk) {
      ask();
      continue;
    }
    const auto start = Clock::now();
    if (task.kind == Task::Kind::kOpen) {
      auto opened = open(task.file, stop, true);
      const std::lock_guard lock(ledger_->mutex);
      if (!growing_) busy_seconds_ += seconds_since(start);  // waiting is no work
      --opening_;
      if (!holds_one_by_name(task.file)) --opening_unknown_;
      take_opened(task.file, std::move(opened));
      ledger_->changed.notify_all();
      continue;
    }
    ReadItem read_item = read(task);
    const std::lock_guard lock(ledger_->mutex);
    busy_seconds_ += seconds_since(start);
    --reading_;
    // What it was reckoned to take is replaced by what it takes.
    ledger_->frame_bytes += read_item.bytes - task.bytes;
    if (!std::holds_alternative<Frame>(read_item.item)) --ledger_->frames;
    ready_.emplace(task.index, std::move(read_item.item));
    ledger_->changed.notify_all();
  }
}

// None: there will be no more files.
void FileStream::take_opened(std::size_t file, std::optional<OpenedFile> opened) {
  if (!opened) {
    files_ = file;
    return;
  }
  const FrameSource* const source = opened->source.get();
  if (source != nullptr) {
    opened->frames = source->info().frames;
    opened->ended = !settings_.open.follow;
    one_frame_per_file_ = one_frame_per_file_ && opened->frames == 1 && opened->ended;
    if (settings_.open.follow && !source->info().promised) count_unknown_ = true;
  }
  places_opened_ += opened->places();
  frames_opened_ += source != nullptr ? source->info().promised.value_or(opened->frames)
                                      : std::max<std::uint64_t>(opened->frames, 1);
  last_archive_ = source != nullptr ? source->info().bytes_held : 0;
  file_bytes_ += last_archive_;
  opened_.emplace(file, *std::move(opened));
}

// Behind a file of nobody knows how many frames no place is known.
std::optional<std::uint64_t> FileStream::left_out_before() const {
  if (any_fault_ && !one_frame_per_file_) return std::nullopt;
  return left_out_;
}

// One bad frame stands for the file: right if its name says that it holds one, or if files hold one each, and
// none of this one was stored before.
void FileStream::note_fault(const OpenedFile& file) {
  if (!file.source && file.frames == 0 && names_one_frame(split_url(file.url).file)) return;
  if (!any_fault_) {
    first_fault_ = file.url;
    first_reason_ = file.fault ? file.fault->fault() : "it cannot be read";
  }
  any_fault_ = true;
  if (file.source || file.frames > 0 || is_hdf5_name(split_url(file.url).file)) one_frame_per_file_ = false;
}

std::vector<ColumnInfo> FileStream::columns_in(const FrameSource& first, const std::string& url) const {
  std::vector<ColumnInfo> columns;
  if (settings_.columns.empty()) return columns;
  const HeaderPairs header = first.info().frames > 0 ? first.header_of(0) : first.info().header;
  for (const HeaderColumn& wanted : settings_.columns) columns.push_back(described(wanted, header, url));
  return columns;
}

std::vector<double> FileStream::point_of(const FrameSource& source, std::uint64_t frame) const {
  std::vector<double> point = without_values(settings_.columns.size());
  if (point.empty()) return point;
  const HeaderPairs header = source.header_of(frame);
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (const auto number = find_header_number(header, settings_.columns[i].key)) point[i] = number->value;
  }
  return point;
}

// The oldest work first: a frame of the current file, else a file to open ahead.
FileStream::Task FileStream::next_task() {
  std::unique_lock lock(ledger_->mutex);
  while (true) {
    if (stopping_) return {};
    advance_file();
    if (exhausted_) return {};
    if (blocks_ && blocks_->pass(place())) ledger_->changed.notify_all();
    if (blocks_ && blocks_->should_ask(place(), ledger_->frames)) {
      blocks_->begin_asking();
      return {Task::Kind::kAsk};
    }
    const auto current = opened_.find(current_file_);
    if (current == opened_.end() || waits_for_owner(current->second)) {
      // Nothing can be read yet.
    } else if (next_frame_ == current->second.frames) {
      if (!current->second.looking) {
        current->second.looking = true;
        return {Task::Kind::kLook, current_file_, current->second.url, 0, 0, 0, current->second.source};
      }
    } else if (numbered_ - handed_out_ < ahead_) {
      const OpenedFile& file = current->second;
      const std::uint64_t bytes = frame_bytes(file.source->info());
      if (fits(bytes)) {
        ledger_->frame_bytes += bytes;
        ++ledger_->frames;
        ++reading_;
        return {Task::Kind::kRead, current_file_, file.url,    numbered_++,
                next_frame_++,     bytes,         file.source, left_out_before()};
      }
    }
    if (leave_unopened()) continue;
    if (may_open() && owner_of_next_file() == DealtBlocks::Owner::kUs) {
      ++opening_;
      if (!holds_one_by_name(next_to_open_)) ++opening_unknown_;
      return {Task::Kind::kOpen, next_to_open_++};
    }
    ledger_->changed.wait(lock);
  }
}

bool FileStream::holds_one_by_name(std::size_t file) const {
  return !folder_ && names_one_frame(split_url(urls_[file]).file);
}

// Ours to open, that is: to count the frames of a file, all have to open it.
DealtBlocks::Owner FileStream::owner_of_next_file() const {
  if (!blocks_ || !holds_one_by_name(next_to_open_)) return DealtBlocks::Owner::kUs;
  if (opening_unknown_ > 0) return DealtBlocks::Owner::kNotKnownYet;
  return blocks_->owner_of(places_opened_ + opening_);
}

// Files that hold a frame of others take their place in the scan unopened. Whether there were any.
bool FileStream::leave_unopened() {
  bool any = false;
  for (; blocks_ && may_open() && owner_of_next_file() == DealtBlocks::Owner::kOthers; any = true) {
    OpenedFile file;
    file.url = urls_[next_to_open_];
    file.frames = 1;
    take_opened(next_to_open_++, std::move(file));
  }
  return any;
}

// Where nothing is held, there is nothing that could be waited for.
bool FileStream::fits(std::uint64_t bytes) const {
  if (ledger_->frame_bytes == 0) return true;
  const std::uint64_t held = ledger_->frame_bytes + file_bytes_;
  return held <= settings_.memory && bytes <= settings_.memory - held;
}

bool FileStream::may_open_ahead() const {
  // Nobody knows how long the file before will be waited for: its successor's time has not begun.
  if (growing_ || !files_) return false;
  const std::size_t ahead = std::max(1u, settings_.threads);
  return next_to_open_ < *files_ && next_to_open_ <= current_file_ + ahead &&
         (last_archive_ == 0 || fits(last_archive_));
}

// The next frame waits for memory, and all before it were handed out.
bool FileStream::starved() const {
  if (reading_ > 0 || numbered_ != handed_out_) return false;
  const auto current = opened_.find(current_file_);
  return current != opened_.end() && current->second.source && next_frame_ < current->second.frames &&
         !fits(frame_bytes(current->second.source->info()));
}

// The next frame is not written yet, and all before it were handed out.
bool FileStream::waits_for_growth() const {
  if (!growing_ || exhausted_ || reading_ > 0 || numbered_ != handed_out_) return false;
  const auto current = opened_.find(current_file_);
  if (current == opened_.end()) return true;
  return !current->second.ended && next_frame_ == current->second.frames;
}

// Whether the next frame is ours depends on others, and all before it were handed out.
bool FileStream::waits_for_block() const {
  return blocks_ && !exhausted_ && reading_ == 0 && numbered_ == handed_out_ && blocks_->has_none(place());
}

// Leaves frames of the current file behind that are known, or those of others.
void FileStream::leave_frames(const OpenedFile& file) {
  while (next_frame_ < file.places()) {
    if (blocks_) {
      const std::uint64_t others =
          std::min(blocks_->skip_others(place()) - place(), file.places() - next_frame_);
      next_frame_ += others;
      left_out_ += others;
      of_others_ += others;
      if (others > 0) continue;
      if (waits_for_owner(file)) return;
    }
    if (!file.is_known(next_frame_)) return;
    ++next_frame_;
    ++left_out_;
  }
}

// Nobody knows yet whose its next frame is.
bool FileStream::waits_for_owner(const OpenedFile& file) const {
  return blocks_ && next_frame_ < file.places() &&
         blocks_->owner_of(place()) == DealtBlocks::Owner::kNotKnownYet;
}

// Behind a file that may hold any number of frames we do not know which are ours.
bool FileStream::places_are_lost() {
  if (left_out_before()) return false;
  failure_ = std::make_exception_ptr(
      Error(ErrorKind::kInput, first_fault_,
            first_reason_ +
                ", and nobody knows how many frames it holds, so several processes cannot agree on those "
                "behind it",
            "repair the file or leave it out, or let one process reduce the scan"));
  return true;
}

// Leaves files whose frames are all numbered behind. A file that could not be opened is one bad frame, and so
// is the end of one that was followed and has fewer frames than it promised.
void FileStream::advance_file() {
  while (!files_ || current_file_ < *files_) {
    const auto current = opened_.find(current_file_);
    if (current == opened_.end()) return;
    OpenedFile& file = current->second;
    leave_frames(file);
    if (waits_for_owner(file)) return;
    if (blocks_ && (blocks_->ended(place()) || places_are_lost())) break;
    if (next_frame_ < file.frames || !file.ended) return;
    if (next_frame_ < file.places()) {
      const FrameId id{numbered_, file.url, next_frame_, false, left_out_before()};  // of the file as a whole
      ready_.emplace(numbered_++, BadFrame{id, *file.fault, without_values(settings_.columns.size())});
    }
    if (file.fault) note_fault(file);
    if (file.source) file_bytes_ -= file.source->info().bytes_held;
    opened_.erase(current);
    ++current_file_;
    next_frame_ = 0;
    ledger_->changed.notify_all();
  }
  exhausted_ = true;
  ledger_->changed.notify_all();
}

// After a while, since there was nothing more to read when it was decided.
void FileStream::look(const Task& task) {
  {
    std::unique_lock lock(ledger_->mutex);
    ledger_->changed.wait_for(lock, kLookAgain, [this] { return stopping_; });
    if (stopping_) return;
  }
  Growth growth;
  try {
    growth = task.source->grow();
  } catch (const Error& error) {
    growth = {0, true, error};
  } catch (const std::exception& error) {
    growth = {0, true, Error(ErrorKind::kInput, task.url, error.what())};
  }
  std::unique_lock lock(ledger_->mutex);
  OpenedFile& file = opened_.at(task.file);  // stays there as long as this thread is looking
  lock.unlock();
  const std::vector<bool> known =
      known_frames(file, file.known.size(), std::max(file.frames, growth.frames) + (growth.fault ? 1 : 0));
  lock.lock();
  file.known.insert(file.known.end(), known.begin(), known.end());
  file.looking = false;
  file.frames = std::max(file.frames, growth.frames);
  file.ended = growth.ended;
  file.fault = std::move(growth.fault);
  ledger_->changed.notify_all();
}

void FileStream::ask() {
  std::optional<FrameRange> block;
  std::exception_ptr failure;
  try {
    block = blocks_->ask();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(ledger_->mutex);
  try {
    if (!failure) blocks_->take(block);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    failure_ = failure;
    exhausted_ = true;
  }
  ledger_->changed.notify_all();
}

// None if a folder has no more files. One thread at a time opens files of a folder.
std::optional<FileStream::OpenedFile> FileStream::open(std::size_t file, const std::stop_token& stop,
                                                       bool check) const {
  OpenedFile opened;
  try {
    if (folder_) {
      auto arrival = folder_->next(stop);
      if (!arrival) return std::nullopt;
      opened.url = std::move(arrival->path);
      opened.source = std::move(arrival->source);
      opened.fault = std::move(arrival->fault);
    } else {
      opened.url = urls_[file];
      if (check && is_known_archive(opened.url)) {
        opened.frames = 1;
        opened.known = {true};
        return opened;
      }
      opened.source = open_when_there(opened.url, settings_.open, stop);
    }
    if (blocks_) check_one_frame(opened);
    if (opened.source && check && settings_.check_file) settings_.check_file(*opened.source, opened.url);
  } catch (const Error& error) {
    opened.fault = error;
  } catch (const std::exception& error) {
    opened.fault = Error(ErrorKind::kInput, opened.url, error.what());
  }
  if (opened.fault) opened.source.reset();
  if (check) note_known(opened, opened.source ? opened.source->info().frames : 0);
  return opened;
}

FileStream::ReadItem FileStream::read(const Task& task) const {
  const SourceInfo& info = task.source->info();
  const bool of_several = settings_.open.follow || info.frames > 1 || info.promised.value_or(1) > 1;
  const auto bad = [&](const Error& error) {
    BadFrame frame{{task.index, task.url, task.frame_in_file, of_several, task.left_out},
                   error,
                   without_values(settings_.columns.size())};
    try {
      if (const auto located = task.source->locate(task.frame_in_file)) {
        frame.id.source = located->source;
        frame.id.in_source = located->in_source;
      }
      frame.point = point_of(*task.source, task.frame_in_file);
    } catch (const std::exception&) {
      // The file changed meanwhile: its own name has to do.
    }
    return ReadItem{std::move(frame), 0};
  };
  try {
    Frame frame = task.source->read(task.frame_in_file);
    frame.max_count = info.max_count;
    frame.id.of_several = of_several;
    frame.id.index = task.index;
    frame.id.left_out = task.left_out;
    frame.point = point_of(*task.source, task.frame_in_file);
    if (settings_.check_frame) settings_.check_frame(frame);
    const std::uint64_t bytes = info.payloads_vary ? frame_bytes(frame) : task.bytes;
    frame.payload = frame.payload.together_with(Ledger::receipt(ledger_, bytes));
    return {std::move(frame), bytes};
  } catch (const Error& error) {
    return bad(error);
  } catch (const std::exception& error) {
    return bad(Error(ErrorKind::kInput, task.url, error.what()));
  }
}

std::unique_ptr<FrameStream> stream_files(std::vector<std::string> urls, FileStreamSettings settings) {
  return std::make_unique<FileStream>(std::move(urls), std::move(settings));
}

std::unique_ptr<FrameStream> stream_folder(std::string folder, const FolderSettings& watch,
                                           FileStreamSettings settings) {
  return std::make_unique<FileStream>(std::make_unique<FolderWatch>(std::move(folder), watch),
                                      std::move(settings));
}

}  // namespace annulus
