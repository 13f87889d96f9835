#include <annulus/core/url.hpp>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace annulus {
namespace {

constexpr std::string_view kSeparator = "::";

}  // namespace

Url split_url(const std::string& url) {
  const std::size_t last = url.rfind(kSeparator);
  if (last == std::string::npos) return {url, std::nullopt};
  const auto split = [&url](std::size_t at) {
    return Url{url.substr(0, at), url.substr(at + kSeparator.size())};
  };
  std::error_code ignored;
  if (std::filesystem::exists(url, ignored)) return {url, std::nullopt};
  for (std::size_t at = last; at != std::string::npos && at > 0; at = url.rfind(kSeparator, at - 1)) {
    if (std::filesystem::exists(url.substr(0, at), ignored)) return split(at);
  }
  return split(last);
}

std::string join_url(const std::string& file, const std::string& dataset) {
  return file + std::string(kSeparator) + dataset;
}

}  // namespace annulus
