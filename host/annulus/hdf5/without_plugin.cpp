#include <annulus/hdf5/without_plugin.hpp>

namespace annulus {

WithoutPlugin::WithoutPlugin(H5Z_filter_t filter) {
  H5PLget_loading_state(&loading_before_);
  H5PLset_loading_state(0);
  // What was loaded before stays until it is taken out; HDF5 finds it again when it is needed.
  gone_ = H5Zfilter_avail(filter) == 0 || H5Zunregister(filter) >= 0;
}

WithoutPlugin::~WithoutPlugin() { H5PLset_loading_state(loading_before_); }

}  // namespace annulus
