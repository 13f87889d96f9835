#include <annulus/ranks/together.hpp>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace annulus {
namespace {

// An error as bytes: its kind, and its three texts, which end with zeros.
std::vector<std::byte> packed(const std::optional<Error>& error) {
  std::vector<std::byte> bytes;
  if (!error) return bytes;
  bytes.push_back(static_cast<std::byte>(error->kind()));
  for (const std::string& text : {error->where(), error->fault(), error->cure()}) {
    for (const char letter : text) {
      if (letter != '\0') bytes.push_back(static_cast<std::byte>(letter));
    }
    bytes.push_back(std::byte{0});
  }
  return bytes;
}

Error unpacked(std::span<const std::byte> bytes) {
  const auto kind = static_cast<ErrorKind>(bytes.front());
  std::array<std::string, 3> texts;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  for (std::string& text : texts) {
    text = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(text.size() + 1);
  }
  return {kind, texts[0], texts[1], texts[2]};
}

}  // namespace

void together(Ranks& ranks, const std::function<void()>& work, const Ranks::Meanwhile& meanwhile) {
  std::optional<Error> failure;
  try {
    work();
  } catch (const Error& error) {
    failure = error;
  }
  ranks.wait_for_all(meanwhile);
  std::vector<std::byte> outcome;
  for (std::vector<std::byte>& of_rank : ranks.gather(packed(failure))) {
    if (outcome.empty()) outcome = std::move(of_rank);
  }
  ranks.broadcast(outcome);
  if (!outcome.empty()) throw FailedTogether(unpacked(outcome));
}

}  // namespace annulus
