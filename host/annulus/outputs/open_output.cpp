#include <annulus/core/error.hpp>
#include <annulus/hdf5/link_fence.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/open_output.hpp>

#include <memory>

namespace annulus {

Hdf5Handle open_output_file(const std::filesystem::path& path) {
  Hdf5Handle file = open_to_read(path.string(), ReadFirst::kBesideWriter);
  if (!file || !layout::is_master(file.get())) return file;
  file.reset();
  return open_to_read(path.string(), ReadFirst::kBesideWriter, std::make_shared<LinkFence>(path.string()));
}

Hdf5Handle open_output(const std::filesystem::path& path) {
  Hdf5Handle file = open_output_file(path);
  if (!file) throw Error(ErrorKind::kInput, path.string(), "cannot be opened: " + hdf5_reason());
  return file;
}

}  // namespace annulus
