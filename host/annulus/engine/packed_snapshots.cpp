#include <annulus/engine/packed_snapshots.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace annulus {
namespace {

class Packer {
 public:
  void put(const void* data, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void put(const std::string& text) {
    const std::uint64_t size = text.size();
    put(&size, sizeof size);
    put(text.data(), text.size());
  }
  void put(const std::vector<std::string>& texts) {
    const std::uint64_t count = texts.size();
    put(&count, sizeof count);
    for (const std::string& text : texts) put(text);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  void get(void* data, std::size_t size) {
    if (size == 0) return;
    std::memcpy(data, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  std::string text() {
    std::uint64_t size = 0;
    get(&size, sizeof size);
    std::string text(size, '\0');
    get(text.data(), size);
    return text;
  }
  std::vector<std::string> texts() {
    std::uint64_t count = 0;
    get(&count, sizeof count);
    std::vector<std::string> texts(count);
    for (std::string& text : texts) text = this->text();
    return texts;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

// Texts, then rows as they lie in memory.
std::vector<std::byte> packed(const SnapshotTable& table, const std::string& folder) {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  Packer packer;
  packer.put(folder);
  packer.put(table.sources());
  packer.put(table.reasons());
  packer.put(table.rows().data(), table.rows().size() * sizeof(Snapshot));
  return packer.take();
}

SnapshotTable unpacked(std::span<const std::byte> bytes, const std::string& here) {
  Unpacker unpacker(bytes);
  const std::string folder = unpacker.text();
  const std::vector<std::string> sources = unpacker.texts(), reasons = unpacker.texts();
  SnapshotTable table;
  while (!unpacker.empty()) {
    Snapshot row;
    unpacker.get(&row, sizeof row);
    table.add(row, sources.at(row.source), row.reason == 0 ? "" : reasons.at(row.reason - 1));
  }
  return named_from(here, table, folder);
}

}  // namespace annulus
