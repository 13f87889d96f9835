// Places of a scan, of which many follow each other.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace annulus {

class PlaceSet {
 public:
  // False if it was in the set before.
  bool add(std::uint64_t place) {
    const auto next = runs_.upper_bound(place);
    if (next != runs_.begin()) {
      const auto before = std::prev(next);
      if (place < before->second) return false;
      if (place == before->second) {
        ++before->second;
        if (next != runs_.end() && next->first == before->second) {
          before->second = next->second;
          runs_.erase(next);
        }
        return true;
      }
    }
    if (next != runs_.end() && next->first == place + 1) {
      const std::uint64_t end = next->second;
      runs_.erase(next);
      runs_.emplace(place, end);
    } else {
      runs_.emplace(place, place + 1);
    }
    return true;
  }

  bool contains(std::uint64_t place) const {
    const auto next = runs_.upper_bound(place);
    return next != runs_.begin() && place < std::prev(next)->second;
  }

  // Behind the last; 0 of none.
  std::uint64_t end() const { return runs_.empty() ? 0 : std::prev(runs_.end())->second; }

 private:
  std::map<std::uint64_t, std::uint64_t> runs_;  // the first place of each, and behind its last
};

}  // namespace annulus
