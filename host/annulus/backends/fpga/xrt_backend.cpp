#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/backends/fpga/fpga_backends.hpp>
#include <annulus/backends/fpga/kernel_batch.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/xrt_card.hpp>

#include <fmt/core.h>

#include <cstdlib>

namespace annulus {
namespace {

constexpr const char* kXrtName = "xrt";

// Launches under way for each compute unit: one runs while the next is sent and the one before is fetched.
constexpr unsigned kLaunchesPerUnit = 3;

class XrtReducer final : public BatchReducer {
 public:
  XrtReducer(Job job, std::shared_ptr<const DevicePlan> packed, std::shared_ptr<XrtCard> card, bool has_bslz4,
             std::size_t number)
      : job_(std::move(job)),
        packed_(std::move(packed)),
        card_(std::move(card)),
        has_bslz4_(has_bslz4),
        number_(number) {}

  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override {
    return reduce_by_launches(
        job_, frames, has_bslz4_, [this](Codec codec, std::span<const Frame* const> taken) {
          LaunchSums all;
          for (std::size_t first = 0; first < taken.size(); first += kFramesPerLaunch) {
            const auto part = taken.subspan(first, std::min(kFramesPerLaunch, taken.size() - first));
            append(all, launch(codec, part));
          }
          return all;
        });
  }

 private:
  LaunchSums launch(Codec codec, std::span<const Frame* const> frames) {
    LaunchSums sums;
    card_->with_session([&](XrtSession& session) {
      LaunchSlot& slot = session.slot(codec, frames.front()->type, number_, *packed_);
      sums = slot.launch(frames, card_->timeout_seconds(), session.lost);
    });
    return sums;
  }

  // A launch without invalid pixels has no missing sums; beside one that has, they are zeros.
  void append(LaunchSums& all, LaunchSums&& part) const {
    const std::size_t frames = part.results.size() / kernels::result_beats_of(packed_->bins);
    all.results.insert(all.results.end(), part.results.begin(), part.results.end());
    part.missing.resize(frames * kernels::missing_beats_of(packed_->bins));
    all.missing.insert(all.missing.end(), part.missing.begin(), part.missing.end());
  }

  Job job_;
  std::shared_ptr<const DevicePlan> packed_;
  std::shared_ptr<XrtCard> card_;
  bool has_bslz4_;
  std::size_t number_;
};

// Opens the card and puts the plan where frames of its type will most likely need it, so that what can fail
// does so before a scan begins. Frames of int32 may come in byte offset, all in bitshuffle-LZ4 or plain, so
// one kernel is enough to begin with.
LoadedJob load_job(const Job& job, const CommonOptions& common, const XrtOptions& options) {
  const auto packed = std::make_shared<const DevicePlan>(pack_plan(*job.plan, job.recipe, kXrtName));
  const auto card = std::make_shared<XrtCard>(common.chosen_device(), options);
  std::size_t units = 0;
  bool has_bslz4 = false;
  card->with_session([&](XrtSession& session) {
    for (const Codec codec : kKernelCodecs) units = std::max(units, session.units(codec));
    has_bslz4 = session.units(Codec::kBitshuffleLz4) > 0;
    Codec likely = Codec::kRaw;
    if (has_bslz4 && session.units(Codec::kRaw) == 0) likely = Codec::kBitshuffleLz4;
    if (job.plan->pixel_type == PixelType::kI32 && session.units(Codec::kByteOffset) > 0)
      likely = Codec::kByteOffset;
    session.upload(likely, *packed);
  });
  const auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return {[=] { return std::make_unique<XrtReducer>(job, packed, card, has_bslz4, (*next)++); },
          static_cast<unsigned>(units) * kLaunchesPerUnit, kFramesPerLaunch};
}

}  // namespace

std::unique_ptr<Backend> make_xrt_backend(const CommonOptions& common, const XrtOptions& asked) {
  check(asked);
  XrtOptions options = asked;
  const char* const xclbin = std::getenv("ANNULUS_XCLBIN");
  if (options.xclbin.empty() && xclbin != nullptr) options.xclbin = xclbin;
  ThreadedSettings settings;
  settings.name = kXrtName;
  settings.prepare = [common, options](const Job& job) { return load_job(job, common, options); };
  return make_threaded_backend(std::move(settings));
}

BackendDescription describe_xrt_backend() {
  std::vector<CardDescription> cards;
  try {
    cards = describe_cards();
  } catch (const std::exception& error) {
    return {kXrtName, false, fmt::format("Alveo cards: none found: {}", error.what())};
  }
  if (cards.empty()) return {kXrtName, false, "Alveo cards: none found"};
  BackendDescription description{kXrtName, false, ""};
  for (const CardDescription& card : cards) {
    description.available |= card.usable;
    description.detail += (description.detail.empty() ? "" : "; ") + card.text;
  }
  return description;
}

}  // namespace annulus
