// How frames are named: "scan.cbf", or "scan.h5::/entry/data/data" for a dataset of an HDF5 file.
#pragma once

#include <optional>
#include <string>

namespace annulus {

struct Url {
  std::string file;
  std::optional<std::string> dataset;  // what follows "::", as it was given; none without "::"
};

// Names of files and of datasets may have "::" in them: what exists as a file is one. Where nothing exists,
// the last "::" counts.
Url split_url(const std::string& url);
std::string join_url(const std::string& file, const std::string& dataset);

}  // namespace annulus
