#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/clock.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/correlation/legendre.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/snapshot_scan.hpp>
#include <annulus/outputs/sink.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <utility>
#include <variant>

namespace annulus {
namespace {

// Polar images that are decoded at once: as many as have so many values, but not more than this.
constexpr std::size_t kValuesAtOnce = std::size_t{1} << 20;
constexpr std::size_t kImagesAtOnce = 512;
constexpr std::size_t kValuesPerThread = std::size_t{1} << 16;  // less is not worth a thread

// Not all integers from here on are doubles.
constexpr double kRounded = 0x1p53;

Snapshot row_of(const FrameId& id, const StoredFrames& names) {
  Snapshot row;
  row.index = place_in_scan(id).value_or(id.index);
  row.source_id = names.source_id(id);
  row.in_source = id.in_source;
  return row;
}

// Cakes go from the reduction to who takes them.
class CakeSink final : public Sink {
 public:
  CakeSink(SnapshotTaker& taker, const StoredFrames& names) : taker_(taker), names_(names) {}

  void append(const std::vector<ReducedFrame>& frames) override {
    std::vector<PolarSnapshot> snapshots;
    for (const ReducedFrame& frame : frames)
      snapshots.push_back({row_of(frame.id, names_), frame.id.source, frame.fault, frame.pattern.intensity});
    taker_.take(snapshots);
  }
  void flush() override { taker_.look_at_clock(); }
  void close() override {}

 private:
  SnapshotTaker& taker_;
  const StoredFrames& names_;
};

// Polar images that are decoded at once.
class PolarBatch {
 public:
  // The images have the shape of the first.
  PolarBatch(Shape shape, const IntegrateConfig& reduction, const StoredFrames& names)
      : shape_(shape),
        threads_(resolve_threads(reduction.backend_options.threads)),
        keep_going_(reduction.keep_going),
        names_(names) {}

  std::size_t most() const {
    return std::clamp<std::size_t>(kValuesAtOnce / std::max<std::size_t>(shape_.size(), 1), 1, kImagesAtOnce);
  }
  bool full() const { return items_.size() >= most(); }
  void add(StreamItem item) { items_.push_back(std::move(item)); }

  // False if a bad image ends the scan: those before it are handed on.
  bool hand_on(SnapshotTaker& taker, ReductionSummary& summary) {
    const std::vector<std::optional<Error>> faults = decode();
    std::vector<PolarSnapshot> snapshots;
    bool going = true;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (faults[i] && !summary.first_fault) summary.first_fault = faults[i];
      going = !faults[i] || keep_going_;
      if (!going) break;
      const auto* const bad = std::get_if<BadFrame>(&items_[i]);
      const FrameId& id = bad != nullptr ? bad->id : std::get<Frame>(items_[i]).id;
      if (bad == nullptr) summary.payload_bytes += std::get<Frame>(items_[i]).payload.size();
      if (faults[i]) {
        ++summary.bad;
        snapshots.push_back({row_of(id, names_), id.source, faults[i]->fault()});
      } else {
        summary.pixels += shape_.size();
        snapshots.push_back({row_of(id, names_), id.source, "", images_[i].pixels});
      }
    }
    const auto start = Clock::now();
    taker.take(snapshots);
    summary.write_seconds += seconds_since(start);
    summary.frames += snapshots.size();
    items_.clear();
    return going;
  }

 private:
  std::vector<std::optional<Error>> decode() {
    images_.resize(std::max(images_.size(), items_.size()));
    std::vector<std::optional<Error>> faults(items_.size());
    const auto threads = static_cast<unsigned>(
        std::min<std::size_t>(threads_, items_.size() * shape_.size() / kValuesPerThread + 1));
    parallel_ranges(items_.size(), threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) faults[i] = decode(items_[i], images_[i]);
    });
    return faults;
  }

  std::optional<Error> decode(const StreamItem& item, Image<double>& image) const {
    if (const auto* const bad = std::get_if<BadFrame>(&item)) return bad->error;
    const Frame& frame = std::get<Frame>(item);
    if (frame.shape != shape_) {
      return Error(
          ErrorKind::kInput, describe(frame),
          fmt::format("it is an image of {}, the first one of {}", to_string(frame.shape), to_string(shape_)),
          "all polar images need the same rings and angles");
    }
    try {
      image = decode_frame(frame);
    } catch (const Error& error) {
      return error;
    }
    const bool may_be_rounded = frame.type == PixelType::kI64 || frame.type == PixelType::kU64;
    if (may_be_rounded &&
        std::ranges::any_of(image.pixels, [](double v) { return std::abs(v) >= kRounded; })) {
      return Error(ErrorKind::kInput, describe(frame),
                   "it holds integers of 2^53 or more, which double precision rounds",
                   "subtract what they have in common, or store them as floats");
    }
    return std::nullopt;
  }

  const Shape shape_;
  const unsigned threads_;
  const bool keep_going_;
  const StoredFrames& names_;
  std::vector<StreamItem> items_;
  std::vector<Image<double>> images_;
};

Axis equal_rings(const IntegrationOptions& options, std::size_t rings) {
  Axis axis;
  if (!options.radial_range) {
    axis.name = "ring";
    for (std::size_t i = 0; i < rings; ++i) axis.centres.push_back(static_cast<double>(i));
    return axis;
  }
  const auto [low, high] = *options.radial_range;
  if (!(low < high) || !std::isfinite(high - low)) {
    throw Error(ErrorKind::kUsage, "`radial_range`", fmt::format("{} to {} has no width", low, high),
                "give the lower end of the first ring and the upper end of the last");
  }
  axis.name = nexus_name(options.unit);
  axis.units = nexus_units(options.unit);
  const auto place = [&, low = low, high = high](double ring) {
    return low + (high - low) * ring / static_cast<double>(rings);
  };
  for (std::size_t i = 0; i <= rings; ++i) axis.edges.push_back(place(static_cast<double>(i)));
  for (std::size_t i = 0; i < rings; ++i) axis.centres.push_back(place(static_cast<double>(i) + 0.5));
  return axis;
}

std::filesystem::path working_folder() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown);
}

// Images of floats that nobody gave a geometry for are hardly frames.
ScanPlan plan_frames(const IntegrateConfig& reduction, const std::stop_token& stop) {
  try {
    return make_scan_plan(reduction, stop);
  } catch (const Error& error) {
    if (!reduction.poni.empty() || error.kind() == ErrorKind::kInput || stop.stop_requested()) throw;
    throw Error(error.kind(), error.where(), error.fault(),
                error.cure() + "; if these are polar images [q][phi], give `polar`");
  }
}

}  // namespace

SnapshotScan::SnapshotScan(const CorrelateConfig& config, std::stop_token stop)
    : config_(config), reduction_(checked_reduction(config)), names_(working_folder()) {
  if (config_.polar) {
    open_polar(stop);
  } else {
    open_frames(stop);
  }
  check_named_once(urls_, working_folder());  // a sum cannot tell an image that came twice
}

void SnapshotScan::open_frames(const std::stop_token& stop) {
  scan_ = plan_frames(reduction_, stop);
  stream_ = scan_.stream.get();
  urls_ = scan_.urls;
  radial_ = scan_.plan->radial();
  angles_ = scan_.plan->axes.at(1).bins();
}

void SnapshotScan::open_polar(const std::stop_token& stop) {
  OpenedInputs opened = open_inputs(reduction_);
  polar_stream_ = std::move(opened.stream);
  stream_ = polar_stream_.get();
  urls_ = std::move(opened.urls);
  const Shape shape = stream_->info(stop).frames.shape;
  radial_ = equal_rings(reduction_.integration, shape.rows);
  angles_ = shape.cols;
}

std::optional<LegendreChoice> SnapshotScan::legendre() const {
  if (!config_.legendre) return std::nullopt;
  LegendreChoice choice;
  choice.highest = *config_.legendre;
  if (!config_.flat_ewald) {
    const Unit unit = reduction_.integration.unit;
    const auto wavelength = config_.polar ? config_.wavelength : scan_.plan->geometry.wavelength;
    if (!wavelength) {
      throw Error(ErrorKind::kUsage, "`legendre`", "the PONI file states no wavelength",
                  "add it to the PONI file, or give `flat_ewald`");
    }
    if (radial_.units.empty() || quantity_of(unit) == RadialQuantity::kRadius) {
      throw Error(
          ErrorKind::kUsage, "`legendre`", "the rings have no q",
          "give a `unit` of q or 2theta, and for polar images their `radial_range`; or give `flat_ewald`");
    }
    const double angstrom = config_.polar ? *wavelength : *wavelength * 1e10;
    choice.wavelength = unit == Unit::kQPerNm ? angstrom / 10 : angstrom;
    choice.q = radial_.centres;
    if (quantity_of(unit) == RadialQuantity::kTwoTheta) {
      if (choice.q.back() / scale_of(unit) > std::numbers::pi) {
        throw Error(ErrorKind::kUsage, "`radial_range`", "no ring has a 2theta of more than half a turn",
                    "give the range of the rings in the `unit` that is given");
      }
      for (double& q : choice.q)
        q = 4 * std::numbers::pi * std::sin(q / scale_of(unit) / 2) / choice.wavelength;
    }
  }
  LegendreOptions options;
  options.highest = choice.highest;
  options.wavelength = choice.wavelength;
  options.q = choice.q;
  check_legendre(shape(), options);
  return choice;
}

void SnapshotScan::load() {
  if (config_.polar) return;
  backend_ = make_backend(reduction_.backend, reduction_.backend_options);
  backend_->load({scan_.plan, reduction_.recipe});
}

ReductionSummary SnapshotScan::run(SnapshotTaker& taker, std::stop_token stop,
                                   const std::function<void(const ReductionProgress&)>& on_progress) {
  if (config_.polar) return run_polar(taker, stop, on_progress);
  ReductionSettings settings;
  settings.keep_going = reduction_.keep_going;
  settings.memory_for_frames = reduction_.memory << 20;
  settings.normalization_factor = reduction_.normalization_factor;
  const std::string monitor = parse_columns(reduction_.columns, reduction_.monitor).monitor;
  if (!monitor.empty()) settings.monitor = monitor;
  CakeSink sink(taker, names_);
  return reduce(*stream_, {scan_.plan, reduction_.recipe}, *backend_, sink, settings, stop, on_progress);
}

ReductionSummary SnapshotScan::run_polar(SnapshotTaker& taker, const std::stop_token& stop,
                                         const std::function<void(const ReductionProgress&)>& on_progress) {
  const auto start = Clock::now();
  PolarBatch batch(stream_->info(stop).frames.shape, reduction_, names_);
  stream_->read_ahead(2 * batch.most());
  ReductionSummary summary;
  const auto hand_on = [&] {
    const bool go_on = batch.hand_on(taker, summary);
    if (on_progress) on_progress({summary.frames, summary.bad, stream_->expected()});
    return go_on;
  };
  const auto next = [&] {
    try {
      return stream_->next(stop);
    } catch (const Error&) {
      hand_on();  // what came before is kept
      throw;
    }
  };
  bool going = true;
  while (going) {
    auto item = next();
    if (!item) break;
    const bool pause = std::holds_alternative<Pause>(*item);
    if (!pause) batch.add(*std::move(item));
    if (pause || batch.full()) going = hand_on();
  }
  if (going) hand_on();
  summary.interrupted = stop.stop_requested();
  summary.read_seconds = stream_->busy_seconds();
  summary.wall_seconds = seconds_since(start);
  return summary;
}

}  // namespace annulus
