// The parts of a scan that the jobs of an array reduce (`part`), when their outputs come together: whether
// they are of one scan, and which are missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// Part 3 of 16, as `part` names it: "3/16".
struct Part {
  std::uint64_t number = 1;  // from 1
  std::uint64_t count = 1;
  bool operator==(const Part&) const = default;
};

// Throws kUsage for anything else than K/N with 1 <= K <= N.
Part parse_part(const std::string& text);

// "3/16"
std::string text_of(const Part& part);

// "part 3 of 16"; "parts 2 and 5 to 7 of 16". Those of several scans come one behind the other.
std::string names_of(const std::vector<Part>& parts);

// What the output of a part says of the scan.
struct PartOfScan {
  Part part;
  std::vector<std::string> inputs;  // as the run was given them
  std::filesystem::path working_directory;
};

// Out of a stored configuration. None: the run had the whole scan, or does not say.
std::optional<PartOfScan> part_of_scan(const std::string& config_json,
                                       const std::filesystem::path& working_directory);

// Why these are not parts of one scan; empty if they can be. One may know fewer inputs, which came first.
// Runs in different folders may call the same inputs differently: these are not compared.
std::string difference_of_scans(const PartOfScan& here, const PartOfScan& there);

// What an output that was merged of parts, of which others were missing, says of those that are in it.
struct MergedParts {
  std::vector<PartOfScan> parts;
  std::uint64_t frames = 0;  // that the output has: runs that went on with it are no part
  bool finished = true;      // all of these were: nothing is missing but other parts
};

// As an option of the output, whose stored configuration and working directory say the rest.
inline constexpr const char* kMergedPartsOption = "merged_parts";
std::string text_of(const MergedParts& merged, const std::string& config_json,
                    const std::filesystem::path& working_directory);

// Out of such options. None: it was not merged so, or has other frames now.
std::optional<MergedParts> merged_parts(const std::vector<std::pair<std::string, std::string>>& options,
                                        const std::string& config_json,
                                        const std::filesystem::path& working_directory, std::uint64_t frames);

// Which parts are there of each scan.
class PartsThere {
 public:
  void add(const PartOfScan& part);

  // By scan.
  std::vector<PartOfScan> all() const;

  // Of the scans of which any part is there.
  std::vector<Part> missing() const;

 private:
  struct Scan {
    PartOfScan first;
    std::set<std::uint64_t> numbers;
  };
  std::vector<Scan> scans_;
};

}  // namespace annulus
