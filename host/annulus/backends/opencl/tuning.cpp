#include <annulus/backends/opencl/batch.hpp>
#include <annulus/backends/opencl/cache_folder.hpp>
#include <annulus/backends/opencl/device_fault.hpp>
#include <annulus/backends/opencl/program.hpp>
#include <annulus/backends/opencl/tuning.hpp>
#include <annulus/codecs/byte_offset.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <random>

namespace annulus::opencl {
namespace {

constexpr const char* kChoiceKind = "choice";
constexpr int kRepetitions = 3;
constexpr std::size_t kFramesOfPasses = 4;  // of recipes that look at a frame several times

// Plans of about the same size share what was measured.
std::string key_of(const Session& session) {
  const PlanNumbers& plan = session.numbers();
  const auto size = [](std::uint64_t value) { return std::bit_width(value); };
  return fmt::format("{}\n{}\n{} {} {} {} {} {} {} {} {}\n", identity_of(session.device().device),
                     kernel_source(), size(plan.pixels), size(plan.bins), size(plan.entries),
                     plan.has_variance, plan.has_dark, name_of(session.plan().pixel_type), session.unified(),
                     session.settings().memory >> 20, session.settings().check_bounds) +
         (session.settings().method ? std::string(name_of(*session.settings().method)) : "any") +
         session.job().recipe.beyond_sums();
}

// Counts of a powder pattern's kind: small, with now and then one that takes a longer code.
Frame example_frame(const Plan& plan) {
  Frame frame;
  frame.shape = plan.shape;
  frame.type = needs_quantising(plan.pixel_type) ? PixelType::kI32 : plan.pixel_type;
  frame.id.source = "example";
  std::mt19937 random(1);
  std::vector<std::int32_t> pixels(plan.pixels());
  for (std::int32_t& pixel : pixels) {
    const std::uint32_t draw = static_cast<std::uint32_t>(random());
    pixel = static_cast<std::int32_t>(draw % 64 == 0 ? (draw >> 8) % 1000 : (draw >> 8) % 16);
  }
  if (frame.type == PixelType::kI32) {
    frame.codec = Codec::kByteOffset;
    frame.payload = Bytes(encode_byte_offset(pixels));
    return frame;
  }
  std::vector<std::byte> bytes(pixels.size() * size_of(frame.type));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::int32_t small = pixels[i] % 16;
    std::memcpy(bytes.data() + i * size_of(frame.type), &small, size_of(frame.type));
  }
  frame.payload = Bytes(std::move(bytes));
  return frame;
}

class Tuner {
 public:
  // Takes ways only in which a frame of that codec has room.
  Tuner(Session& session, Codec codec)
      : session_(session), codec_(codec), frame_(example_frame(session.plan())) {
    frames_.assign(session.is_robust() ? kFramesOfPasses : kLanes, &frame_);
  }

  void consider(const Choice& choice) {
    const auto wanted = session_.settings().method;
    if (wanted && choice.method != *wanted) return;
    if (!session_.can(choice, codec_)) return;
    double seconds = 0;
    try {
      seconds = measure(choice);
    } catch (const Error& error) {  // one for which there is no room, or that this driver does not take
      fault_ = error.fault();
      return;
    }
    if (best_ && seconds >= best_seconds_) return;
    best_ = choice;
    best_seconds_ = seconds;
  }

  const std::optional<Choice>& best() const { return best_; }

  // What kept the last way that failed from being measured; empty if none failed.
  const std::string& fault() const { return fault_; }

 private:
  double measure(const Choice& choice) {
    using Clock = std::chrono::steady_clock;
    session_.take(choice);
    Batch batch(std::shared_ptr<const Session>(std::shared_ptr<void>(), &session_));
    batch.reduce(std::span(frames_).first(1));  // compiles
    double least = 0;
    for (int i = 0; i < kRepetitions; ++i) {
      const auto start = Clock::now();
      batch.reduce(frames_);
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (i == 0 || seconds < least) least = seconds;
      if (best_ && least > 1.5 * best_seconds_) break;  // hopeless
    }
    return least;
  }

  Session& session_;
  Codec codec_;
  Frame frame_;
  std::vector<const Frame*> frames_;
  std::optional<Choice> best_;
  double best_seconds_ = 0;
  std::string fault_;
};

std::optional<Choice> measure_choice(Session& session, Codec codec, std::string& fault) {
  Tuner tuner(session, codec);
  const std::uint32_t units = session.device().device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  Choice choice;
  for (const std::uint32_t items : {4 * units, units}) {
    choice.items = items;
    tuner.consider(choice);
  }
  choice = {};
  choice.method = Method::kRows;
  for (const std::uint32_t group : {256u, 64u, 16u, 1u}) {
    choice.group = group;
    tuner.consider(choice);
  }
  choice = {};
  choice.method = Method::kLocal;
  choice.items = 4 * units;
  for (const std::uint32_t group : {256u, 64u}) {
    choice.group = group;
    tuner.consider(choice);
  }
  if (!tuner.fault().empty()) fault = tuner.fault();
  if (!tuner.best()) return std::nullopt;
  for (const std::uint32_t band : {1u << 15, 1u << 18, 1u << 22}) {
    choice = *tuner.best();
    if (choice.method == Method::kRows) break;
    choice.band_pixels = band;
    tuner.consider(choice);
  }
  for (const auto& [segment, group, join] : {std::array{512u, 64u, 64u}, std::array{1024u, 8u, 1u},
                                             std::array{4096u, 8u, 1u}, std::array{256u, 64u, 256u}}) {
    choice = *tuner.best();
    choice.segment_bytes = segment;
    choice.decode_group = group;
    choice.join_group = join;
    tuner.consider(choice);
  }
  return tuner.best();
}

bool take_cached(Session& session, const std::string& key) {
  const auto cached = read_cached(kChoiceKind, key);
  if (!cached) return false;
  const auto choice = choice_from_text({reinterpret_cast<const char*>(cached->data()), cached->size()});
  if (!choice || !session.can(*choice, Codec::kRaw)) return false;
  try {
    session.take(*choice);
  } catch (const Error&) {  // less of the device is free than when it was measured
    return false;
  }
  return true;
}

void take_fastest(Session& session) {
  const std::string key = key_of(session);
  if (take_cached(session, key)) return;
  // Which codec will come is not known. One in blocks takes the most memory; if no way has room for that, a
  // way that has room for raw frames may still do.
  std::string fault;
  auto choice = measure_choice(session, Codec::kBitshuffleLz4, fault);
  if (!choice) choice = measure_choice(session, Codec::kRaw, fault);
  if (!choice) {
    throw device_fault(
        session.device(),
        "it can integrate this plan in no way: " +
            (fault.empty() ? "there is too little memory for a frame beside the plan, or for the bins"
                           : "what was tried last failed with " + fault),
        "choose another device, another `opencl_kernel` if that is given, or `backend` cpu");
  }
  session.take(*choice);
  const std::string text = to_text(*choice);
  write_cached(kChoiceKind, key, std::as_bytes(std::span(text)));
}

// Only sums can be made in several ways.
void check_method(const Session& session) {
  const auto& settings = session.settings();
  const std::optional<Method> wanted =
      settings.choice ? std::optional(settings.choice->method) : settings.method;
  if (!session.is_robust() || !wanted || *wanted == Method::kRows) return;
  throw Error(ErrorKind::kUsage, "`opencl_kernel`",
              fmt::format("'{}' cannot do {}", name_of(*wanted), session.job().recipe.beyond_sums()),
              "leave it out, or give rows");
}

}  // namespace

void tune(Session& session) {
  check_method(session);
  if (session.settings().choice) return session.take(*session.settings().choice);
  on_device(session.device(), [&] { take_fastest(session); });
}

}  // namespace annulus::opencl
