#include <annulus/codecs/lz4_stream.hpp>
#include <annulus/core/buffer_pool.hpp>

#include <algorithm>
#include <cstring>

namespace annulus {
namespace {

constexpr std::size_t kWindow = std::size_t{64} << 10;  // more than the largest offset
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kSlack = 32;  // short copies are made in two vectors and may write too much

// Rules for the end of a block: it ends with literals, the last five bytes at least; the last match begins
// twelve bytes before the end or earlier.
constexpr std::size_t kLastLiterals = 5;
constexpr std::size_t kLastMatch = 12;
constexpr std::size_t kShortestEnd = 2 + 1 + kLastLiterals;  // an offset, a token, literals

// A token, 14 literals, an offset and a match of 18, with what is copied too much and the end of a block.
constexpr std::size_t kShortSequence = 96;

constexpr std::size_t kExtended = 15;
constexpr std::size_t kShortestMatch = 4;

void copy_short(std::byte* to, const std::byte* from) {
  std::memcpy(to, from, kSlack / 2);
  std::memcpy(to + kSlack / 2, from + kSlack / 2, kSlack / 2);
}

}  // namespace

Lz4Stream::Lz4Stream(std::span<const std::byte> packed, std::size_t size)
    : at_(packed.data()), end_(packed.data() + packed.size()), size_(size) {}

std::span<const std::byte> Lz4Stream::next() {
  if (!window_) {
    window_ = frame_memory().take(kWindow + kPiece + kSlack);
    out_ = window_.get();
  } else if (out_ > window_.get() + kWindow) {
    std::memmove(window_.get(), out_ - kWindow, kWindow);
    out_ = window_.get() + kWindow;
  }
  std::byte* const first = out_;
  std::byte* const stop = first + kPiece;
  while (out_ != stop && !corrupt_) {
    if (literals_ > 0) {
      copy_literals(static_cast<std::size_t>(stop - out_));
    } else if (match_ > 0) {
      copy_match(static_cast<std::size_t>(stop - out_));
    } else if (match_follows_) {
      corrupt_ = !begin_match();
    } else if (at_ == end_) {
      break;
    } else {
      copy_short_sequences(stop);
      corrupt_ = corrupt_ || (!match_follows_ && out_ != stop && !begin_sequence());
    }
  }
  const std::span<const std::byte> piece(first, out_);
  return corrupt_ ? std::span<const std::byte>() : piece;
}

// Most sequences are short: while neither the input nor the piece ends soon, they need no other care than for
// their offset. Stops before a token, or before the offset of a match that is long.
void Lz4Stream::copy_short_sequences(const std::byte* stop) {
  const std::size_t room = std::min(static_cast<std::size_t>(stop - out_), size_ - made_);
  if (room < kShortSequence || static_cast<std::size_t>(end_ - at_) < kShortSequence) return;
  const std::byte* at = at_;
  std::byte* out = out_;
  std::byte* const begin = out_;
  const std::byte* const last_out = out + (room - kShortSequence);
  const std::byte* const last_at = end_ - kShortSequence;
  while (at <= last_at && out <= last_out) {
    const unsigned token = std::to_integer<unsigned>(*at);
    const std::size_t literals = token >> 4;
    if (literals == kExtended) break;
    std::memcpy(out, at + 1, kSlack / 2);
    at += 1 + literals;
    out += literals;
    const std::size_t length = token & kExtended;
    if (length == kExtended) {
      token_ = token;
      match_follows_ = true;
      break;
    }
    const std::size_t offset = std::to_integer<std::size_t>(at[0]) | std::to_integer<std::size_t>(at[1]) << 8;
    at += 2;
    if (offset == 0 || offset > made_ + static_cast<std::size_t>(out - begin)) {
      corrupt_ = true;
      break;
    }
    const std::byte* const from = out - offset;
    if (offset >= kSlack / 2) {
      copy_short(out, from);
    } else {
      for (std::size_t i = 0; i < length + kShortestMatch; ++i) out[i] = from[i];
    }
    out += length + kShortestMatch;
  }
  made_ += static_cast<std::size_t>(out - begin);
  at_ = at;
  out_ = out;
}

// A token and the length of its literals.
bool Lz4Stream::begin_sequence() {
  token_ = std::to_integer<unsigned>(*at_++);
  literals_ = token_ >> 4;
  if (literals_ == kExtended && !read_length(literals_)) return false;
  const auto left = static_cast<std::size_t>(end_ - at_);
  if (literals_ > left || literals_ > size_ - made_) return false;
  match_follows_ = literals_ < left;
  if (!match_follows_) return true;
  return left - literals_ >= kShortestEnd && size_ - made_ - literals_ >= kLastMatch;
}

bool Lz4Stream::begin_match() {
  match_follows_ = false;
  offset_ = std::to_integer<std::size_t>(at_[0]) | std::to_integer<std::size_t>(at_[1]) << 8;
  at_ += 2;
  match_ = token_ & kExtended;
  if (match_ == kExtended && !read_length(match_)) return false;
  match_ += kShortestMatch;
  if (static_cast<std::size_t>(end_ - at_) < 1 + kLastLiterals) return false;
  return offset_ != 0 && offset_ <= made_ && match_ + kLastLiterals <= size_ - made_;
}

bool Lz4Stream::read_length(std::size_t& length) {
  while (at_ != end_) {
    const auto more = std::to_integer<std::size_t>(*at_++);
    length += more;
    if (length > size_) return false;
    if (more != 255) return true;
  }
  return false;
}

void Lz4Stream::copy_literals(std::size_t room) {
  const std::size_t count = std::min(literals_, room);
  if (count <= kSlack && static_cast<std::size_t>(end_ - at_) >= kSlack) {
    copy_short(out_, at_);
  } else {
    std::memcpy(out_, at_, count);
  }
  at_ += count;
  out_ += count;
  made_ += count;
  literals_ -= count;
}

// A match may reach into itself: what is there repeats, and each copy doubles it.
void Lz4Stream::copy_match(std::size_t room) {
  const std::size_t count = std::min(match_, room);
  const std::byte* const from = out_ - offset_;
  if (offset_ == 1) {
    std::memset(out_, std::to_integer<int>(*from), count);
  } else if (count <= kSlack && offset_ >= kSlack / 2) {
    copy_short(out_, from);
  } else {
    for (std::size_t done = 0; done < count;) {
      const std::size_t part = std::min(count - done, offset_ + done);
      std::memcpy(out_ + done, from, part);
      done += part;
    }
  }
  out_ += count;
  made_ += count;
  match_ -= count;
}

}  // namespace annulus
