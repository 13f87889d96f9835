// Tomography of arrays in files, for tests and measurements in Python: tomography_tool key=value...
//
// angles, sinogram: files of doubles (radians) and floats ([angle][position][bin]); tomogram: the file to
// write, floats [y][x][bin]. bins, axis, and whatever else of FbpOptions is not as it should be by itself.
// Prints the seconds that the reconstruction took, `repeat` times.
#include <annulus/core/error.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>

#include <fmt/core.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace annulus {
namespace {

using Arguments = std::map<std::string, std::string>;

std::string argument(const Arguments& arguments, const std::string& key, const std::string& otherwise) {
  const auto found = arguments.find(key);
  return found == arguments.end() ? otherwise : found->second;
}

template <typename Vector>
Vector read_array(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error(ErrorKind::kInput, path, "cannot be read");
  Vector values(static_cast<std::size_t>(file.tellg()) / sizeof(typename Vector::value_type));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(typename Vector::value_type)));
  return values;
}

FbpOptions options_of(const Arguments& arguments) {
  FbpOptions options;
  options.filter = filter_from_name(argument(arguments, "filter", "ramp")).value();
  options.weighting = argument(arguments, "weighting", "spacing") == "equal" ? AngleWeighting::kEqual
                                                                             : AngleWeighting::kSpacing;
  options.interpolation = argument(arguments, "interpolation", "linear") == "band-limited"
                              ? Interpolation::kBandLimited
                              : Interpolation::kLinear;
  const std::string way = argument(arguments, "way", "");
  for (const FbpWay each : {FbpWay::kDirect, FbpWay::kFourier, FbpWay::kOpenCl}) {
    if (way == name_of(each)) options.way = each;
  }
  options.size = std::stoul(argument(arguments, "size", "0"));
  options.threads = static_cast<unsigned>(std::stoul(argument(arguments, "threads", "0")));
  options.instruction_set = instruction_set_from_name(argument(arguments, "instruction_set",
                                                               std::string(name_of(best_instruction_set()))))
                                .value();
  return options;
}

void run(const Arguments& arguments) {
  ScanGeometry scan;
  scan.angles = read_array<std::vector<double>>(arguments.at("angles"));
  Sinogram sinogram;
  sinogram.values = read_array<LargeVector<float>>(arguments.at("sinogram"));
  sinogram.bins = std::stoul(arguments.at("bins"));
  sinogram.angles = scan.angles.size();
  scan.positions = sinogram.positions = sinogram.values.size() / sinogram.angles / sinogram.bins;
  scan.axis = std::stod(arguments.at("axis"));
  const FilteredBackProjection reconstruction(scan, options_of(arguments));
  Tomogram tomogram(reconstruction.size(), sinogram.bins);
  for (int left = std::stoi(argument(arguments, "repeat", "1")); left > 0; --left) {
    const auto begin = std::chrono::steady_clock::now();
    reconstruction.reconstruct(sinogram.view(), tomogram.view());
    fmt::print("{}\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ofstream file(arguments.at("tomogram"), std::ios::binary);
  file.write(reinterpret_cast<const char*>(tomogram.values.data()),
             static_cast<std::streamsize>(tomogram.values.size() * sizeof(float)));
  if (!file) throw Error(ErrorKind::kOutput, arguments.at("tomogram"), "cannot be written");
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
    fmt::print(stderr, "tomography_tool: {}\n", error.what());
    return 1;
  }
  return 0;
}
