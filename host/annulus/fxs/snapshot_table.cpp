#include <annulus/core/error.hpp>
#include <annulus/fxs/snapshot_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace annulus {
namespace {

struct Entry {
  const SnapshotTable* table;
  const Snapshot* row;
};

void check_different(std::vector<Entry> entries) {
  const auto identity = [](const Entry& entry) { return id_of(*entry.row); };
  std::ranges::sort(entries, {}, identity);
  const auto twice = std::ranges::adjacent_find(entries, {}, identity);
  if (twice == entries.end()) return;
  throw Error(ErrorKind::kInput, twice->table->source_of(*twice->row),
              fmt::format("its image {} was correlated twice", twice->row->in_source),
              "every image may count once: leave one of the files out");
}

std::vector<ImageId> sorted_ids(const SnapshotTable& table) {
  std::vector<ImageId> ids;
  ids.reserve(table.rows().size());
  for (const Snapshot& row : table.rows()) ids.push_back(id_of(row));
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

ImageId id_of(const Snapshot& row) { return {without_number(row.source_id), row.in_source}; }

std::uint32_t SnapshotTable::Texts::place_of(const std::string& text) {
  // The images of a source follow each other.
  if (!texts.empty() && texts.back() == text) return static_cast<std::uint32_t>(texts.size() - 1);
  const auto [found, is_new] = places.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
  if (is_new) {
    if (texts.size() >= std::numeric_limits<std::uint32_t>::max() - 1)
      throw Error(ErrorKind::kInput, "snapshots", "they have more sources than can be counted",
                  "correlate them in parts");
    texts.push_back(text);
  }
  return found->second;
}

void SnapshotTable::add(Snapshot row, const std::string& source, const std::string& reason) {
  row.source = sources_.place_of(source);
  row.reason = reason.empty() ? 0 : reasons_.place_of(reason) + 1;
  counts_.at(static_cast<std::size_t>(row.status)) += 1;
  rows_.push_back(row);
}

SnapshotTable named_from(const std::filesystem::path& here, SnapshotTable table,
                         const std::filesystem::path& folder) {
  if (folder == here) return table;
  SnapshotTable named;
  for (const Snapshot& row : table.rows())
    named.add(row, (folder / table.source_of(row)).string(), table.reason_of(row));
  return named;
}

bool contains_all(const SnapshotTable& all, const SnapshotTable& some) {
  return some.rows().size() <= all.rows().size() && std::ranges::includes(sorted_ids(all), sorted_ids(some));
}

SnapshotTable without(const SnapshotTable& table, const SnapshotTable& other) {
  const std::vector<ImageId> ids = sorted_ids(other);
  SnapshotTable rest;
  for (const Snapshot& row : table.rows()) {
    if (!std::ranges::binary_search(ids, id_of(row)))
      rest.add(row, table.source_of(row), table.reason_of(row));
  }
  return rest;
}

SnapshotTable join(const std::vector<const SnapshotTable*>& tables) {
  std::vector<Entry> entries;
  for (const SnapshotTable* table : tables) {
    for (const Snapshot& row : table->rows()) entries.push_back({table, &row});
  }
  check_different(entries);
  const auto place = [](const Entry& entry) { return entry.row->index; };
  std::vector<Entry> by_place = entries;
  std::ranges::stable_sort(by_place, {}, place);
  if (std::ranges::adjacent_find(by_place, {}, place) == by_place.end()) entries = std::move(by_place);
  SnapshotTable joined;
  for (const auto& [table, row] : entries) joined.add(*row, table->source_of(*row), table->reason_of(*row));
  return joined;
}

}  // namespace annulus
