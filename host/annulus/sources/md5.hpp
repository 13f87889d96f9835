// The checksum of CBF binaries.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace annulus {

// MD5 in base64, as in Content-MD5.
std::string md5_base64(std::span<const std::byte> bytes);

}  // namespace annulus
