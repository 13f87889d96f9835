// What the cells of a map or sinogram hold, from the integers of their frames.
//
// The integers of all good frames of a cell are added, and divided once: (S - D) / (sum of N x factor), where
// the factor is that of each frame. The sum of a window's bins goes the same way. A cell of a single frame
// has exactly the intensities that the output has.
#pragma once

#include <annulus/maps/window.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/scan/scan_grid.hpp>
#include <annulus/sources/frame_dealer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace annulus {

// Of one window in one cell; NaN where it cannot be said. With side windows the background is subtracted
// from all of them.
struct WindowValues {
  double intensity;       // of all bins of the peak, as of one
  double error;           // standard error; NaN without error model
  double centre_of_mass;  // in the unit of the radial axis
  double width;           // standard deviation about the centre of mass, in the same unit
  double maximum;         // the largest intensity of a bin
  double maximum_at;      // the centre of that bin
};

// Shapes of peaks (centre of mass, width, maximum) take a sum for each bin.
enum class WindowDetail { kIntensity, kShape };

class CellReader {
 public:
  // The file stays open as long as the reader is used. Throws kUsage for cakes.
  CellReader(const PatternFile& file, const ScanGrid& grid);
  ~CellReader();

  // How many each cell has.
  const std::vector<std::uint32_t>& good_frames() const;

  // For each cell with a good frame, once, in no certain order, from this thread. Throws kInput for what
  // cannot be read, kInterrupted once a stop is requested. `on_progress` is told the number of frames.
  using Progress = std::function<void(std::uint64_t frames)>;
  void read_patterns(BinRange bins,
                     const std::function<void(std::size_t cell, std::span<const double> intensity)>& take,
                     std::stop_token stop = {}, const Progress& on_progress = {}) const;

  // The same; with a dealer only for the cells that are dealt to us, as if they were frames of a scan.
  // Without shapes, only intensities and errors are numbers.
  void read_windows(std::span<const WindowBins> windows, WindowDetail detail,
                    const std::function<void(std::size_t cell, std::span<const WindowValues>)>& take,
                    std::stop_token stop = {}, const Progress& on_progress = {},
                    FrameDealer* dealer = nullptr) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace annulus
