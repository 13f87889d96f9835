#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/backends/opencl/batch.hpp>
#include <annulus/backends/opencl/block_table.hpp>
#include <annulus/backends/opencl/opencl_backend.hpp>
#include <annulus/backends/opencl/tuning.hpp>
#include <annulus/codecs/band_decoder.hpp>
#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>

namespace annulus {
namespace {

constexpr const char* kOpenClName = "opencl";

// Threads that give a device frames: while the kernels of one run, another packs and sends.
constexpr unsigned kThreadsADevice = 2;

constexpr std::size_t kLongestCode = 15;

// What the CPU says about a payload that does not decode; empty if it finds nothing wrong.
std::string words_for(const Frame& frame) {
  BandDecoder decoder(frame, best_instruction_set());
  std::vector<std::int32_t> some(4096);
  for (std::size_t done = 0; done < frame.shape.size();) {
    const std::size_t count = std::min(some.size(), frame.shape.size() - done);
    if (!decoder.next(std::span(some).first(count))) return decoder.fault();
    done += count;
  }
  return decoder.finish() ? std::string() : decoder.fault();
}

// Whether the payload's sizes alone say that it cannot decode; such frames are not sent.
bool has_impossible_sizes(const Frame& frame) {
  const std::size_t bytes = frame.payload.size();
  const std::size_t pixels = frame.shape.size();
  if (frame.codec == Codec::kRaw) return bytes != pixels * size_of(frame.type);
  if (frame.codec == Codec::kBitshuffleLz4 || frame.codec == Codec::kLz4) return !opencl::find_blocks(frame);
  return frame.codec == Codec::kByteOffset && (bytes < pixels || bytes / kLongestCode > pixels);
}

class OpenClReducer final : public BatchReducer {
 public:
  explicit OpenClReducer(std::shared_ptr<const opencl::Session> session) : batch_(std::move(session)) {}

  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override {
    std::vector<FrameResult> results(frames.size());
    std::vector<Frame> decoded(frames.size());  // those that only the host can decode
    std::map<Codec, std::vector<std::size_t>> by_codec;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      results[i].id = frames[i].id;
      decoded[i] = frames[i];
      if (has_impossible_sizes(frames[i])) {
        set_fault(frames[i], results[i]);
        continue;
      }
      if (!opencl::decodes_on_device(frames[i].codec)) {
        try {
          decoded[i] = decode_blocks(frames[i]);
        } catch (const Error&) {
          set_fault(frames[i], results[i]);
          continue;
        }
      }
      by_codec[decoded[i].codec].push_back(i);
    }
    for (const auto& [codec, numbers] : by_codec) {
      std::vector<const Frame*> launched;
      for (const std::size_t i : numbers) launched.push_back(&decoded[i]);
      std::vector<opencl::LaneResult> sums = batch_.reduce(launched);
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        FrameResult& result = results[numbers[k]];
        if (sums[k].faulty) {
          set_fault(frames[numbers[k]], result);
        } else {
          result.outcome = std::move(sums[k].sums);
        }
      }
    }
    return results;
  }

 private:
  // The device says that a frame is bad; the words for it come from the CPU's decoder, so that they are the
  // same everywhere. A file that was changed meanwhile may look good by now, and is told apart later.
  void set_fault(const Frame& frame, FrameResult& result) const {
    std::string fault = words_for(frame);
    if (fault.empty() && frame.payload.intact()) {
      throw Error(ErrorKind::kBackend, kOpenClName,
                  fmt::format("{} does not decode on the device, but does on the CPU", describe(frame)),
                  "this is a fault of the kernels or of the driver: please report it");
    }
    if (fault.empty()) fault = "the file was changed while it was read";
    result.outcome = damaged_frame(frame, std::move(fault));
  }

  opencl::Batch batch_;
};

opencl::SessionSettings session_settings(const OpenClOptions& options) {
  check(options);
  opencl::SessionSettings settings;
  settings.memory = options.device_memory << 20;
  if (options.opencl_kernel != "auto") {
    settings.method = opencl::method_from_name(options.opencl_kernel);
    if (!settings.method) {
      throw Error(ErrorKind::kUsage, "`opencl_kernel`",
                  fmt::format("there is no '{}'", options.opencl_kernel), "auto, lanes, rows or local");
    }
  }
  // For tests: kernels that look at every index they use.
  settings.check_bounds = std::getenv("ANNULUS_OPENCL_CHECK_BOUNDS") != nullptr;
  if (options.profile) settings.profile = std::make_shared<opencl::Profile>();
  return settings;
}

std::vector<StageTime> stage_times(const opencl::Profile& profile) {
  std::vector<StageTime> times;
  for (const opencl::StageTotal& total : profile.totals()) {
    times.push_back({total.name, total.calls, total.seconds, total.bytes});
  }
  return times;
}

}  // namespace

std::unique_ptr<Backend> make_opencl_backend(const CommonOptions& common, const OpenClOptions& options) {
  return make_opencl_backend(common, session_settings(options));
}

std::unique_ptr<Backend> make_opencl_backend(const CommonOptions& common,
                                             const opencl::SessionSettings& session_settings) {
  const auto devices = opencl::select_devices(common.chosen_device());
  ThreadedSettings settings;
  settings.name = kOpenClName;
  settings.any_recipe = true;
  settings.prepare = [devices, common, wanted = session_settings](const Job& job) -> LoadedJob {
    // A reducer's turn decides about its device: one device after the other, then the first again.
    std::vector<std::shared_ptr<const opencl::Session>> turns;
    std::vector<std::pair<std::shared_ptr<const opencl::Session>, unsigned>> sessions;
    unsigned most = 0;
    for (const opencl::Device& device : devices) {
      const auto session = std::make_shared<opencl::Session>(device, job, wanted);
      opencl::tune(*session);
      sessions.emplace_back(session,
                            session->share_memory(common.threads == 0 ? kThreadsADevice : common.threads));
      most = std::max(most, sessions.back().second);
    }
    for (unsigned turn = 0; turn < most; ++turn) {
      for (const auto& [session, batches] : sessions) {
        if (turn < batches) turns.push_back(session);
      }
    }
    if (wanted.profile) wanted.profile->reset();
    const auto next = std::make_shared<std::atomic<std::size_t>>(0);
    LoadedJob loaded;
    loaded.threads = static_cast<unsigned>(turns.size());
    loaded.batch = opencl::kLanes;
    loaded.make_reducer = [turns, next] {
      return std::make_unique<OpenClReducer>(turns[next->fetch_add(1) % turns.size()]);
    };
    if (wanted.profile) loaded.profile = [profile = wanted.profile] { return stage_times(*profile); };
    return loaded;
  };
  return make_threaded_backend(std::move(settings));
}

BackendDescription describe_opencl_backend() {
  BackendDescription description{kOpenClName, false,
                                 "no OpenCL platform: install a GPU's driver, or pocl-opencl-icd for CPUs"};
  for (const auto& device : opencl::describe_devices()) {
    description.available = description.available || device.usable;
    description.devices.push_back(device.text);
  }
  if (!description.devices.empty()) {
    description.detail = fmt::format("{} device{}; Zstd is decoded on the host", description.devices.size(),
                                     description.devices.size() == 1 ? "" : "s");
  }
  return description;
}

}  // namespace annulus
