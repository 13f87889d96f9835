#include <annulus/backends/kernel_batch.hpp>
#include <annulus/backends/threaded_backend.hpp>
#include <annulus/backends/xrt_backend.hpp>
#include <annulus/backends/xrt_card.hpp>
#include <annulus/device/pack_frames.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace annulus {
namespace {

constexpr const char* kName = "xrt";

// Frames of a launch: enough that starting it costs little beside it, few enough that results come soon.
constexpr std::size_t kFramesPerLaunch = 4;

// Launches under way for each compute unit: one runs while the next is sent and the one before is fetched.
constexpr unsigned kLaunchesPerUnit = 3;

// The buffers of one launch on one compute unit, used again and again while the session lasts.
class LaunchSlot {
 public:
  LaunchSlot(std::shared_ptr<XrtSession> session, ComputeUnit& unit, std::shared_ptr<const DevicePlan> plan,
             Codec codec, PixelType type)
      : session_(std::move(session)),
        unit_(unit),
        plan_(std::move(plan)),
        descriptors_(unit.make_buffer(KernelMemory::kDescriptors,
                                      kFramesPerLaunch * sizeof(kernels::FrameDescriptor))),
        results_(unit.make_buffer(KernelMemory::kResults, kFramesPerLaunch * result_bytes())),
        missing_(unit.make_buffer(KernelMemory::kMissing, kFramesPerLaunch * missing_bytes())),
        run_(unit.make_run(*plan_, codec, type)) {
    run_.set_arg(static_cast<int>(KernelMemory::kDescriptors), descriptors_);
    run_.set_arg(static_cast<int>(KernelMemory::kResults), results_);
    run_.set_arg(static_cast<int>(KernelMemory::kMissing), missing_);
  }

  const std::shared_ptr<XrtSession>& session() const { return session_; }

  // At most kFramesPerLaunch frames.
  LaunchSums launch(std::span<const Frame* const> frames, double timeout_seconds) {
    send(frames);
    finish_run(run_, unit_.name(), timeout_seconds, session_->lost);
    return fetch(frames.size());
  }

 private:
  std::size_t result_bytes() const {
    return kernels::result_beats_of(plan_->bins) * sizeof(kernels::SumBeat);
  }
  std::size_t missing_bytes() const {
    return kernels::missing_beats_of(plan_->bins) * sizeof(kernels::SumBeat);
  }

  void send(std::span<const Frame* const> frames) {
    const auto descriptors = describe_payloads(frames);
    const std::size_t bytes = payload_beats(descriptors) * sizeof(kernels::Beat);
    if (!frames_ || frames_.size() < bytes) {
      frames_ = {};  // before the new one is made: a bank may not hold both
      frames_ = unit_.make_buffer(KernelMemory::kFrames, bytes + bytes / 4);
      run_.set_arg(static_cast<int>(KernelMemory::kFrames), frames_);
    }
    copy_payloads(frames, descriptors, frames_.map<kernels::Beat*>());
    if (bytes > 0) frames_.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes, 0);
    const std::size_t descriptor_bytes = descriptors.size() * sizeof(descriptors[0]);
    descriptors_.write(descriptors.data(), descriptor_bytes, 0);
    descriptors_.sync(XCL_BO_SYNC_BO_TO_DEVICE, descriptor_bytes, 0);
    run_.set_arg(static_cast<int>(KernelMemory::kMissing) + 1, static_cast<std::uint32_t>(frames.size()));
  }

  LaunchSums fetch(std::size_t count) {
    LaunchSums sums;
    results_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, count * result_bytes(), 0);
    const auto* const results = results_.map<const kernels::SumBeat*>();
    const std::size_t beats = kernels::result_beats_of(plan_->bins);
    sums.results.assign(results, results + count * beats);
    bool invalid = false;
    for (std::size_t i = 0; i < count; ++i) {
      const kernels::SumBeat& header = sums.results[i * beats];
      if (header.sum[kernels::kHeaderBuild] == -1) throw CardLost("its memory reads as ones");
      invalid |= header.sum[kernels::kHeaderInvalid] != 0;
    }
    if (!invalid) return sums;
    missing_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, count * missing_bytes(), 0);
    const auto* const missing = missing_.map<const kernels::SumBeat*>();
    sums.missing.assign(missing, missing + count * kernels::missing_beats_of(plan_->bins));
    return sums;
  }

  std::shared_ptr<XrtSession> session_;
  ComputeUnit& unit_;
  std::shared_ptr<const DevicePlan> plan_;
  xrt::bo descriptors_;
  xrt::bo frames_;  // grows with the payloads
  xrt::bo results_;
  xrt::bo missing_;
  xrt::run run_;
};

class XrtReducer final : public BatchReducer {
 public:
  XrtReducer(std::shared_ptr<const Plan> plan, std::shared_ptr<const DevicePlan> packed,
             std::shared_ptr<XrtCard> card, std::size_t number)
      : plan_(std::move(plan)), packed_(std::move(packed)), card_(std::move(card)), number_(number) {}

  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override {
    return reduce_by_launches(
        *plan_, frames, kName, [this](Codec codec, std::span<const Frame* const> taken) {
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
    card_->with_session([&](const std::shared_ptr<XrtSession>& session) {
      std::unique_ptr<LaunchSlot>& slot = codec == Codec::kByteOffset ? byte_offset_ : raw_;
      if (!slot || slot->session() != session) {
        slot = std::make_unique<LaunchSlot>(session, session->unit(codec, number_, *packed_), packed_, codec,
                                            frames.front()->type);
      }
      sums = slot->launch(frames, card_->timeout_seconds());
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

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const DevicePlan> packed_;
  std::shared_ptr<XrtCard> card_;
  std::size_t number_;
  std::unique_ptr<LaunchSlot> byte_offset_;
  std::unique_ptr<LaunchSlot> raw_;
};

// Opens the card and puts the plan where frames of its type will most likely need it, so that what can fail
// does so before a scan begins.
LoadedPlan load_plan(std::shared_ptr<const Plan> plan, const BackendOptions& options) {
  const auto packed = std::make_shared<const DevicePlan>(pack_plan(*plan, kName));
  const auto card = std::make_shared<XrtCard>(options);
  std::size_t units = 0;
  card->with_session([&](const std::shared_ptr<XrtSession>& session) {
    units = std::max(session->units(Codec::kByteOffset), session->units(Codec::kRaw));
    const bool compressed = plan->pixel_type == PixelType::kI32 && session->units(Codec::kByteOffset) > 0;
    const Codec codec = compressed ? Codec::kByteOffset : Codec::kRaw;
    for (std::size_t i = 0; i < session->units(codec); ++i) session->unit(codec, i, *packed);
  });
  const auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return {[=] { return std::make_unique<XrtReducer>(plan, packed, card, (*next)++); },
          static_cast<unsigned>(units) * kLaunchesPerUnit};
}

}  // namespace

std::unique_ptr<Backend> make_xrt_backend(const BackendOptions& options) {
  ThreadedSettings settings;
  settings.name = kName;
  settings.batch_size = kFramesPerLaunch;
  settings.prepare = [options](std::shared_ptr<const Plan> plan) {
    return load_plan(std::move(plan), options);
  };
  return make_threaded_backend(std::move(settings));
}

BackendDescription describe_xrt_backend() {
  const std::vector<std::string> cards = describe_cards();
  if (cards.empty()) return {kName, false, "Alveo cards: none found"};
  return {kName, true, fmt::format("{}", fmt::join(cards, "; "))};
}

}  // namespace annulus
