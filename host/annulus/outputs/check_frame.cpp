#include <annulus/core/error.hpp>
#include <annulus/outputs/check_frame.hpp>

#include <fmt/format.h>

namespace annulus {

void check_frame(const Plan& plan, const ReducedFrame& frame) {
  const std::size_t bins = plan.bins();
  const bool bad = !frame.fault.empty();
  const auto fits = [&](std::size_t size, bool expected) { return size == (expected && !bad ? bins : 0); };
  const Accumulators& sums = frame.accumulators;
  const bool missing = !sums.missing_count.empty();
  if (fits(frame.pattern.intensity.size(), true) && fits(sums.signal.size(), true) &&
      fits(frame.pattern.error.size(), plan.has_variance()) &&
      fits(sums.variance.size(), plan.has_variance()) && fits(sums.missing_count.size(), missing) &&
      fits(sums.missing_normalization.size(), missing) &&
      fits(sums.missing_dark.size(), missing && !plan.totals.dark.empty())) {
    return;
  }
  throw Error(ErrorKind::kOutput, frame.id.source,
              fmt::format("frame {} does not have the {} bins of the plan", frame.id.in_source, bins));
}

}  // namespace annulus
