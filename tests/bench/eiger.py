"""The course of a comparison on Eiger files: as in comparison.py, with h5py and hdf5plugin instead of FabIO."""

import copy
import statistics
import sys

import peers
from comparison import DECODED, MODELS, POLARIZATION, Turns, add_annulus
from program import Program
from verdict import Result

LARGE = "Eiger16M"
SERIES = 16  # frames of a large scan, which is then repeated


def run(options, folder):
    program = Program(options)
    result = Result(options, program.version(), "h5py, hdf5plugin + pyFAI")
    print(f"simulating {options.frames} frames of {options.detector}", file=sys.stderr, flush=True)
    scan = program.simulate(folder / "scan", "--format", "eiger")
    for file in scan.master.parent.glob("*.h5"):
        file.read_bytes()  # the page cache has them from here on
    few = range(min(options.peer_frames, options.frames))

    turns = Turns()
    integrators = {}
    for model in MODELS:
        peer = peers.EigerAsUsed(scan.master, scan.poni, options.npt, model, POLARIZATION, folder / f"pyfai_{model}.h5")
        peer.warm_up(0)
        integrators[model] = peer
        turns.add(f"pyfai {model}", lambda peer=peer: peer.seconds_a_frame(few))
        for threads in sorted({1, options.threads}):
            add_annulus(turns, program, scan, model, threads, folder, result)
    decoded = min(DECODED, options.frames)
    memory = peers.EigerInMemory(scan.master, decoded)
    turns.add("hdf5plugin decode", memory.decode_seconds)
    turns.add("annulus decode", lambda: program.decode([scan.master], "bslz4_uint32", decoded))
    turns.take(options.rounds)

    result.medians = {name: statistics.median(samples) for name, samples in turns.samples.items()}
    result.samples = turns.samples
    for model in MODELS:
        ours = Program.stored(folder / f"annulus_{model}_{options.threads}.nxs", len(few))
        result.compare(f"annulus, {model}", ours, integrators[model].stored(len(few)))
    result.judge_eiger(options.threads)
    if options.memory_check:
        large = copy.copy(options)
        large.detector, large.frames = LARGE, SERIES
        program = Program(large)
        result.judge_large(LARGE, program.peak_memory(program.simulate(folder / "large", "--format", "eiger"), 4, folder))
    return result
