#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tools/cycles/card.hpp>

#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const Json kFacts = {
    {"name", "Test card"},
    {"memory", {{"kind", "HBM"}, {"banks", 8}, {"gb_per_second_per_bank", 12.5}, {"bytes_per_bank", 1024}}},
    {"pcie", {{"gb_per_second", 10}}},
    {"compute_units", {{"reduce_raw", 2}}},
    {"clock_mhz", 300}};

const std::string kConnectivity =
    "# two units\nkernel_frequency=300\n[connectivity]\nnk=reduce_raw:2\n"
    "sp=reduce_raw_1.frames:HBM[0:3]\nsp=reduce_raw_2.frames:HBM[7]\n";

class CardFile : public ::testing::Test {
 protected:
  void write(const Json& facts, const std::string& connectivity = kConnectivity) {
    folder_.write("tiny/card.json", facts.dump());
    folder_.write("tiny/reduce_raw.cfg", connectivity);
  }

  // The card must be refused, with all of `words` in the message.
  void expect_refused(const std::vector<std::string>& words, const std::string& card = "tiny") {
    try {
      read_card(card, folder_.path());
      ADD_FAILURE() << "accepted; expected: " << ::testing::PrintToString(words);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      for (const std::string& word : words) EXPECT_THAT(error.what(), HasSubstr(word));
    }
  }

  testing::ScratchFolder folder_;
};

TEST_F(CardFile, FactsAndConnectivityAreRead) {
  write(kFacts);
  for (const std::string& name : {std::string("tiny"), folder_.file("tiny/card.json")}) {
    const Card card = read_card(name, folder_.path());
    EXPECT_EQ(card.name, "Test card");
    EXPECT_EQ(card.memory_kind, "HBM");
    EXPECT_EQ(card.banks, 8u);
    EXPECT_EQ(card.bank_gb_per_second, 12.5);
    EXPECT_EQ(card.pcie_gb_per_second, 10);
    EXPECT_EQ(card.clock_mhz, 300);
    ASSERT_EQ(card.kernels.size(), 1u);
    const CardKernel& kernel = card.kernels.at("reduce_raw");
    EXPECT_EQ(kernel.compute_units, 2u);
    ASSERT_EQ(kernel.ports.size(), 2u);
    EXPECT_EQ(kernel.ports[0].compute_unit, "reduce_raw_1");
    EXPECT_EQ(kernel.ports[0].port, "frames");
    EXPECT_EQ(kernel.ports[0].first, 0u);
    EXPECT_EQ(kernel.ports[0].last, 3u);
    EXPECT_EQ(kernel.ports[1].first, 7u);
    EXPECT_EQ(kernel.ports[1].last, 7u);
  }
}

TEST_F(CardFile, MissingFactsAreNamed) {
  for (const char* key : {"/name", "/memory/kind", "/memory/banks", "/memory/gb_per_second_per_bank",
                          "/pcie/gb_per_second", "/compute_units", "/clock_mhz"}) {
    const Json::json_pointer pointer(key);
    Json facts = kFacts;
    facts[pointer.parent_pointer()].erase(pointer.back());
    write(facts);
    expect_refused({"card.json", "\"" + std::string(key + 1) + "\": it is missing", "another card"});
  }
}

TEST_F(CardFile, FactsOfTheWrongKindAreNamed) {
  const std::vector<std::pair<const char*, Json>> wrong = {
      {"/name", 7},
      {"/memory/kind", Json::array()},
      {"/memory/banks", 0},
      {"/memory/banks", -4},
      {"/memory/banks", 2.5},
      {"/memory/banks", "many"},
      {"/memory/gb_per_second_per_bank", 0},
      {"/memory/gb_per_second_per_bank", "14"},
      {"/pcie/gb_per_second", -1},
      {"/clock_mhz", nullptr},
      {"/compute_units", 2},
      {"/compute_units", Json::object()},
      {"/compute_units/reduce_raw", 0},
      {"/compute_units/reduce_raw", 100000},
  };
  for (const auto& [key, value] : wrong) {
    Json facts = kFacts;
    facts[Json::json_pointer(key)] = value;
    write(facts);
    expect_refused({"card.json", "\"" + std::string(key + 1) + "\"", "must be"});
  }
}

TEST_F(CardFile, FileThatIsNoJsonIsRefused) {
  write(kFacts);
  folder_.write("tiny/card.json", "{\"name\": ");
  expect_refused({"card.json", "not valid JSON"});
  folder_.write("tiny/card.json", "[]");
  expect_refused({"card.json", "\"name\": it is missing"});
  expect_refused({"absent.json"}, folder_.file("absent.json"));
}

TEST_F(CardFile, UnknownNameGetsTheKnownOnes) {
  write(kFacts);
  folder_.write("small/card.json", kFacts.dump());
  folder_.write("no_card/readme.txt", "");
  folder_.write("no_speed/card.json", "{\"name\": \"emulated\"}");
  folder_.write("no_json/card.json", "{");
  expect_refused({"`card`", "u99", "known are small, tiny;"}, "u99");
  try {
    read_card("u99", folder_.path() / "nowhere");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("ANNULUS_PLATFORM_DIR"));
  }
}

TEST_F(CardFile, ConnectivityMustFitTheCard) {
  const std::string second = "sp=reduce_raw_2.frames:HBM[7]\n";
  const auto connect = [&](const std::string& first) { write(kFacts, first + "\n" + second); };
  for (const char* line : {"sp=reduce_raw_1.frames:HBM", "sp=reduce_raw_1:HBM[0]",
                           "sp=reduce_raw_1.frames:HBM[x]", "sp=reduce_raw_1.frames:HBM[0] and more"}) {
    connect(line);
    expect_refused({"reduce_raw.cfg, line 1", line, "write sp=unit.port:HBM[0]"});
  }
  for (const char* banks : {"HBM[8]", "HBM[0:8]", "HBM[3:2]", "DDR[0]"}) {
    connect("\nsp=reduce_raw_1.frames:" + std::string(banks));
    expect_refused({"reduce_raw.cfg, line 2", "HBM[0:7]"});
  }
  connect("# one unit is left out");
  expect_refused({"reduce_raw.cfg", "connects 1 compute units", "say 2"});
  write(kFacts);
  std::filesystem::remove(folder_.path() / "tiny/reduce_raw.cfg");
  expect_refused({"reduce_raw.cfg"});
}

}  // namespace
}  // namespace annulus
