// Files that would end the process: another one opens them first.
//
// The HDF5 library trusts the structure of a file. One that is damaged in the wrong place, or made for it,
// crashes it or keeps it busy for ever. Therefore a file is opened first in a process that does nothing else,
// by the same code, up to where pixels would be read. If that process dies, the file is refused.
//
// A library cannot start such a process by itself: to fork one with threads is not safe, and it does not know
// which program it is a part of. A program says how it is started as a server of probes; without that, files
// are opened unprobed.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace annulus {

// What is to be opened, and for what: understood by the function that the server calls.
using ProbeRequest = std::vector<std::string>;

// The command that calls serve_probes(), with its arguments. It is started when the first file is probed and
// ends with this process. Called before the first file is opened.
void set_probe_command(std::vector<std::string> command);

// Opens a file in the server first. Throws kInput if the server dies of it, and what the server throws: the
// file is then not opened here at all. What the file leads to is opened
// there too: a file among those that is deadly is remembered, so that open_to_read() refuses it, and the rest
// can be used. A file that has not changed since is not probed again.
void probe_hdf5(const std::string& path, const ProbeRequest& request);

// The server: answers requests on descriptor 0 until that is closed. An Error that `open` throws is thrown
// again by whoever asked.
int serve_probes(const std::function<void(const ProbeRequest&)>& open);

// Within open_to_read(). In a probe, says that the next file is being opened and has its time from now on;
// elsewhere throws kInput for a file that was deadly.
void note_opening(const std::string& path);

// A probe that takes longer for one file ends. The library needs milliseconds of processor time; a file
// system may be slow.
inline constexpr unsigned kProbeSeconds = 8;
inline constexpr unsigned kProbeProcessorSeconds = 2;

}  // namespace annulus
