#include <annulus/engine/probe_server.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/hdf5/probe.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/sources/formats.hpp>
#include <annulus/sources/table_column.hpp>
#include <annulus/xrd_ct/volume_reader.hpp>

namespace annulus {

int serve_hdf5_probes() {
  return serve_probes([](const ProbeRequest& request) {
    if (request.at(0) == kProbeFrames) touch_hdf5(request);
    if (request.at(0) == kProbeColumn) touch_column(request);
    if (request.at(0) == kProbeOutput) {
      touch_output(request.at(1));
      touch_volume(request.at(1));
      touch_correlation(request.at(1));
    }
  });
}

}  // namespace annulus
