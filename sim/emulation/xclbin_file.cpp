#include "xclbin_file.hpp"

#include <annulus/backends/fpga/xrt_headers.hpp>

#include <fmt/format.h>
#include <uuid/uuid.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "metadata.hpp"

namespace annulus_sim {
namespace {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Sections with a counted array start with an int32; 64-bit members of the elements move the first to byte 8.
template <typename Section, typename Element>
std::string counted_section(const std::vector<Element>& elements) {
  std::string bytes(sizeof(Section) - sizeof(Element), '\0');
  const auto count = static_cast<int32_t>(elements.size());
  std::memcpy(bytes.data(), &count, sizeof(count));
  for (const Element& element : elements) append(bytes, element);
  return bytes;
}

template <size_t kSize>
void copy_name(uint8_t (&target)[kSize], const std::string& name) {
  if (name.size() >= kSize) {
    throw std::runtime_error(
        fmt::format("the name '{}' is longer than the {} characters that an xclbin holds", name, kSize - 1));
  }
  std::memcpy(target, name.data(), name.size());
}

std::string memory_section(const CardDesign& design) {
  std::vector<mem_data> banks;
  for (const Bank& bank : design.banks) {
    mem_data data{};
    data.m_type = bank.tag.starts_with("HBM") ? MEM_HBM : MEM_DDR4;
    data.m_used = 1;
    data.m_size = bank.size >> 10;
    data.m_base_address = bank.base;
    copy_name(data.m_tag, bank.tag);
    banks.push_back(data);
  }
  return counted_section<mem_topology>(banks);
}

std::string unit_section(const CardDesign& design) {
  std::vector<ip_data> units;
  for (const ComputeUnit& unit : design.units) {
    ip_data data{};
    data.m_type = IP_KERNEL;
    data.m_base_address = unit.base;
    copy_name(data.m_name, design.kernel_of(unit).name + ":" + unit.name);
    units.push_back(data);
  }
  return counted_section<ip_layout>(units);
}

std::string connection_section(const CardDesign& design) {
  std::vector<connection> connections;
  for (size_t unit = 0; unit < design.units.size(); ++unit) {
    const std::vector<int>& banks = design.units[unit].banks;
    for (size_t argument = 0; argument < banks.size(); ++argument) {
      if (banks[argument] == kNoBank) continue;
      connections.push_back({static_cast<int32_t>(argument), static_cast<int32_t>(unit), banks[argument]});
    }
  }
  return counted_section<connectivity>(connections);
}

void set_identity(axlf& head, const std::string& content) {
  // Any fixed namespace does; this one makes ours differ from other identities of the same bytes.
  static constexpr uuid_t kNamespace = {0xa2, 0x20, 0x1c, 0x55, 0x9f, 0x3a, 0x4e, 0x0b,
                                        0x8d, 0x61, 0x52, 0x7e, 0x30, 0xc4, 0x19, 0x6d};
  uuid_generate_sha1(head.m_header.uuid, kNamespace, content.data(), content.size());
  std::memcpy(&head.m_uniqueId, head.m_header.uuid, sizeof(head.m_uniqueId));
}

}  // namespace

std::string make_xclbin(const CardDesign& design, const std::string& library) {
  const std::string memory = memory_section(design);
  const std::string connections = connection_section(design);
  const std::vector<std::pair<axlf_section_kind, std::string>> sections = {
      {BITSTREAM, library},
      {EMBEDDED_METADATA, to_xml(design)},
      {IP_LAYOUT, unit_section(design)},
      {MEM_TOPOLOGY, memory},
      {ASK_GROUP_TOPOLOGY, memory},
      {CONNECTIVITY, connections},
      {ASK_GROUP_CONNECTIVITY, connections}};

  axlf head{};
  std::memcpy(head.m_magic, "xclbin2", 8);
  head.m_signature_length = -1;
  std::memset(head.reserved, 0xff, sizeof(head.reserved));
  head.m_header.m_versionMajor = 2;
  head.m_header.m_mode = XCLBIN_SW_EMU;
  head.m_header.m_numSections = static_cast<uint32_t>(sections.size());
  std::snprintf(reinterpret_cast<char*>(head.m_header.m_platformVBNV), sizeof(head.m_header.m_platformVBNV),
                "%s", design.card.c_str());

  const size_t head_bytes = sizeof(axlf) + (sections.size() - 1) * sizeof(axlf_section_header);
  std::vector<axlf_section_header> headers;
  std::string body;
  for (const auto& [kind, bytes] : sections) {
    body.resize((head_bytes + body.size() + 7) / 8 * 8 - head_bytes);
    axlf_section_header header{};
    header.m_sectionKind = kind;
    header.m_sectionOffset = head_bytes + body.size();
    header.m_sectionSize = bytes.size();
    headers.push_back(header);
    body += bytes;
  }
  head.m_header.m_length = head_bytes + body.size();
  set_identity(head, body);
  head.m_sections[0] = headers[0];

  std::string file;
  file.reserve(head.m_header.m_length);
  append(file, head);
  for (size_t i = 1; i < headers.size(); ++i) append(file, headers[i]);
  return file + body;
}

}  // namespace annulus_sim
