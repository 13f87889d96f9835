#pragma once

// A sanitizer makes a test several times slower, and sees a path the first time it is taken. What only
// repeats paths, for the sake of numbers, is done less often there.
namespace annulus::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace annulus::testing
