#include <annulus/outputs/held_frames.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/stored_frames.hpp>
#include <annulus/outputs/stored_rows.hpp>
#include <annulus/outputs/stored_sums.hpp>

#include <algorithm>
#include <map>
#include <memory>

namespace annulus {

HeldFrames held_frames(const std::vector<std::filesystem::path>& outputs,
                       const std::filesystem::path& folder) {
  constexpr std::uint64_t kOfSeveral = 1;  // says nothing about which source it is
  const auto held = std::make_shared<StoredFrames>(folder);
  const auto first_places = std::make_shared<std::map<SourceId, std::uint64_t>>();
  HeldFrames all;
  all.places = std::make_shared<PlaceSet>();
  for (const std::filesystem::path& output : outputs) {
    std::error_code ignored;
    if (!std::filesystem::exists(output, ignored)) continue;
    const PatternFile patterns(output);
    const Hdf5Session session;
    const Hdf5Handle file = open_output(output);
    for_each_stored_row(file.get(), patterns.frames(), ErrorKind::kInput, [&](const StoredRow& row) {
      held->add(row.source, row.in_source, row.bad);
      all.places->add(row.number);
      const SourceId source{row.source[0] & ~kOfSeveral, row.source[1]};
      if (row.in_source <= row.number) first_places->emplace(source, row.number - row.in_source);
    });
    const Hdf5Handle names(H5Dopen2(file.get(), layout::kSource, H5P_DEFAULT), H5Dclose);
    const Hdf5Handle type(H5Dget_type(names.get()), H5Tclose);
    all.source_length = std::max(all.source_length, H5Tget_size(type.get()));
  }
  all.find = [held](const FrameId& frame) { return held->find(frame); };
  all.first_place = [held, first_places](const std::string& source) -> std::optional<std::uint64_t> {
    const auto found = first_places->find(held->source_id({0, source, 0, false}));
    if (found == first_places->end()) return std::nullopt;
    return found->second;
  };
  return all;
}

}  // namespace annulus
