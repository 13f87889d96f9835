// Depths of the FIFOs between stages. Any depth works, as a test with depth 1 shows; these keep stages busy.
#pragma once

namespace kernels {

constexpr int kBeatsDepth = 128;    // two bursts of 64 transfers from memory
constexpr int kTableDepth = 128;    // the same, and what the decoder is late at the start of a frame
constexpr int kWindowsDepth = 16;   // stages in lockstep: a clock in, a clock out
constexpr int kCodesDepth = 16;     // the same
constexpr int kValuesDepth = 16;    // the same
constexpr int kVectorsDepth = 64;   // the decoder goes on while pixels over more than three bins wait
constexpr int kRejectedDepth = 64;  // beats with invalid pixels, each of which takes several clocks
constexpr int kSharesDepth = 64;    // the same, one share each, while the sums of the frame before are sent
constexpr int kRowsDepth = 64;      // a burst to memory
constexpr int kFramesDepth = 4;     // one element a frame: decoding, adding, draining, and one to spare

}  // namespace kernels
