// Correlations of arrays in files, for tests and measurements in Python: correlation_tool key=value...
//
// rings, angles; images: int16 [image][q][phi], with valid: uint8 of the same shape or of one image; or
// polar: doubles [image][q][phi], NaN where masked, with subtract_mean (1) and scale (a number, or found from
// the images). Images that are rejected are named in lines "rejected <image>: <reason>". signal, mask, c2:
// files to write, each [q][q' >= q][d]; signal is int64, or float with fast=1. threads, block. legendre,
// conditions: files of doubles to write, with highest, even_only (1), wavelength and q (a file of doubles).
// Prints "scale <s>", and "seconds <t>" of each of `repeat` times that the images are correlated.
#include <annulus/core/error.hpp>
#include <annulus/correlation/correlator.hpp>
#include <annulus/correlation/fast_correlator.hpp>
#include <annulus/correlation/legendre.hpp>

#include <fmt/core.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace annulus {
namespace {

using Arguments = std::map<std::string, std::string>;

std::string argument(const Arguments& arguments, const std::string& key, const std::string& otherwise) {
  const auto found = arguments.find(key);
  return found == arguments.end() ? otherwise : found->second;
}

template <typename T>
std::vector<T> read_array(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error(ErrorKind::kInput, path, "cannot be read");
  std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

template <typename T>
void write_array(const Arguments& arguments, const std::string& key, const LargeVector<T>& values) {
  const auto path = arguments.find(key);
  if (path == arguments.end()) return;
  std::ofstream file(path->second, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file) throw Error(ErrorKind::kOutput, path->second, "cannot be written");
}

struct Input {
  PolarShape shape;
  int scale = 0;
  std::vector<std::int16_t> images;
  std::vector<std::uint8_t> valid;
};

Input quantized(const Arguments& arguments, Input input) {
  const std::vector<double> polar = read_array<double>(arguments.at("polar"));
  PolarOptions options;
  options.subtract_mean = argument(arguments, "subtract_mean", "1") == "1";
  if (arguments.contains("least_mean")) options.least_mean = std::stod(arguments.at("least_mean"));
  const auto image_of = [&](std::size_t image) {
    return std::span(polar).subspan(image * input.shape.values(), input.shape.values());
  };
  const std::size_t count = polar.size() / input.shape.values();
  ScaleFinder finder(input.shape, options);
  for (std::size_t image = 0; image < count && !finder.decided(); ++image) finder.add(image_of(image));
  input.scale = arguments.contains("scale") ? std::stoi(arguments.at("scale")) : finder.scale();
  const PolarQuantizer quantizer(input.shape, input.scale, options);
  IntegerImage integers;
  for (std::size_t image = 0; image < count; ++image) {
    if (const auto reason = quantizer.quantize(image_of(image), integers)) {
      fmt::print("rejected {}: {}\n", image, *reason);
      continue;
    }
    input.images.insert(input.images.end(), integers.values.begin(), integers.values.end());
    integers.valid.resize(integers.values.size(), 1);  // none: all are valid
    input.valid.insert(input.valid.end(), integers.valid.begin(), integers.valid.end());
  }
  return input;
}

Input read_input(const Arguments& arguments) {
  Input input;
  input.shape = {std::stoul(arguments.at("rings")), std::stoul(arguments.at("angles"))};
  input.shape.check();
  if (arguments.contains("polar")) return quantized(arguments, input);
  input.scale = std::stoi(argument(arguments, "scale", "0"));
  input.images = read_array<std::int16_t>(arguments.at("images"));
  if (arguments.contains("valid")) input.valid = read_array<std::uint8_t>(arguments.at("valid"));
  return input;
}

template <typename AnyCorrelator>
auto correlate(const Arguments& arguments, const Input& input) {
  const CorrelatorOptions options{static_cast<unsigned>(std::stoul(argument(arguments, "threads", "0"))),
                                  std::stoul(argument(arguments, "block", "0"))};
  AnyCorrelator correlator(input.shape, input.scale, options);
  for (int left = std::stoi(argument(arguments, "repeat", "1")); left > 0; --left) {
    const auto begin = std::chrono::steady_clock::now();
    correlator.add(input.images, input.valid);
    correlator.sums();
    fmt::print("seconds {}\n",
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  write_array(arguments, "signal", correlator.sums().signal);
  write_array(arguments, "mask", correlator.sums().mask);
  const auto c2 = correlator.sums().normalized();
  write_array(arguments, "c2", c2);
  return c2;
}

void run(const Arguments& arguments) {
  const Input input = read_input(arguments);
  fmt::print("scale {}\n", input.scale);
  if (argument(arguments, "fast", "0") == "1") {
    correlate<FastCorrelator>(arguments, input);
    return;
  }
  const LargeVector<double> c2 = correlate<Correlator>(arguments, input);
  if (!arguments.contains("legendre")) return;
  LegendreOptions options;
  options.highest = std::stoul(arguments.at("highest"));
  options.even_only = argument(arguments, "even_only", "1") == "1";
  options.wavelength = std::stod(argument(arguments, "wavelength", "0"));
  if (arguments.contains("q")) options.q = read_array<double>(arguments.at("q"));
  const LegendreCoefficients coefficients = legendre_coefficients(input.shape, c2, options);
  write_array(arguments, "legendre", coefficients.values);
  write_array(arguments, "conditions", coefficients.conditions);
}

}  // namespace
}  // namespace annulus

int main(int count, char** words) {
  annulus::Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    arguments[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  try {
    annulus::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "correlation_tool: {}\n", error.what());
    return 1;
  }
  return 0;
}
