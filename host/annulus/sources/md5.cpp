#include <annulus/core/error.hpp>
#include <annulus/sources/md5.hpp>

#include <openssl/evp.h>

#include <array>

namespace annulus {

std::string md5_base64(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_md5(), nullptr) != 1) {
    throw Error(ErrorKind::kBackend, "libcrypto", "MD5 is not available", "read without verifying checksums");
  }
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int size = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(length));
  return {text.begin(), text.begin() + size};
}

}  // namespace annulus
