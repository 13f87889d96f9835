#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/hdf5/probe.hpp>
#include <annulus/sources/formats.hpp>
#include <annulus/sources/hdf5_instrument.hpp>
#include <annulus/sources/hdf5_series.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace annulus {
namespace {

class Hdf5Source : public FrameSource {
 public:
  Hdf5Source(const std::string& path, const std::string& dataset, const OpenOptions& options)
      : path_(path),
        fence_(std::make_shared<const LinkFence>(path, options.allow_links)),
        follow_(options.follow) {
    const Hdf5Session session;
    const Hdf5Handle file = open_hdf5_file(path_, fence_);
    if (dataset.empty()) refuse_derived(file.get());
    series_.emplace(path, dataset, follow_.has_value(), fence_);
    info_.format = "HDF5";
    info_.type = series_->type();
    info_.shape = series_->shape();
    info_.grid = series_->grid();
    // A frame that takes a little more than the average does not surprise.
    info_.bytes_to_read = series_->average_bytes() + series_->average_bytes() / 8;
    info_.payloads_vary = true;
    info_.bytes_held = series_->held_bytes();
    for (const std::string& url : series_->datasets()) info_.header.emplace_back("dataset", url);
    read_instrument(file.get(), series_->first_dataset(), info_);
    // What was left out may have been the limit of counts.
    if (const auto refused = fence_->refused()) check_fence(path_, *refused, *fence_);
    // The promise is about the whole series.
    if (!dataset.empty()) info_.promised.reset();
    if (!follow_) series_->reckon_missing(info_.promised);
    info_.frames = series_->frames();
    frames_ = info_.frames;
    if (follow_) note_growth();
  }

  ~Hdf5Source() override {
    const Hdf5Session session;
    series_.reset();
  }

  const SourceInfo& info() const override { return info_; }

  void touch() {
    const Hdf5Session session;
    series_->touch();
    const Hdf5Handle file = open_hdf5_file(path_, fence_);
    if (const auto mask = find_pixel_mask(file.get(), path_, fence_, series_->first_dataset())) {
      const Hdf5Dataset dataset(*mask, fence_);
      dataset.touch();
      dataset.fetch(0);
    }
  }

  Frame read(std::uint64_t i) const override {
    if (i >= frames_) {
      throw input_error(
          path_, fmt::format("frame {} was asked for; the file has {}, counted from 0", i, frames_.load()));
    }
    FrameId place;
    FetchedFrame fetched = fetch(i, place);
    Frame frame = make_frame(info_, place.source, fetched.frame, {});
    frame.codec = fetched.codec;
    frame.payload = std::move(fetched).finish();
    return frame;
  }

  std::optional<FrameId> locate(std::uint64_t i) const override {
    const Hdf5Session session;
    return series_->locate(i);
  }

  std::optional<Mask> pixel_mask() const override {
    FetchedFrame fetched;
    Frame frame;
    {
      const Hdf5Session session;
      const Hdf5Handle file = open_hdf5_file(path_, fence_);
      const auto place = find_pixel_mask(file.get(), path_, fence_, series_->first_dataset());
      if (!place) return std::nullopt;
      const Hdf5Dataset dataset(*place, fence_);
      frame.type = dataset.type();
      frame.shape = dataset.shape();
      frame.id.source = place->url();
      fetched = dataset.fetch(0);
    }
    frame.codec = fetched.codec;
    frame.payload = std::move(fetched).finish();
    return as_mask(decode_frame(frame));
  }

  Growth grow() override {
    const Hdf5Session session;
    try {
      series_->look();
    } catch (const Error&) {
      // Its writer has it, or it is being replaced: seen again at the next look, or missed at the end.
    }
    if (series_->frames() > frames_) note_growth();
    frames_ = series_->frames();
    if (info_.promised && frames_ >= *info_.promised) return {frames_, true, std::nullopt};
    if (seconds_since(last_growth_) < follow_.value_or(0)) return {frames_, false, std::nullopt};
    // A frame that is missing does not end a scan that goes on behind it.
    const auto written = series_->bytes_written();
    if (!written || written == written_) return give_up();
    note_growth();
    return {frames_, false, std::nullopt};
  }

 private:
  // Its images would pass for frames.
  void refuse_derived(hid_t file) const {
    const DerivedFile kind = derived_file(file);
    if (kind == DerivedFile::kNone) return;
    throw input_error(path_, fmt::format("is {} that annulus made: it holds no frames", noun_of(kind)),
                      "name the frames; or one of its datasets, if it is to be taken for frames");
  }

  // The lock is held only while HDF5 is called. Who writes the file may have it for a moment.
  FetchedFrame fetch(std::uint64_t i, FrameId& place) const {
    constexpr std::chrono::milliseconds kMoment(20);
    const auto start = Clock::now();
    while (true) {
      {
        const Hdf5Session session;
        const bool patient = follow_ && seconds_since(start) < *follow_;
        if (!patient || series_->can_open(i)) {
          FetchedFrame fetched = series_->fetch(i);
          place = series_->locate(i);
          return fetched;
        }
      }
      std::this_thread::sleep_for(kMoment);
    }
  }

  void note_growth() {
    last_growth_ = Clock::now();
    written_ = series_->bytes_written();
  }

  Growth give_up() {
    const Hdf5Series::Rest rest = series_->give_up(info_.promised);
    frames_ = series_->frames();
    const std::uint64_t expected = std::max(info_.promised.value_or(0), frames_ + rest.frames);
    if (expected > frames_) {
      return {frames_, true,
              input_error(path_,
                          fmt::format("{} of {} frames never came: nothing new for {:g} s",
                                      expected - frames_, expected, *follow_),
                          "the writer has stopped, or `follow_timeout` is too short for it")};
    }
    return {frames_, true, rest.fault};
  }

  std::string path_;
  Fence fence_;
  std::optional<double> follow_;
  SourceInfo info_;
  mutable std::optional<Hdf5Series> series_;  // with the HDF5 lock held
  std::atomic<std::uint64_t> frames_ = 0;
  Clock::time_point last_growth_ = Clock::now();
  std::optional<std::uint64_t> written_;  // at that time
};

}  // namespace

bool looks_like_hdf5(std::span<const std::byte> head) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  const std::string_view text = as_text(head);
  // A user block of 512 bytes or a power of two more may come first.
  for (std::size_t at = 0; at < text.size(); at = at == 0 ? 512 : 2 * at) {
    if (text.substr(at).starts_with(kSignature)) return true;
  }
  return false;
}

std::unique_ptr<FrameSource> open_hdf5(const std::string& path, const std::string& dataset,
                                       const OpenOptions& options) {
  const std::string follow = options.follow ? fmt::format("{}", *options.follow) : "";
  probe_hdf5(path, {kProbeFrames, path, dataset, follow, options.allow_links});
  return std::make_unique<Hdf5Source>(path, dataset, options);
}

void touch_hdf5(const ProbeRequest& request) {
  OpenOptions options;
  if (!request.at(3).empty()) options.follow = parse_real(request[3]);
  options.allow_links = request.at(4);
  Hdf5Source source(request[1], request[2], options);
  try {
    source.touch();
  } catch (const Error&) {
    // A fault of its frames or its mask, not of the file.
  }
}

}  // namespace annulus
