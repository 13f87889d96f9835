#define XXH_INLINE_ALL
#include <annulus/core/text.hpp>
#include <annulus/core/url.hpp>
#include <annulus/core/whole_source.hpp>
#include <annulus/outputs/stored_frames.hpp>

#include <fmt/core.h>
#include <xxhash.h>

namespace annulus {

StoredFrames::Key StoredFrames::key_of(const std::string& source, std::uint64_t in_source,
                                       const std::filesystem::path& folder) const {
  // As outputs store it.
  const Url url = split_url(to_utf8(source));
  const std::filesystem::path file = folder / url.file;
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = folders_.try_emplace(file.parent_path());
    std::error_code unknown;
    if (is_new) found->second = std::filesystem::weakly_canonical(file.parent_path(), unknown).string();
    if (unknown) found->second = file.parent_path().lexically_normal().string();
    name = found->second;
  }
  name = fmt::format("{}/{}\n{}", name, file.filename().string(), url.dataset.value_or(""));
  const XXH128_hash_t hash = XXH3_128bits_withSeed(name.data(), name.size(), in_source);
  return {hash.low64, hash.high64};
}

void StoredFrames::add(const std::string& source, std::uint64_t in_source, bool is_good,
                       const std::filesystem::path& folder) {
  keys_.insert(key_of(source, in_source, folder));
  if (!is_good) keys_.insert(key_of(source, kWholeSource, folder));
}

bool StoredFrames::contains(const FrameId& id) const {
  if (keys_.empty()) return false;
  std::error_code ignored;
  return keys_.contains(key_of(id.source, id.in_source, std::filesystem::current_path(ignored)));
}

}  // namespace annulus
