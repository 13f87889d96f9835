// The frame rate that iteration counts at an initiation interval of 1 predict for a card. No more than that:
// nothing here was measured on hardware, and what memories, PCIe and the host lose beside their bandwidth is
// not in it.
#pragma once

#include <tools/cycles/card.hpp>
#include <tools/cycles/cycle_report.hpp>

#include <string>
#include <vector>

namespace annulus {

inline constexpr const char* kPredictionLabel = "prediction from iteration counts at II = 1, not measured";

struct RateLimit {
  std::string name;    // "kernel", "memory" or "pcie"
  std::string reason;  // what exactly is full
  double frames_per_second = 0;
};

struct Prediction {
  double clock_mhz = 0;
  std::vector<RateLimit> limits;

  // The lowest: the prediction.
  const RateLimit& limit() const;
};

// Frames are shared evenly among the compute units, and a port's buffers among its banks. Bytes that cross
// PCIe pass their bank twice: once for the host, once for the kernel. Throws kUsage if the card lacks the
// kernel, connects a port that the kernel does not have, or leaves one unconnected.
Prediction predict(const CycleReport& report, const Card& card, double clock_mhz);

}  // namespace annulus
