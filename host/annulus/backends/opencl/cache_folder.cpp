#include <annulus/backends/opencl/cache_folder.hpp>
#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/private_folder.hpp>
#include <annulus/core/read_file.hpp>
#include <annulus/core/sha256.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace annulus::opencl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashLength = 64;

std::string hash_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

// Empty if there is no home either.
fs::path path_of(const std::string& kind, const std::string& key) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path folder;
  if (cache != nullptr && *cache == '/') {
    folder = cache;
  } else if (home != nullptr && *home == '/') {
    folder = fs::path(home) / ".cache";
  } else {
    return {};
  }
  return folder / "annulus" / "opencl" / (kind + "-" + hash_of(std::as_bytes(std::span(key))));
}

}  // namespace

std::optional<std::vector<std::byte>> read_cached(const std::string& kind, const std::string& key) {
  const fs::path path = path_of(kind, key);
  if (path.empty() || !private_folder_fault(path.parent_path()).empty()) return std::nullopt;
  std::optional<Bytes> file;
  try {
    file = map_file(path, ErrorKind::kInput, MapFrom::kTrusted);
  } catch (const Error&) {  // one that others can have written: it is made again
  }
  if (!file || file->size() < kHashLength) return std::nullopt;
  const std::span<const std::byte> content = file->view().subspan(kHashLength);
  const std::string hash = hash_of(content);
  if (!std::ranges::equal(std::as_bytes(std::span(hash)), file->view().first(kHashLength)))
    return std::nullopt;
  return std::vector(content.begin(), content.end());
}

void write_cached(const std::string& kind, const std::string& key, std::span<const std::byte> content) {
  const fs::path path = path_of(kind, key);
  if (path.empty() || !private_folder_fault(path.parent_path()).empty()) return;
  try {
    AtomicFile file(path, kPrivateFileMode);
    const std::string hash = hash_of(content);
    file.write(std::as_bytes(std::span(hash)));
    file.write(content);
    file.commit();
  } catch (const Error&) {  // a disk that is full or not ours to write: the next run compiles again
  }
}

}  // namespace annulus::opencl
