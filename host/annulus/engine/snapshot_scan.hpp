// Polar images of a scan, wherever they come from: cakes that a backend makes of frames, or files of them.
#pragma once

#include <annulus/engine/correlate_config.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/engine/scan_plan.hpp>
#include <annulus/fxs/snapshot_correlator.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

// Who takes them. One thread calls it.
class SnapshotTaker {
 public:
  virtual ~SnapshotTaker() = default;

  // In the order of the scan.
  virtual void take(std::span<const PolarSnapshot> snapshots) = 0;

  // Now and then, also where nothing comes.
  virtual void look_at_clock() {}
};

class SnapshotScan {
 public:
  // Opens the inputs and makes the plan, if there is one. Throws as make_scan_plan() does.
  SnapshotScan(const CorrelateConfig& config, std::stop_token stop);

  FrameStream& stream() const { return *stream_; }
  const ScanPlan& plan_of_scan() const { return scan_; }  // without a plan if images are polar
  const std::vector<std::string>& urls() const { return urls_; }
  const IntegrateConfig& reduction() const { return reduction_; }
  PolarShape shape() const { return {radial_.bins(), angles_}; }
  const Axis& radial() const { return radial_; }
  PolarOrder order() const { return config_.polar ? PolarOrder::kByRing : PolarOrder::kByAngle; }

  // What `legendre` means for these rings, if it was given. Throws kUsage.
  std::optional<LegendreChoice> legendre() const;

  // Makes the backend ready, before any output is touched. Throws kBackend.
  void load();

  // As reduce() does. What `taker` throws passes, after all that it took before.
  ReductionSummary run(SnapshotTaker& taker, std::stop_token stop,
                       const std::function<void(const ReductionProgress&)>& on_progress = {});

 private:
  void open_polar(const std::stop_token& stop);
  void open_frames(const std::stop_token& stop);
  ReductionSummary run_polar(SnapshotTaker& taker, const std::stop_token& stop,
                             const std::function<void(const ReductionProgress&)>& on_progress);

  const CorrelateConfig config_;
  IntegrateConfig reduction_;
  ScanPlan scan_;
  std::unique_ptr<FrameStream> polar_stream_;
  FrameStream* stream_ = nullptr;
  std::vector<std::string> urls_;
  Axis radial_;
  std::size_t angles_ = 0;
  std::unique_ptr<Backend> backend_;
  StoredFrames names_;  // of sources
};

}  // namespace annulus
