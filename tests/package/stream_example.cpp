// Integrates frames that it makes itself, with a stream and a sink of its own: stream_example scan.poni
#include <annulus/annulus.hpp>

#include <fmt/format.h>

#include <algorithm>

// Ten frames of a lamp that becomes brighter: every pixel counts 100, then 101, ...
struct Lamp : annulus::FrameStream {
  explicit Lamp(annulus::Shape shape) {
    info_.name = "lamp";
    info_.frames.shape = shape;
    info_.frames.type = annulus::PixelType::kU16;
    info_.columns = {{.name = "volt", .unit = "V"}};
    info_.count = 10;
  }

  const annulus::ScanInfo& info(std::stop_token) override { return info_; }

  std::optional<annulus::StreamItem> next(std::stop_token stop) override {
    if (stop.stop_requested() || made_ == info_.count) return std::nullopt;
    annulus::Frame frame;
    frame.id = {made_, info_.name, made_, true};
    frame.type = info_.frames.type;
    frame.shape = info_.frames.shape;
    frame.point = {0.5 * static_cast<double>(made_)};
    const std::vector<std::uint16_t> pixels(frame.shape.size(), static_cast<std::uint16_t>(100 + made_++));
    const auto bytes = std::as_bytes(std::span(pixels));
    frame.payload = annulus::Bytes({bytes.begin(), bytes.end()});
    return frame;
  }

  annulus::ScanInfo info_;
  std::uint64_t made_ = 0;
};

struct Printer : annulus::Sink {
  void append(const std::vector<annulus::ReducedFrame>& frames) override {
    for (const annulus::ReducedFrame& frame : frames) {
      fmt::print("{}: {} V, brightest bin {:.6g}\n", annulus::describe(frame.id), frame.point[0],
                 std::ranges::max(frame.pattern.intensity));
    }
  }
  void flush() override {}
  void close() override {}
};

int main(int argc, char** argv) try {
  const annulus::Geometry geometry = annulus::read_poni(argc == 2 ? argv[1] : "scan.poni");
  annulus::IntegrationOptions options;
  options.solid_angle = false;
  Lamp lamp(geometry.detector.shape);
  const annulus::Job job{std::make_shared<const annulus::Plan>(
      annulus::build_plan(geometry, options, {}, annulus::properties_of(lamp.info({}))))};
  const auto backend = annulus::make_backend("cpu");
  backend->load(job);
  Printer printer;
  annulus::reduce(lamp, job, *backend, printer);
} catch (const annulus::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
