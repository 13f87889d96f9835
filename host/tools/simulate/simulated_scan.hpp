// A scan that never took place, frame by frame: what the writers of its files know of it.
#pragma once

#include <annulus/core/image.hpp>
#include <annulus/geometry/geometry.hpp>

#include <tools/simulate/beamline.hpp>
#include <tools/simulate/phantom_pattern.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace annulus {

class SimulatedScan {
 public:
  virtual ~SimulatedScan() = default;

  virtual const BeamlineOptions& beamline() const = 0;
  virtual const Geometry& geometry() const = 0;
  virtual std::string title() const = 0;
  std::uint64_t frames() const { return beamline().frames; }
  Shape shape() const { return geometry().detector.shape; }

  // i < frames(). May be called from several threads at once.
  virtual Image<std::int32_t> frame(std::uint64_t i) const = 0;

  // The sample and how it was scanned, if it is a phantom; otherwise nullptr.
  virtual const PhantomPattern* phantom() const { return nullptr; }

  // What is known of the sample goes into a file beside the frames, <prefix>_<truth>.nxs; without a name
  // there is none.
  virtual std::string truth() const { return ""; }
  virtual void write_truth(const std::filesystem::path&) const {}  // throws kOutput

 protected:
  SimulatedScan() = default;
  SimulatedScan(const SimulatedScan&) = default;
  SimulatedScan& operator=(const SimulatedScan&) = default;

  // Throws kUsage for a frame that the scan does not have.
  void check_frame(std::uint64_t i) const;
};

}  // namespace annulus
