#include <annulus/core/url.hpp>

#include <string_view>

namespace annulus {
namespace {

constexpr std::string_view kSeparator = "::";

}  // namespace

Url split_url(const std::string& url) {
  const std::size_t at = url.rfind(kSeparator);
  if (at == std::string::npos) return {url, std::nullopt};
  return {url.substr(0, at), url.substr(at + kSeparator.size())};
}

std::string join_url(const std::string& file, const std::string& dataset) {
  return file + std::string(kSeparator) + dataset;
}

}  // namespace annulus
