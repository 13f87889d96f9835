// How the emulated card behaves: how long things take at least, and which faults it has. JSON; all keys may
// be absent.
#pragma once

#include <cstdint>
#include <string>

namespace annulus_sim {

struct Settings {
  struct Times {  // each at least so long
    double upload_ms = 0, upload_ms_per_mib = 0;
    double download_ms = 0, download_ms_per_mib = 0;
    double launch_ms = 0;  // a run
    double frame_ms = 0;   // and for each frame of it, by the kernel's argument frame_count
  } times;
  struct Faults {              // 0: never
    uint64_t die_in_run = 0;   // the card is lost in its n-th run
    uint64_t hang_in_run = 0;  // the n-th run never ends
    // The n-th run ends well, and the sums that it leaves are wrong (wrong_numbers.hpp):
    uint64_t stale_in_run = 0;    // those of the run before, as it wrote nothing
    uint64_t zero_in_run = 0;     // zeros
    uint64_t garbage_in_run = 0;  // rubbish
    uint64_t flip_in_run = 0;     // one bit is another
    uint64_t swap_in_run = 0;     // those of the first and the last frame change places
    uint64_t die_on_load = 0;     // the n-th load fails
    bool every_time = false;      // count runs afresh after each load; all loads from the n-th on fail
  } faults;
};

// From a JSON text, or the name of a file with one.
Settings read_settings(const std::string& text_or_file);

}  // namespace annulus_sim
