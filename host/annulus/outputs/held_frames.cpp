#include <annulus/outputs/held_frames.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/stored_frames.hpp>
#include <annulus/outputs/stored_rows.hpp>
#include <annulus/outputs/stored_sums.hpp>

#include <memory>

namespace annulus {

std::function<Held(const FrameId& frame)> held_frames(const std::vector<std::filesystem::path>& outputs,
                                                      const std::filesystem::path& folder) {
  const auto held = std::make_shared<StoredFrames>(folder);
  for (const std::filesystem::path& output : outputs) {
    std::error_code ignored;
    if (!std::filesystem::exists(output, ignored)) continue;
    const PatternFile patterns(output);
    const Hdf5Session session;
    const Hdf5Handle file = open_output(output);
    for_each_stored_row(file.get(), patterns.frames(), ErrorKind::kInput,
                        [&](const StoredRow& row) { held->add(row.source, row.in_source, row.bad); });
  }
  return [held](const FrameId& frame) { return held->find(frame); };
}

}  // namespace annulus
