#include "summary.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "option_names.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

struct ScanRates {
  double frames_per_second = 0;
  double megapixels_per_second = 0;
  double gigabytes_per_second = 0;
};

ScanRates rates_of(const ReductionSummary& summary) {
  if (!(summary.wall_seconds > 0)) return {};
  return {static_cast<double>(summary.frames) / summary.wall_seconds,
          static_cast<double>(summary.pixels) / 1e6 / summary.wall_seconds,
          static_cast<double>(summary.payload_bytes) / 1e9 / summary.wall_seconds};
}

const char* origin_of_plan(const RunReport& report) { return report.plan_loaded ? "loaded" : "built"; }

// Stages overlap, so they may add up to more than the scan took.
std::string profile_table(const RunReport& report) {
  const auto frames = static_cast<double>(std::max<std::uint64_t>(report.summary.frames, 1));
  double total = 0;
  for (const StageTime& stage : report.profile) total += stage.seconds;
  std::string text =
      fmt::format("{:<18}{:>8}{:>12}{:>9}{:>10}\n", "stage", "calls", "ms/frame", "share", "GB/s");
  for (const StageTime& stage : report.profile) {
    const double share = total > 0 ? 100 * stage.seconds / total : 0;
    text += fmt::format("{:<18}{:>8}{:>12.3f}{:>8.1f}%", stage.name, stage.calls,
                        stage.seconds / frames * 1e3, share);
    if (stage.bytes > 0 && stage.seconds > 0) {
      text += fmt::format("{:>10.2f}", static_cast<double>(stage.bytes) / 1e9 / stage.seconds);
    }
    text += "\n";
  }
  text += fmt::format("{:<18}{:>8}{:>12.3f}\n", "all stages", "", total / frames * 1e3);
  return text;
}

// What a wrong unit, calibration or mask would show in.
std::string integrated(const RunReport& report) {
  const Plan& plan = *report.plan;
  std::string text = fmt::format("integrated: {} from {:.5g} to {:.5g}", name_of(plan.options.unit),
                                 plan.radial().edges.front(), plan.radial().edges.back());
  if (plan.geometry.wavelength) text += fmt::format(", wavelength {:g} m", *plan.geometry.wavelength);
  text += fmt::format(", distance {:g} m, ", plan.geometry.distance);
  text += report.masks.empty() ? "no mask"
                               : on_one_line(fmt::format("mask: {}", fmt::join(report.masks, " and ")));
  return text + fmt::format(", {} of {} pixels\n", pixels_in_use(plan), plan.pixels());
}

std::string columns_line(const RunReport& report) {
  std::string text;
  for (const ColumnInfo& column : report.columns) {
    text += fmt::format("{}{}", text.empty() ? "columns: " : ", ", column.name);
    if (!column.unit.empty()) text += fmt::format(" ({})", column.unit);
  }
  if (!report.monitor.empty()) text += fmt::format("; normalised by {}", report.monitor);
  return on_one_line(text) + "\n";
}

}  // namespace

std::string to_text(const RunReport& report) {
  const ReductionSummary& summary = report.summary;
  const ScanRates rates = rates_of(summary);
  std::string text;
  text += fmt::format("{} frames in {:.2f} s: {:.1f} frames/s, {:.0f} Mpixel/s, {:.3f} GB/s of payload\n",
                      summary.frames, summary.wall_seconds, rates.frames_per_second,
                      rates.megapixels_per_second, rates.gigabytes_per_second);
  if (summary.bad > 0) text += fmt::format("{} of them are bad and recorded as NaN\n", summary.bad);
  if (report.already_stored > 0) {
    text += fmt::format("{} frames were in the output already and are left out", report.already_stored);
    if (report.already_bad > 0) text += fmt::format("; {} of these are recorded as bad", report.already_bad);
    text += "\n";
  }
  text += fmt::format(
      "time: plan {:.2f} s, read {:.2f} s, decode and integrate {:.2f} s (both added up over threads), "
      "write {:.2f} s, total {:.2f} s\n",
      report.plan_seconds, summary.read_seconds, summary.reduce_seconds, summary.write_seconds,
      report.total_seconds);
  text += integrated(report);
  text += fmt::format("plan: {} bins, {} bits, backend {}, hash {:.12}, {}\n", bins_in_words(*report.plan),
                      report.plan->weight_bits, report.backend, report.plan->hash, origin_of_plan(report));
  text += fmt::format("frames from {}\n", on_one_line(report.frames_from));
  if (!report.columns.empty()) text += columns_line(report);
  for (const auto& [what, said] : report.from_file)
    text += fmt::format("{} from {}\n", what, on_one_line(said));
  if (!report.profile.empty()) text += profile_table(report);
  text += fmt::format("written: {}\n", on_one_line(report.output.string()));
  return text;
}

nlohmann::ordered_json to_json(const RunReport& report) {
  const ReductionSummary& summary = report.summary;
  const ScanRates rates = rates_of(summary);
  nlohmann::ordered_json json;
  json["frames"] = summary.frames;
  json["bad_frames"] = summary.bad;
  json["already_stored"] = report.already_stored;
  json["already_bad"] = report.already_bad;
  json["interrupted"] = summary.interrupted;
  if (summary.first_fault) json["first_fault"] = in_our_words(summary.first_fault->what());
  json["frames_per_second"] = rates.frames_per_second;
  json["megapixels_per_second"] = rates.megapixels_per_second;
  json["payload_gigabytes_per_second"] = rates.gigabytes_per_second;
  json["payload_bytes"] = summary.payload_bytes;
  json["seconds"] = {{"plan", report.plan_seconds},          {"scan", summary.wall_seconds},
                     {"read_threads", summary.read_seconds}, {"reduce_threads", summary.reduce_seconds},
                     {"write", summary.write_seconds},       {"total", report.total_seconds}};
  const Plan& plan = *report.plan;
  json["integrated"] = {{"unit", name_of(plan.options.unit)},
                        {"range", {plan.radial().edges.front(), plan.radial().edges.back()}},
                        {"distance", plan.geometry.distance},
                        {"masks", report.masks}};
  if (plan.geometry.wavelength) json["integrated"]["wavelength"] = *plan.geometry.wavelength;
  json["warnings"] = nlohmann::ordered_json::array();
  for (const std::string& warning : report.warnings) json["warnings"].push_back(in_our_words(warning));
  json["plan"] = {{"hash", report.plan->hash},
                  {"origin", origin_of_plan(report)},
                  {"bins", report.plan->bins()},
                  {"pixels", report.plan->pixels()},
                  {"pixels_in_use", pixels_in_use(*report.plan)},
                  {"weight_bits", report.plan->weight_bits},
                  {"max_count", report.plan->validity.max_count}};
  if (const auto& axes = report.plan->axes; axes.size() > 1) {
    json["plan"]["shape"] = {axes[1].bins(), axes[0].bins()};
  }
  json["frames_from"] = report.frames_from;
  for (const auto& [what, said] : report.from_file) json["from_file"][what] = said;
  for (const ColumnInfo& column : report.columns)
    json["columns"][column.name] = {{"unit", column.unit}, {"origin", column.origin}};
  if (!report.monitor.empty()) json["monitor"] = report.monitor;
  json["backend"] = report.backend;
  if (!report.profile.empty()) {
    auto& stages = json["profile"] = nlohmann::ordered_json::array();
    for (const StageTime& stage : report.profile) {
      stages.push_back({{"stage", stage.name},
                        {"calls", stage.calls},
                        {"seconds", stage.seconds},
                        {"bytes", stage.bytes}});
    }
  }
  json["output"] = report.output.string();
  return json;
}

}  // namespace annulus::app
