"""The course of a comparison on Eiger files: as in comparison.py, with h5py and hdf5plugin instead of FabIO."""

import copy
import statistics
import sys

from comparison import DECODED, MODELS, POLARIZATION, Turns, add_annulus
from peers import stored
from program import Program
from releases import all_releases
from verdict import Result, limit_beside

LARGE = "Eiger16M"
SERIES = 16  # frames of a large scan, which is then repeated


def run(options, folder):
    program = Program(options)
    releases = all_releases(options.newest_peer)
    result = Result(options, program.version(), [release.versions for release in releases], "h5py")
    print(f"simulating {options.frames} frames of {options.detector}", file=sys.stderr, flush=True)
    scan = program.simulate(folder / "scan", "--format", "eiger")
    for file in scan.master.parent.glob("*.h5"):
        file.read_bytes()  # the page cache has them from here on
    few = list(range(min(options.peer_frames, options.frames)))

    turns = Turns()
    for model in MODELS:
        for release in releases:
            peer = release.make("EigerAsUsed", scan.master, scan.poni, options.npt, model, POLARIZATION,
                                folder / f"{release.name} {model}.h5")
            peer.warm_up(0)
            turns.add(f"{release.name} {model}", lambda peer=peer: peer.seconds_a_frame(few))
        for threads in sorted({1, options.threads}):
            add_annulus(turns, program, scan, model, threads, folder, result)
    decoded = min(DECODED, options.frames)
    for release in releases:
        turns.add(f"{release.name} decode", release.make("EigerInMemory", scan.master, decoded).decode_seconds)
    turns.add("annulus decode", lambda: program.decode([scan.master], "bslz4_uint32", decoded))
    turns.take(options.rounds)

    result.medians = {name: statistics.median(samples) for name, samples in turns.samples.items()}
    result.samples = turns.samples
    for release in releases:
        for model in MODELS:
            ours = Program.stored(folder / f"annulus_{model}_{options.threads}.nxs", len(few))
            result.compare(f"{release.name}: annulus, {model}", ours, stored(folder / f"{release.name} {model}.h5", len(few)),
                           limit_beside(release.versions["pyFAI"]))
    result.judge_eiger(options.threads)
    if options.memory_check:
        large = copy.copy(options)
        large.detector, large.frames = LARGE, SERIES
        program = Program(large)
        result.judge_large(LARGE, program.peak_memory(program.simulate(folder / "large", "--format", "eiger"), 4, folder))
    for release in releases:
        release.end()
    return result
