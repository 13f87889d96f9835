#include "cycle_text.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace annulus::app {
namespace {

// Bytes of a clock, as the replay has it: of all table ports, of the payload, and of all ports together.
struct BytesAClock {
  double table = 0;
  double frames = 0;
  double all_ports = 0;
};

BytesAClock bytes_a_clock(const CycleReport& report) {
  BytesAClock bytes;
  for (const PortTraffic& port : report.ports) {
    const double of_port = port.bytes_a_frame / report.clocks_a_frame;
    bytes.all_ports += of_port;
    if (port.name.starts_with("table")) bytes.table += of_port;
    if (port.name == "frames") bytes.frames += of_port;
  }
  return bytes;
}

double gigapixels_per_second(const CycleReport& report, const RateLimit& limit) {
  return limit.frames_per_second * static_cast<double>(report.pixels) / 1e9;
}

}  // namespace

std::string to_text(const CycleReport& report, const Card& card, const Prediction& prediction) {
  const double pixels = static_cast<double>(report.pixels);
  const double most = report.limiting_stage().iterations_a_frame;
  std::string text = fmt::format("{}: {} frame{} of {} pixels, {:.3f} bytes per pixel, {} bins\n\n",
                                 report.kernel, report.frames, report.frames == 1 ? "" : "s", report.pixels,
                                 report.payload_bytes_a_frame / pixels, report.bins);

  text += fmt::format("{:<18}{:>18}{:>18}\n", "stage", "iterations/frame", "once per launch");
  for (const StageCycles& stage : report.stages) {
    text += fmt::format("{:<18}{:>18.1f}{:>18.1f}{}\n", stage.name, stage.iterations_a_frame,
                        stage.iterations_a_launch, stage.iterations_a_frame == most ? "  limits" : "");
  }
  text += fmt::format("{:<18}{:>18.1f}{:>18.1f}  with the waits of stages for each other\n\n", "clocks",
                      report.clocks_a_frame, report.clocks_a_launch);

  text += fmt::format("{:<18}{:>18}{:>18}{:>18}\n", "FIFO", "elements/frame", "depth", "high-water mark");
  for (const FifoUse& fifo : report.fifos) {
    text += fmt::format("{:<18}{:>18.1f}{:>18}{:>18}\n", fifo.name, fifo.elements_a_frame, fifo.depth,
                        fifo.high_water);
  }

  const BytesAClock bytes = bytes_a_clock(report);
  text += fmt::format("\nbytes per clock: {:.1f} of the table, {:.1f} of frames, {:.1f} over all ports\n\n",
                      bytes.table, bytes.frames, bytes.all_ports);

  if (report.engines) {
    text += fmt::format(
        "decoded bytes per iteration: {:.2f} of an engine; {} engines of {} feed {:.0f} bytes per clock\n\n",
        report.engines->bytes_an_iteration, report.engines->needed(), report.engines->engines,
        report.engines->lane_bytes);
  }

  const RateLimit& limit = prediction.limit();
  for (const RateLimit& each : prediction.limits) {
    text += fmt::format("{:<8}{:>12.1f} frames/s: {}\n", each.name, each.frames_per_second, each.reason);
  }
  text += fmt::format("{}: {:.1f} frames/s, {:.3f} Gpixel/s, limited by {}\n({})\n", card.name,
                      limit.frames_per_second, gigapixels_per_second(report, limit), limit.name,
                      kPredictionLabel);
  return text;
}

nlohmann::ordered_json to_json(const CycleReport& report, const Card& card, const Prediction& prediction) {
  nlohmann::ordered_json json;
  json["label"] = kPredictionLabel;
  json["kernel"] = report.kernel;
  json["frames"] = report.frames;
  json["pixels"] = report.pixels;
  json["bins"] = report.bins;
  json["payload_bytes_per_frame"] = report.payload_bytes_a_frame;
  json["clocks_per_frame"] = report.clocks_a_frame;
  json["clocks_per_launch"] = report.clocks_a_launch;
  json["limiting_stage"] = report.limiting_stage().name;
  for (const StageCycles& stage : report.stages) {
    json["stages"].push_back({{"name", stage.name},
                              {"iterations_per_frame", stage.iterations_a_frame},
                              {"iterations_per_launch", stage.iterations_a_launch}});
  }
  for (const FifoUse& fifo : report.fifos) {
    json["fifos"].push_back({{"name", fifo.name},
                             {"elements_per_frame", fifo.elements_a_frame},
                             {"depth", fifo.depth},
                             {"high_water_mark", fifo.high_water}});
  }
  for (const PortTraffic& port : report.ports) {
    json["ports"].push_back({{"name", port.name}, {"bytes_per_frame", port.bytes_a_frame}});
  }
  const BytesAClock bytes = bytes_a_clock(report);
  json["bytes_per_clock"] = {
      {"table", bytes.table}, {"frames", bytes.frames}, {"all_ports", bytes.all_ports}};
  if (report.engines) {
    json["engines"] = {{"count", report.engines->engines},
                       {"bytes_per_iteration", report.engines->bytes_an_iteration},
                       {"lane_bytes", report.engines->lane_bytes},
                       {"needed", report.engines->needed()}};
  }
  const RateLimit& limit = prediction.limit();
  json["prediction"] = {{"card", card.name},
                        {"clock_mhz", prediction.clock_mhz},
                        {"compute_units", card.kernels.at(report.kernel).compute_units},
                        {"frames_per_second", limit.frames_per_second},
                        {"gigapixels_per_second", gigapixels_per_second(report, limit)},
                        {"limited_by", limit.name}};
  for (const RateLimit& each : prediction.limits) {
    json["prediction"]["limits"].push_back(
        {{"name", each.name}, {"frames_per_second", each.frames_per_second}, {"reason", each.reason}});
  }
  return json;
}

}  // namespace annulus::app
