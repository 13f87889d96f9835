#include <tools/bench/measure.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace annulus {
namespace {

// Between samples: the value below which `share` of them lie.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

Statistics statistics_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double median = quantile(seconds, 0.5);
  const double between_quartiles = quantile(seconds, 0.75) - quantile(seconds, 0.25);
  return {median, seconds.front(), median > 0 ? between_quartiles / median : 0};
}

std::vector<Figure> measure(const std::vector<Candidate>& candidates, unsigned rounds,
                            const BeforeRun& before_run) {
  std::vector<Figure> figures;
  for (const Candidate& candidate : candidates) {
    figures.push_back({candidate.bench, candidate.parameters, candidate.work, {}});
    std::vector<double> warm_up;
    before_run();
    candidate.run(warm_up);
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < candidates.size(); ++turn) {
      const std::size_t which = (round + turn) % candidates.size();
      before_run();
      candidates[which].run(figures[which].seconds);
    }
  }
  return figures;
}

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace annulus
