#include "bench_text.hpp"

#include <annulus/engine/enum_names.hpp>
#include <annulus/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace annulus::app {
namespace {

using Json = nlohmann::ordered_json;

// What follows from the median; none where the work has no such number.
struct WorkRates {
  std::optional<double> frames_per_second;
  std::optional<double> nanoseconds_per_pixel;
  std::optional<double> gigabytes_per_second;
};

WorkRates rates_of(const Work& work, double seconds) {
  WorkRates rates;
  if (!(seconds > 0)) return rates;
  if (work.frames > 0) rates.frames_per_second = static_cast<double>(work.frames) / seconds;
  if (work.pixels > 0) rates.nanoseconds_per_pixel = seconds * 1e9 / static_cast<double>(work.pixels);
  if (work.bytes > 0) rates.gigabytes_per_second = static_cast<double>(work.bytes) / 1e9 / seconds;
  return rates;
}

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string text_of(const Parameters::value_type& parameter) {
  return std::visit([&](const auto& value) { return fmt::format("{} {}", parameter.first, value); },
                    parameter.second);
}

std::string label_of(const Figure& figure) {
  std::vector<std::string> parts;
  for (const auto& parameter : figure.parameters) parts.push_back(text_of(parameter));
  return fmt::format("{}", fmt::join(parts, ", "));
}

template <typename List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(name_of(item));
  return names;
}

double bytes_a_pixel(const BenchReport& report) {
  return static_cast<double>(report.payload_bytes) /
         static_cast<double>(report.frames_in_memory * report.shape.size());
}

std::string heading(const BenchReport& report) {
  const Machine& machine = report.machine;
  std::string text =
      fmt::format("annulus {} on {}, {} cores, {}; load {:.1f} before\n", kVersion,
                  machine.processor.empty() ? "a processor without a name" : machine.processor, machine.cores,
                  fmt::join(names_of(machine.instruction_sets), ", "), machine.load);
  text += fmt::format("{}{}: {}, {} frames in memory, {:.3f} bytes per pixel; {} bins, {}, medians of {}\n",
                      report.subject, report.simulated ? " (simulated)" : "", to_string(report.shape),
                      report.frames_in_memory, bytes_a_pixel(report), report.options.config.integration.bins,
                      name_of(report.options.config.integration.splitting), report.options.rounds);
  text += "times are of a frame, or of the whole where there are none; spread: between quartiles\n";
  return text;
}

std::string row(const Figure& figure) {
  const Statistics statistics = statistics_of(figure.seconds);
  const WorkRates rates = rates_of(figure.work, statistics.median);
  const double items = static_cast<double>(std::max<std::uint64_t>(1, figure.work.frames));
  return fmt::format("  {:<64}{:>10.4f}{:>10.4f}{:>7.1f} %{:>11}{:>9}{:>8}\n", label_of(figure),
                     statistics.median * 1e3 / items, statistics.minimum * 1e3 / items,
                     statistics.spread * 100, cell(rates.frames_per_second, 1),
                     cell(rates.nanoseconds_per_pixel, 3), cell(rates.gigabytes_per_second, 2));
}

Json machine_json(const Machine& machine) {
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"instruction_sets", names_of(machine.instruction_sets)},
          {"cache_bytes", {machine.cache_level1, machine.cache_level2, machine.cache_level3}},
          {"load_before", machine.load}};
}

Json figure_json(const Figure& figure) {
  const Statistics statistics = statistics_of(figure.seconds);
  const WorkRates rates = rates_of(figure.work, statistics.median);
  Json json;
  json["bench"] = figure.bench;
  json["parameters"] = Json::object();
  for (const auto& [name, value] : figure.parameters)
    std::visit([&, &key = name](const auto& held) { json["parameters"][key] = held; }, value);
  json["frames"] = figure.work.frames;
  json["pixels"] = figure.work.pixels;
  json["bytes"] = figure.work.bytes;
  json["seconds"] = {
      {"median", statistics.median}, {"minimum", statistics.minimum}, {"spread", statistics.spread}};
  if (rates.frames_per_second) json["frames_per_second"] = *rates.frames_per_second;
  if (rates.nanoseconds_per_pixel) json["nanoseconds_per_pixel"] = *rates.nanoseconds_per_pixel;
  if (rates.gigabytes_per_second) json["gigabytes_per_second"] = *rates.gigabytes_per_second;
  json["samples"] = figure.seconds;
  return json;
}

}  // namespace

std::string to_text(const BenchReport& report) {
  std::string text = heading(report);
  std::string_view bench;
  for (const Figure& figure : report.figures) {
    if (figure.bench != bench) {
      bench = figure.bench;
      text += fmt::format("\n{}: {}\n", bench, bench_title(bench));
      text += fmt::format("  {:<64}{:>10}{:>10}{:>9}{:>11}{:>9}{:>8}\n", "", "median ms", "min ms", "spread",
                          "frames/s", "ns/pixel", "GB/s");
    }
    text += row(figure);
  }
  return text;
}

Json to_json(const BenchReport& report) {
  const IntegrationOptions& integration = report.options.config.integration;
  Json json;
  json["version"] = kVersion;
  json["machine"] = machine_json(report.machine);
  json["subject"] = {{"name", report.subject},
                     {"simulated", report.simulated},
                     {"shape", {report.shape.rows, report.shape.cols}},
                     {"pixels", report.shape.size()},
                     {"frames_in_memory", report.frames_in_memory},
                     {"payload_bytes", report.payload_bytes},
                     {"bytes_per_pixel", bytes_a_pixel(report)}};
  json["plan"] = {{"bins", integration.bins},
                  {"unit", name_of(integration.unit)},
                  {"split", name_of(integration.splitting)}};
  json["rounds"] = report.options.rounds;
  json["usual"] = {{"instruction_set", name_of(report.options.instruction_sets.back())},
                   {"threads", std::ranges::max(report.options.threads)},
                   {"batch", report.usual_batch}};
  json["figures"] = Json::array();
  for (const Figure& figure : report.figures) json["figures"].push_back(figure_json(figure));
  return json;
}

}  // namespace annulus::app
