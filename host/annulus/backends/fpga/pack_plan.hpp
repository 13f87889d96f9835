// A plan as the kernels read it: the table in pixel order, and the scalars of a launch (hls/layout.hpp).
#pragma once

#include <annulus/backends/fpga/sum_bounds.hpp>

#include <hls/layout.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace annulus {

struct DevicePlan {
  std::uint32_t pixels = 0;
  std::uint32_t bins = 0;
  std::uint32_t beats = 0;  // of the table
  std::uint32_t weight_bits = 0;
  std::uint32_t variance_bits = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  std::int64_t dummy_lowest = 1;
  std::int64_t dummy_highest = 0;

  std::array<std::vector<kernels::TableSlice>, kernels::kTablePorts> table;  // by port
  std::vector<kernels::Correction> corrections;                              // by pixel

  SumBounds bounds;  // for the host, which checks what comes back
};

// Throws kBackend if the kernels of this build cannot take the plan or the recipe; `backend` stands for them
// in the message.
DevicePlan pack_plan(const Plan& plan, const Recipe& recipe, const std::string& backend);

}  // namespace annulus
