#include <annulus/core/error.hpp>

#include <utility>

namespace annulus {
namespace {

std::string join(const std::string& where, const std::string& fault, const std::string& cure) {
  std::string text = where.empty() ? fault : where + ": " + fault;
  if (!cure.empty()) text += " (" + cure + ")";
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string where, std::string what, std::string cure)
    : std::runtime_error(join(where, what, cure)),
      kind_(kind),
      where_(std::move(where)),
      fault_(std::move(what)),
      cure_(std::move(cure)) {}

std::optional<std::string> Error::option() const {
  if (!where_.starts_with('`')) return std::nullopt;
  const std::size_t end = where_.find('`', 1);
  if (end == std::string::npos) return std::nullopt;
  return where_.substr(1, end - 1);
}

}  // namespace annulus
