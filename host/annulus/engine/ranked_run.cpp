#include <annulus/backends/registry.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/sha256.hpp>
#include <annulus/engine/ranked_run.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace annulus {
namespace {

// After this many seconds, those who wait for others to stop are told who does not come.
constexpr double kPatience = 0.3;

nlohmann::json to_json(const PartSummary& part) {
  const ReductionSummary& summary = part.summary;
  nlohmann::json json = {{"frames", summary.frames},
                         {"bad", summary.bad},
                         {"payload_bytes", summary.payload_bytes},
                         {"pixels", summary.pixels},
                         {"interrupted", summary.interrupted},
                         {"failed", part.failed},
                         {"aborted", part.aborted},
                         {"wall_seconds", summary.wall_seconds},
                         {"read_seconds", summary.read_seconds},
                         {"reduce_seconds", summary.reduce_seconds},
                         {"write_seconds", summary.write_seconds},
                         {"warnings", part.warnings}};
  if (const auto& fault = summary.first_fault) {
    json["fault"] = {{"kind", static_cast<int>(fault->kind())},
                     {"where", fault->where()},
                     {"fault", fault->fault()},
                     {"cure", fault->cure()}};
  }
  return json;
}

std::vector<std::byte> as_bytes(const nlohmann::json& json) {
  const std::vector<std::uint8_t> packed = nlohmann::json::to_cbor(json);
  const auto bytes = std::as_bytes(std::span(packed));
  return {bytes.begin(), bytes.end()};
}

nlohmann::json from_bytes(const std::vector<std::byte>& bytes) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return nlohmann::json::from_cbor(first, first + bytes.size());
}

// Adds what another rank did.
void add(PartSummary& total, const nlohmann::json& part, const RunHooks& hooks) {
  ReductionSummary& summary = total.summary;
  summary.frames += part.at("frames").get<std::uint64_t>();
  summary.bad += part.at("bad").get<std::uint64_t>();
  summary.payload_bytes += part.at("payload_bytes").get<std::uint64_t>();
  summary.pixels += part.at("pixels").get<std::uint64_t>();
  summary.interrupted |= part.at("interrupted").get<bool>();
  total.failed |= part.at("failed").get<bool>();
  total.aborted |= part.at("aborted").get<bool>();
  summary.wall_seconds = std::max(summary.wall_seconds, part.at("wall_seconds").get<double>());
  summary.read_seconds += part.at("read_seconds").get<double>();
  summary.reduce_seconds += part.at("reduce_seconds").get<double>();
  summary.write_seconds += part.at("write_seconds").get<double>();
  for (const auto& item : part.at("warnings")) {
    const auto warning = item.get<std::string>();
    if (std::ranges::find(total.warnings, warning) != total.warnings.end()) continue;
    total.warnings.push_back(warning);
    if (hooks.warning) hooks.warning(warning);
  }
  if (summary.first_fault || !part.contains("fault")) return;
  const auto& fault = part.at("fault");
  summary.first_fault.emplace(static_cast<ErrorKind>(fault.at("kind").get<int>()),
                              fault.at("where").get<std::string>(), fault.at("fault").get<std::string>(),
                              fault.at("cure").get<std::string>());
}

}  // namespace

RankedRun::RankedRun(Ranks& ranks, const RunHooks& hooks, std::stop_token stop)
    : ranks_(ranks),
      hooks_(ranks.is_first() ? hooks : RunHooks()),
      pass_on_(std::move(stop), [&ranks] { ranks.stop_all(); }) {}

RunHooks RankedRun::hooks() {
  RunHooks ours = hooks_;
  ours.progress = [this](const ReductionProgress& now) {
    ranks_.tell({now.frames, now.bad});
    if (!hooks_.progress) return;
    const RankProgress all = ranks_.told();
    hooks_.progress({all.frames, all.bad, expected_});
  };
  return ours;
}

// Blocks are places in the list of files. Ranks that see different lists, because files still come or a node
// sees others, would skip frames and take others twice.
void RankedRun::agree_on(const SharedScan& scan) {
  Sha256 hash;
  hash.add_value(scan.expected);
  for (const std::string& file : scan.files) hash.add_array(file);
  const std::string digest = hash.finish();
  const auto ours = std::as_bytes(std::span(digest));
  // Those who cannot begin come here (do_part()), and send no digest.
  together(ranks_, [] {});
  const auto all = ranks_.gather(ours);
  together(ranks_, [&] {
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (std::ranges::equal(all[rank], ours)) continue;
      throw Error(
          ErrorKind::kInput, fmt::format("rank {} of {}", rank, all.size()),
          fmt::format(
              "sees other files than the first rank, which sees {}, or other numbers of frames in them",
              scan.files.size()),
          "start when the scan is complete, where all nodes see the same files");
    }
  });
}

Share RankedRun::share(std::function<PartPlace(const SharedScan& scan)> begin,
                       std::function<Held(const FrameId& frame)> held_elsewhere) {
  Share share;
  share.deal = [this](std::uint64_t expected) {
    expected_ = expected;
    return ranks_.deal(expected);
  };
  share.name_part = [this, begin = std::move(begin)](const SharedScan& scan) {
    begun_ = true;
    agree_on(scan);
    return begin(scan);
  };
  share.held_elsewhere = std::move(held_elsewhere);
  return share;
}

void RankedRun::do_part(const std::function<void()>& work) {
  try {
    work();
  } catch (const FailedTogether&) {
    throw;
  } catch (const Error& error) {
    // The others wait for us where they agree on the scan.
    if (!begun_) together(ranks_, [&] { throw error; });
    failure_ = error;
  }
}

void RankedRun::meet(bool failed, const std::filesystem::path& parts) {
  if (failed || failure_) ranks_.stop_all();
  const auto start = Clock::now();
  bool told = false;
  ranks_.wait_for_all([&](const std::vector<unsigned>& missing) {
    const RankProgress all = ranks_.told();
    if (hooks_.progress) hooks_.progress({all.frames, all.bad, expected_});
    if (told || seconds_since(start) < kPatience || !ranks_.stopped().stop_requested()) return;
    told = true;
    if (!hooks_.warning) return;
    const bool one = missing.size() == 1;
    hooks_.warning(fmt::format(
        "the job ends, but rank{} {} of {} {} not answer; what the ranks have stored is in {}, "
        "and the same command with `append` goes on",
        one ? "" : "s", fmt::join(missing, ", "), ranks_.size(), one ? "does" : "do", parts.string()));
  });
}

PartSummary RankedRun::gather(const PartSummary& ours) {
  const auto all = ranks_.gather(as_bytes(to_json(ours)));
  PartSummary total = ours;
  for (std::size_t rank = 1; rank < all.size(); ++rank) add(total, from_bytes(all[rank]), hooks_);
  return total;
}

std::filesystem::path real_output(const std::filesystem::path& output) {
  std::error_code unknown;
  if (!std::filesystem::is_symlink(output, unknown)) return output;
  const std::filesystem::path real = std::filesystem::canonical(output, unknown);
  return unknown ? output : real;
}

std::string device_of(const IntegrateConfig& config, const Ranks& ranks) {
  const std::string& chosen = config.backend_options.device;
  if (!chosen.empty() || ranks.local_rank() == 0) return chosen;
  const std::size_t devices = devices_of(config.backend).size();
  return devices == 0 ? chosen : std::to_string(ranks.local_rank() % devices);
}

}  // namespace annulus
