#include <annulus/core/atomic_file.hpp>

#include <fmt/core.h>
#include <tools/simulate/scan_columns.hpp>

#include <span>

namespace annulus {
namespace {

std::vector<double> values_of(const PhantomPattern& sample, double ScanPoint::*member) {
  std::vector<double> values;
  values.reserve(sample.points().size());
  for (const ScanPoint& point : sample.points()) values.push_back(point.*member);
  return values;
}

}  // namespace

void write_columns(const std::filesystem::path& path, const PhantomPattern& sample) {
  std::string text = "frame,translation [mm],angle [deg],monitor,time [s]\n";
  for (std::uint64_t i = 0; i < sample.points().size(); ++i) {
    const ScanPoint& point = sample.points()[i];
    text += fmt::format("{},{},{},{},{}\n", i, point.translation, point.angle, sample.monitor(i), point.time);
  }
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::vector<std::pair<std::string, std::string>> header_lines(const PhantomPattern& sample,
                                                              std::uint64_t frame) {
  const ScanPoint& point = sample.points()[frame];
  return {{"Flux", fmt::format("{}", sample.monitor(frame))},
          {"Phi", fmt::format("{} deg.", point.angle)},
          {"Start_position", fmt::format("{} mm", point.translation)}};
}

void describe_columns(hid_t entry, hid_t detector, const PhantomPattern& sample, const Describer& describe) {
  const Hdf5Handle group = describe.group(entry, "sample", "NXsample");
  describe.text(group.get(), "name", "phantom " + sample.options().name);
  describe.numbers(group.get(), "x_translation", values_of(sample, &ScanPoint::translation), "mm");
  describe.numbers(group.get(), "rotation_angle", values_of(sample, &ScanPoint::angle), "deg");
  const Hdf5Handle control = describe.group(entry, "control", "NXmonitor");
  describe.text(control.get(), "mode", "timer");
  describe.number(control.get(), "preset", kFrameSeconds, "s");
  std::vector<double> monitor;
  for (std::uint64_t i = 0; i < sample.points().size(); ++i) monitor.push_back(sample.monitor(i));
  describe.numbers(control.get(), "data", monitor, nullptr);
  describe.numbers(detector, "start_time", values_of(sample, &ScanPoint::time), "s");
}

}  // namespace annulus
