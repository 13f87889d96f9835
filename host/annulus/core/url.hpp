// How frames are named: "scan.cbf", or "scan.h5::/entry/data/data" for a dataset of an HDF5 file.
#pragma once

#include <optional>
#include <string>

namespace annulus {

struct Url {
  std::string file;
  std::optional<std::string> dataset;  // what follows "::", as it was given; none without "::"
};

// The last "::" counts, so that a file may have it in its name if a dataset follows.
Url split_url(const std::string& url);
std::string join_url(const std::string& file, const std::string& dataset);

}  // namespace annulus
