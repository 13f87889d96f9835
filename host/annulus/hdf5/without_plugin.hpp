// Datasets of a filter whose chunks are written as they are to be stored.
#pragma once

#include <hdf5.h>

namespace annulus {

// A plugin changes the filter's parameters when a dataset is made, so that files would differ between
// machines and no longer say what is in their chunks. While this lives the filter has none.
class WithoutPlugin {
 public:
  explicit WithoutPlugin(H5Z_filter_t filter);
  ~WithoutPlugin();
  WithoutPlugin(const WithoutPlugin&) = delete;
  WithoutPlugin& operator=(const WithoutPlugin&) = delete;

  // False if a dataset that is open needs the plugin.
  explicit operator bool() const { return gone_; }

 private:
  unsigned loading_before_ = H5PL_ALL_PLUGIN;
  bool gone_ = false;
};

}  // namespace annulus
