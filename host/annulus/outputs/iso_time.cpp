#include <annulus/outputs/iso_time.hpp>

#include <ctime>

namespace annulus {

std::string iso_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local);
  std::string result(text, length);
  result.insert(result.size() - 2, 1, ':');  // +0100 -> +01:00
  return result;
}

}  // namespace annulus
