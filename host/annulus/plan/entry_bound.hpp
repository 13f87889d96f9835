// How large a plan's matrix may become, so that bins far finer than pixels end in a message and not in the
// machine's last memory. Used by build_plan only.
#pragma once

#include <annulus/plan/plan.hpp>
#include <annulus/plan/splitting.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// Entries take 8 bytes each, and twice that while the plan is made. Bins of the size of pixels need up to
// about ten per pixel; small detectors may have finer ones.
std::uint64_t max_entries(const Plan& plan);

// Throws kPlan, naming the options that give the number of bins.
[[noreturn]] void refuse_entries(const Plan& plan, std::uint64_t entries);

// Throws kPlan if the pixels that `excluded` lets through have more than max_entries shares. Looks at them
// only if there are so many bins that it may come to that.
void check_entries(const Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                   unsigned threads);

}  // namespace annulus
