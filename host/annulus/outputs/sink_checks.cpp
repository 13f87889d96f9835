#include <annulus/core/error.hpp>
#include <annulus/outputs/sink_checks.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {

void check_frame(const Job& job, const ReducedFrame& frame) {
  const std::size_t bins = job.plan->bins();
  const bool bad = !frame.fault.empty();
  const auto fits = [&](std::size_t size, bool expected) { return size == (expected && !bad ? bins : 0); };
  const bool lacks_pixels = frame.sums.has(Quantity::kMissingCount);
  const std::vector<Quantity> wanted = job.quantities();
  bool complete = fits(frame.pattern.intensity.size(), true) &&
                  fits(frame.pattern.error.size(), job.recipe.has_variance());
  for (const Quantity quantity : all_quantities()) {
    const bool expected = std::ranges::count(wanted, quantity) > 0 && (lacks_pixels || !is_missing(quantity));
    const std::size_t words = frame.sums.words(quantity);
    complete = complete && words <= (is_missing(quantity) ? 1 : most_words(job.plan->pixel_type)) &&
               fits(frame.sums[quantity].size() / words, expected);
  }
  if (complete) return;
  throw Error(ErrorKind::kOutput, frame.id.source,
              fmt::format("frame {} does not have the {} bins of the plan", frame.id.in_source, bins));
}

void check_output_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  throw Error(ErrorKind::kOutput, file.string(), fmt::format("the folder {} does not exist", folder.string()),
              "create it, or choose another place");
}

}  // namespace annulus
