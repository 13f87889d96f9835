// Small correlations of random images.
#pragma once

#include <annulus/fxs/snapshot_correlator.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace annulus {

// The images [first, first + number) of a scan, 5 rings x 12 angles each; some values of every third are
// masked.
inline Correlation sample_correlation(std::uint64_t first, std::uint64_t number, int scale = 3) {
  CorrelationRecord record;
  record.setup.shape = {5, 12};
  record.setup.scale = scale;
  record.setup.radial = {AxisKind::kRadial, "q", "1/nm", {1, 2, 3, 4, 5}, {0.5, 1.5, 2.5, 3.5, 4.5, 5.5}};
  record.origin = {"cpu", "poni", "{}", "/tmp", {{"npt", "5"}, {"threads", "2"}}};
  record.finished = true;
  SnapshotCorrelator correlator(std::move(record), PolarOrder::kByRing, {.threads = 1});
  for (std::uint64_t i = first; i < first + number; ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    std::vector<double> image(60);
    for (double& value : image) value = static_cast<double>(random() % 1000) / 10;
    if (i % 3 == 0) image[random() % 60] = std::numeric_limits<double>::quiet_NaN();
    if (i % 7 == 6) image[0] = 1e9;  // too large
    PolarSnapshot snapshot;
    snapshot.row.index = i;
    snapshot.row.source_id = {2 * (i / 4), 1};
    snapshot.row.in_source = i % 4;
    snapshot.source = "file_" + std::to_string(i / 4);
    if (i % 11 == 10) {
      snapshot.fault = "it is damaged";
    } else {
      snapshot.values = image;
    }
    correlator.add({&snapshot, 1});
  }
  return correlator.take();
}

}  // namespace annulus
