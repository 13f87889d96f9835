#define XXH_INLINE_ALL
#include <annulus/core/error.hpp>
#include <annulus/core/url.hpp>
#include <annulus/core/whole_source.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <xxhash.h>

#include <set>

namespace annulus {
namespace {

constexpr std::uint64_t kOfSeveral = 1;

}  // namespace

SourceId without_number(const SourceId& source) { return {source[0] & ~kOfSeveral, source[1]}; }

std::string StoredFrames::real_folder(const std::filesystem::path& folder) const {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = folders_.try_emplace(folder);
  std::error_code unknown;
  if (is_new) found->second = std::filesystem::weakly_canonical(folder, unknown).string();
  if (unknown) found->second = folder.lexically_normal().string();
  return found->second;
}

SourceId StoredFrames::hash_of(const std::string& source) const {
  const bool may_be_dataset = source.find("::") != std::string::npos;
  if (may_be_dataset) {
    const std::lock_guard lock(mutex_);
    if (const auto found = datasets_.find(source); found != datasets_.end()) return found->second;
  }
  const Url url = split_url(source);
  const std::filesystem::path file = folder_ / url.file;
  std::string name = real_folder(file.parent_path()) + "/" + file.filename().string();
  name.push_back('\0');  // is in no name
  name += url.dataset.value_or("");
  const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
  const SourceId id{hash.low64 & ~kOfSeveral, hash.high64};
  if (may_be_dataset) {
    const std::lock_guard lock(mutex_);
    datasets_.emplace(source, id);
  }
  return id;
}

SourceId StoredFrames::source_id(const FrameId& frame) const {
  SourceId id = hash_of(frame.source);
  if (frame.of_several) id[0] |= kOfSeveral;
  return id;
}

void StoredFrames::add(const SourceId& source, std::uint64_t in_source, bool bad) {
  const SourceId hash = without_number(source);
  frames_.insert_or_assign({hash, in_source}, bad);
  if ((source[0] & kOfSeveral) == 0) frames_.insert_or_assign({hash, kWholeSource}, bad);
}

void check_named_once(const std::vector<std::string>& inputs, const std::filesystem::path& folder) {
  const StoredFrames names(folder);
  std::set<SourceId> known;
  for (const std::string& input : inputs) {
    if (known.insert(names.source_id({0, input, 0, false})).second) continue;
    throw Error(ErrorKind::kUsage, input, "is named twice, and here every frame may count once",
                "name it once");
  }
}

Held StoredFrames::find(const FrameId& id) const {
  if (frames_.empty()) return Held::kNot;
  const auto found = frames_.find({hash_of(id.source), id.in_source});
  if (found == frames_.end()) return Held::kNot;
  return found->second ? Held::kBad : Held::kGood;
}

}  // namespace annulus
