#include <annulus/engine/frame_reader.hpp>

#include <chrono>
#include <utility>

namespace annulus {

FrameReader::FrameReader(std::vector<std::string> urls, Settings settings)
    : urls_(std::move(urls)), settings_(std::move(settings)) {
  for (unsigned i = 0; i < std::max(1u, settings_.threads); ++i) readers_.emplace_back([this] { work(); });
}

FrameReader::~FrameReader() { stop(); }

std::optional<ReadItem> FrameReader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return stopping_ || ready_.contains(handed_out_) || (exhausted_ && handed_out_ == taken_);
  });
  const auto found = ready_.find(handed_out_);
  if (stopping_ || found == ready_.end()) return std::nullopt;
  ReadItem item = std::move(found->second);
  ready_.erase(found);
  ++handed_out_;
  changed_.notify_all();
  return item;
}

void FrameReader::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

std::uint64_t FrameReader::frames_expected() const {
  const std::uint64_t files = files_opened_, frames = frames_opened_;
  if (files == 0) return urls_.size();
  return frames + (urls_.size() - files) * std::max<std::uint64_t>(1, frames / files);
}

double FrameReader::busy_seconds() const {
  const std::lock_guard lock(mutex_);
  return busy_seconds_;
}

void FrameReader::work() {
  while (auto ticket = take_ticket()) {
    const std::uint64_t index = ticket->index;
    const auto start = std::chrono::steady_clock::now();
    ReadItem item = read(std::move(*ticket));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(mutex_);
    busy_seconds_ += spent.count();
    ready_.emplace(index, std::move(item));
    changed_.notify_all();
  }
}

// Tickets are numbered under the cursor's lock, so that numbers follow the order of files and frames.
std::optional<FrameReader::Ticket> FrameReader::take_ticket() {
  const std::lock_guard cursor(cursor_mutex_);
  Ticket ticket;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || exhausted_ || taken_ - handed_out_ < settings_.ahead; });
    if (stopping_ || exhausted_) return std::nullopt;
  }
  while (!current_ || next_frame_ == current_->info().frames) {
    if (next_url_ == urls_.size()) {
      const std::lock_guard lock(mutex_);
      exhausted_ = true;
      changed_.notify_all();
      return std::nullopt;
    }
    open_next_file(ticket);
    if (ticket.fault) break;
  }
  if (!ticket.fault) {
    ticket.url = urls_[next_url_ - 1];
    ticket.source = current_;
    ticket.frame_in_source = next_frame_++;
  }
  const std::lock_guard lock(mutex_);
  ticket.index = taken_++;
  return ticket;
}

void FrameReader::open_next_file(Ticket& ticket) {
  ticket.url = urls_[next_url_++];
  current_.reset();
  next_frame_ = 0;
  ++files_opened_;
  try {
    current_ = open_source(ticket.url, settings_.open);
    frames_opened_ += current_->info().frames;
  } catch (const Error& error) {
    ticket.fault = error;
    ++frames_opened_;
  } catch (const std::exception& error) {
    ticket.fault = Error(ErrorKind::kInput, ticket.url, error.what());
    ++frames_opened_;
  }
}

ReadItem FrameReader::read(Ticket ticket) const {
  ReadItem item;
  item.fault = std::move(ticket.fault);
  try {
    if (!item.fault) {
      item.frame = ticket.source->read(ticket.frame_in_source);
      if (settings_.prepare) item.frame = settings_.prepare(std::move(item.frame));
    }
  } catch (const Error& error) {
    item.fault = error;
  } catch (const std::exception& error) {
    item.fault = Error(ErrorKind::kInput, ticket.url, error.what());
  }
  item.frame.index = ticket.index;
  item.frame.source = std::move(ticket.url);
  item.frame.frame_in_source = ticket.frame_in_source;
  return item;
}

}  // namespace annulus
