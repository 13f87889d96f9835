// How times are taken: candidates in turn, round after round, so that a machine that is busy for a while is
// slow for all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace annulus {

// What one sample is the time of; 0 where a number means nothing.
struct Work {
  std::uint64_t frames = 0;
  std::uint64_t pixels = 0;
  std::uint64_t bytes = 0;
};

// In what a candidate differs from the others, by name and in order.
using Parameters = std::vector<std::pair<std::string, std::variant<std::uint64_t, std::string>>>;

// Something to be timed. It appends its samples, in seconds, and prepares outside of them what is not meant.
struct Candidate {
  std::string bench;
  Parameters parameters;
  Work work;  // of each sample
  std::function<void(std::vector<double>& seconds)> run;
};

struct Figure {
  std::string bench;
  Parameters parameters;
  Work work;
  std::vector<double> seconds;  // samples, in the order they were taken
};

// Called before each run; what it throws ends the measurement.
using BeforeRun = std::function<void()>;

// Every candidate once to warm up, then `rounds` times in turn; each round begins with another one.
std::vector<Figure> measure(const std::vector<Candidate>& candidates, unsigned rounds,
                            const BeforeRun& before_run);

// Of at least one sample.
struct Statistics {
  double median = 0;
  double minimum = 0;
  double spread = 0;  // distance of the quartiles, relative to the median
};
Statistics statistics_of(std::vector<double> seconds);

// Seconds that a call takes.
double seconds_of(const std::function<void()>& call);

}  // namespace annulus
