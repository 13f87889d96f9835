// Headers that lie elsewhere in current releases of XRT than in 2.13: the format of an xclbin, the number of
// cards. The older place comes first, because the newer may be found in a distribution's folder beside it.
#pragma once

#if __has_include(<xclbin.h>)
#include <xclbin.h>
#else
#include <xrt/detail/xclbin.h>
#endif

#if __has_include(<experimental/xrt_system.h>)
#include <experimental/xrt_system.h>
#else
#include <xrt/experimental/xrt_system.h>
#endif
