#include <annulus/engine/frame_reader.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace annulus {
namespace {

constexpr std::chrono::milliseconds kLookAgain(50);

}  // namespace

std::unique_ptr<FrameSource> open_when_there(const std::string& url, const OpenOptions& open,
                                             const std::function<bool()>& give_up) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    try {
      return open_source(url, open);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUsage) throw;  // it will never be there
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (!open.follow || waited.count() >= *open.follow || (give_up && give_up())) throw;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

FrameReader::FrameReader(std::vector<std::string> urls, Settings settings)
    : urls_(std::move(urls)), settings_(std::move(settings)) {
  try {
    for (std::size_t i = 0; i < std::max(1u, settings_.threads); ++i)
      readers_.emplace_back([this] { work(); });
  } catch (...) {
    stop();  // or those that did start would wait for ever, and we for them
    throw;
  }
}

FrameReader::~FrameReader() { stop(); }

std::optional<ReadItem> FrameReader::next(const std::function<void()>& when_starved) {
  std::unique_lock lock(mutex_);
  const auto decided = [this] {
    return stopping_ || ready_.contains(handed_out_) || (exhausted_ && handed_out_ == numbered_);
  };
  changed_.wait(lock, [&] { return decided() || (when_starved && (starved() || waits_for_growth())); });
  if (!decided()) {
    lock.unlock();
    when_starved();
    lock.lock();
    changed_.wait(lock, decided);
  }
  const auto found = ready_.find(handed_out_);
  if (stopping_ || found == ready_.end()) return std::nullopt;
  ReadItem item = std::move(found->second);
  ready_.erase(found);
  ++handed_out_;
  changed_.notify_all();
  return item;
}

void FrameReader::release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  frame_bytes_ -= bytes;
  changed_.notify_all();
}

void FrameReader::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

std::uint64_t FrameReader::frames_expected() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t files = current_file_ + opened_.size();  // opened so far
  if (files == 0) return urls_.size();
  return frames_opened_ + (urls_.size() - files) * std::max<std::uint64_t>(1, frames_opened_ / files);
}

double FrameReader::busy_seconds() const {
  const std::lock_guard lock(mutex_);
  return busy_seconds_;
}

void FrameReader::work() {
  while (true) {
    Task task = next_task();
    if (task.kind == Task::Kind::kEnd) return;
    if (task.kind == Task::Kind::kLook) {
      look(task);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    OpenedFile opened;
    ReadItem item;
    if (task.kind == Task::Kind::kOpen) {
      opened = open(task.file);
    } else {
      item = read(task);
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;

    const std::lock_guard lock(mutex_);
    busy_seconds_ += spent.count();
    if (task.kind == Task::Kind::kOpen) {
      if (opened.fault && asked_to_stop()) stopping_ = true;
      if (opened.source) {
        opened.frames = opened.source->info().frames;
        opened.ended = !settings_.open.follow;
      }
      frames_opened_ += opened.source ? opened.source->info().promised.value_or(opened.frames) : 1;
      last_archive_ = opened.source ? opened.source->info().bytes_held : 0;
      file_bytes_ += last_archive_;
      opened_.emplace(task.file, std::move(opened));
    } else {
      --reading_;
      // What it was reckoned to take is replaced by what it takes.
      frame_bytes_ += item.bytes - task.bytes;
      ready_.emplace(task.index, std::move(item));
    }
    changed_.notify_all();
  }
}

// The oldest work first: a frame of the current file, else a file to open ahead.
FrameReader::Task FrameReader::next_task() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopping_) return {};
    advance_file();
    if (exhausted_) return {};
    const auto current = opened_.find(current_file_);
    if (current != opened_.end() && next_frame_ == current->second.frames) {
      if (!current->second.looking) {
        current->second.looking = true;
        return {Task::Kind::kLook, current_file_, 0, 0, 0, current->second.source};
      }
    } else if (current != opened_.end() && numbered_ - handed_out_ < settings_.ahead) {
      const auto& source = current->second.source;
      const std::uint64_t bytes = frame_bytes(source->info());
      if (fits(bytes)) {
        frame_bytes_ += bytes;
        ++reading_;
        return {Task::Kind::kRead, current_file_, numbered_++, next_frame_++, bytes, source};
      }
    }
    if (next_to_open_ == current_file_ || may_open_ahead()) {
      return {Task::Kind::kOpen, next_to_open_++, 0, 0, 0, nullptr};
    }
    changed_.wait(lock);
  }
}

// Where nothing is held, there is nothing that could be waited for.
bool FrameReader::fits(std::uint64_t bytes) const {
  if (frame_bytes_ == 0) return true;
  const std::uint64_t held = frame_bytes_ + file_bytes_;
  return held <= settings_.memory && bytes <= settings_.memory - held;
}

bool FrameReader::may_open_ahead() const {
  // Nobody knows how long the file before will be waited for: its successor's time has not begun.
  if (settings_.open.follow) return false;
  const std::size_t ahead = std::max(1u, settings_.threads);
  return next_to_open_ < urls_.size() && next_to_open_ <= current_file_ + ahead &&
         (last_archive_ == 0 || fits(last_archive_));
}

// The next frame waits for memory, and all before it were handed out.
bool FrameReader::starved() const {
  if (reading_ > 0 || numbered_ != handed_out_) return false;
  const auto current = opened_.find(current_file_);
  return current != opened_.end() && current->second.source && next_frame_ < current->second.frames &&
         !fits(frame_bytes(current->second.source->info()));
}

// The next frame is not written yet, and all before it were handed out.
bool FrameReader::waits_for_growth() const {
  if (reading_ > 0 || numbered_ != handed_out_) return false;
  const auto current = opened_.find(current_file_);
  return current != opened_.end() && !current->second.ended && next_frame_ == current->second.frames;
}

// Leaves files whose frames are all numbered behind. A file that could not be opened is one bad frame, and so
// is the end of one that was followed and has fewer frames than it promised.
void FrameReader::advance_file() {
  while (current_file_ < urls_.size()) {
    const auto current = opened_.find(current_file_);
    if (current == opened_.end()) return;
    OpenedFile& file = current->second;
    if (next_frame_ < file.frames || !file.ended) return;
    if (file.fault) {
      ReadItem item;
      item.fault = std::move(file.fault);
      item.frame.id.index = numbered_;
      item.frame.id.source = urls_[current_file_];
      item.frame.id.in_source = next_frame_;
      ready_.emplace(numbered_++, std::move(item));
    }
    if (file.source) file_bytes_ -= file.source->info().bytes_held;
    opened_.erase(current);
    ++current_file_;
    next_frame_ = 0;
    changed_.notify_all();
  }
  exhausted_ = true;
  changed_.notify_all();
}

bool FrameReader::asked_to_stop() const {
  return settings_.stop_requested != nullptr && *settings_.stop_requested;
}

// After a while, since there was nothing more to read when it was decided.
void FrameReader::look(const Task& task) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLookAgain, [this] { return stopping_; });
    if (stopping_) return;
  }
  Growth growth;
  try {
    growth = task.source->grow();
  } catch (const Error& error) {
    growth = {0, true, error};
  } catch (const std::exception& error) {
    growth = {0, true, Error(ErrorKind::kInput, urls_[task.file], error.what())};
  }
  const std::lock_guard lock(mutex_);
  OpenedFile& file = opened_.at(task.file);
  file.looking = false;
  file.frames = std::max(file.frames, growth.frames);
  file.ended = growth.ended;
  file.fault = std::move(growth.fault);
  if (asked_to_stop()) stopping_ = true;
  changed_.notify_all();
}

FrameReader::OpenedFile FrameReader::open(std::size_t file) const {
  try {
    OpenedFile opened;
    opened.source = open_when_there(urls_[file], settings_.open, [this] { return asked_to_stop(); });
    if (settings_.check_file) settings_.check_file(*opened.source, urls_[file]);
    return opened;
  } catch (const Error& error) {
    return {nullptr, error};
  } catch (const std::exception& error) {
    return {nullptr, Error(ErrorKind::kInput, urls_[file], error.what())};
  }
}

ReadItem FrameReader::read(const Task& task) const {
  ReadItem item;
  try {
    item.frame = task.source->read(task.frame_in_source);
    item.frame.max_count = task.source->info().max_count;
    if (settings_.prepare) item.frame = settings_.prepare(std::move(item.frame));
  } catch (const Error& error) {
    item.fault = error;
  } catch (const std::exception& error) {
    item.fault = Error(ErrorKind::kInput, urls_[task.file], error.what());
  }
  const bool as_read = task.source->info().payloads_vary && !item.fault;
  item.bytes = as_read ? frame_bytes(item.frame) : task.bytes;
  item.frame.id.index = task.index;
  item.frame.id.source = urls_[task.file];
  item.frame.id.in_source = task.frame_in_source;
  return item;
}

}  // namespace annulus
