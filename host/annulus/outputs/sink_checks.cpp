#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/sink_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace annulus {

void check_frame(const Job& job, const ReducedFrame& frame, std::size_t columns) {
  const std::size_t bins = job.plan->bins();
  const bool bad = !frame.fault.empty();
  const bool has_sums = !bad || std::isnan(frame.normalization);
  const auto fits = [&](std::size_t size, bool expected) { return size == (expected ? bins : 0); };
  const bool lacks_pixels = frame.sums.has(Quantity::kMissingCount);
  const std::vector<Quantity> wanted = job.quantities();
  bool complete = std::ranges::all_of(layout::kCurves, [&](const layout::Curve& curve) {
    return fits((frame.pattern.*curve.values).size(), !bad && curve.is_made(job.recipe));
  });
  for (const Quantity quantity : all_quantities()) {
    const bool expected =
        has_sums && std::ranges::count(wanted, quantity) > 0 && (lacks_pixels || !is_missing(quantity));
    const std::size_t words = frame.sums.words(quantity);
    complete = complete && words <= most_words(job.plan->pixel_type, quantity) &&
               fits(frame.sums[quantity].size() / words, expected);
  }
  if (!complete) {
    throw Error(ErrorKind::kOutput, frame.id.source,
                fmt::format("frame {} does not have the {} bins of the plan", frame.id.in_source, bins));
  }
  if (frame.point.size() == columns || (bad && frame.point.empty())) return;
  throw Error(ErrorKind::kOutput, frame.id.source,
              fmt::format("frame {} has {} values, and the scan has {} columns", frame.id.in_source,
                          frame.point.size(), columns));
}

void check_columns(const std::filesystem::path& output, const std::vector<ColumnInfo>& columns) {
  std::set<std::string> names;
  for (const ColumnInfo& column : columns) {
    const std::string& name = column.name;
    const bool usable =
        !name.empty() && name != "." && name.find('/') == std::string::npos && to_utf8(name) == name;
    if (usable && names.insert(name).second) continue;
    throw Error(ErrorKind::kOutput, output.string(),
                fmt::format("a column cannot be called {}{}", in_quotes(name), usable ? ": another is" : ""),
                "give every column a name of its own, without slashes");
  }
}

void check_output_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  throw Error(ErrorKind::kOutput, file.string(), fmt::format("the folder {} does not exist", folder.string()),
              "create it, or choose another place");
}

}  // namespace annulus
