"""The course of a comparison: files are made, all ways take turns, patterns and ratios are judged."""

import os
import pathlib
import shutil
import statistics
import sys

from peers import stored
from program import Program
from releases import all_releases
from turns import Turns
from verdict import Result, limit_beside

MODELS = ("no", "poisson")
POLARIZATION = 0.99  # of the simulated beam

# Frames of the runs that compare numbers of threads: where starting and ending do not matter.
LONG = 2000

# Payloads to decode: more than the caches hold, as in a scan.
DECODED = 32


def run(options, folder):
    program = Program(options)
    releases = all_releases(options.newest_peer)
    result = Result(options, program.version(), [release.versions for release in releases], "FabIO")
    print(f"simulating {options.frames} frames of {options.detector}", file=sys.stderr, flush=True)
    scan = program.simulate(folder / "scan")
    for file in scan.files:
        file.read_bytes()  # the page cache has them from here on
    few = scan.files[: options.peer_frames]

    longer = scan.repeated(options.frames if options.quick else max(LONG, options.frames), folder / "long.txt")

    turns = Turns()
    for model in MODELS:
        for release in releases:
            add_peers(turns, release, scan, few, options, model, folder)
        add_annulus(turns, program, scan, model, options.threads, folder, result)
        for threads in sorted({1, options.threads}):
            turns.add(f"annulus long {model} {threads}", lambda model=model, threads=threads: program.integrate(
                longer, model, threads, folder / "long.nxs")["scan"])
        turns.add(f"annulus latency {model}", lambda model=model: program.latency(scan, model))
    decoded = scan.files[:DECODED]
    for release in releases:
        turns.add(f"{release.name} decode", release.make("Decoder", decoded).decode_seconds)
    turns.add("annulus decode", lambda: program.decode(decoded))
    add_azint(turns, releases[0], scan, few, options, result)
    turns.take(options.rounds)

    result.medians = {name: statistics.median(samples) for name, samples in turns.samples.items()}
    result.samples = turns.samples
    judge_patterns(result, releases, folder, len(few))
    result.judge(options.threads)
    if options.cakes:
        reduce_to_cakes(result, program, releases, scan, few, folder)
    if options.real:
        decode_real_files(result, program, releases, options, folder)
    if options.scaling:
        result.judge_scaling(program.nanoseconds_a_pixel(("Pilatus2M", "Pilatus6M")))
    if options.memory_check:
        result.judge_memory({frames: program.peak_memory(scan, frames, folder) for frames in (500, 10000)})
    for release in releases:
        release.end()
    return result


def add_peers(turns, release, scan, few, options, model, folder):
    for kind, how in (("PyFaiAsUsed", "as used"), ("PyFaiTuned", "tuned")):
        peer = release.make(kind, scan.poni, options.npt, model, POLARIZATION, folder / f"{release.name} {how} {model}.h5")
        peer.warm_up(few[0])
        turns.add(f"{release.name} {how} {model}", lambda peer=peer: peer.seconds_a_frame(few))
    turns.add(f"{release.name} first {model}", lambda: release.call(
        "first_call", scan.poni, few[0], options.npt, model, POLARIZATION))


def add_annulus(turns, program, scan, model, threads, folder, result):
    """One run gives several times; the first is asked for in its turn, the others are kept beside it."""
    name = f"annulus {model} {threads}"
    kept = {what: result.kept.setdefault(f"{name} {what}", []) for what in ("with files", "process", "plan")}

    def way():
        times = program.integrate(scan, model, threads, folder / f"annulus_{model}_{threads}.nxs")
        for what, samples in kept.items():
            samples.append(times[what])
        return times["scan"]

    turns.add(name, way)


def add_azint(turns, release, scan, few, options, result):
    if not release.call("has_azint"):
        result.notes.append("azint is not installed here: not compared")
        return
    for model in MODELS:
        peer = release.make("Azint", scan.poni, options.npt, model, POLARIZATION)
        peer.seconds_a_frame(few[:1])
        turns.add(f"azint {model}", lambda peer=peer: peer.seconds_a_frame(few))
    result.notes.append("azint splits pixels in another way: its patterns are not compared")


def reduce_to_cakes(result, program, releases, scan, few, folder):
    options = result.options
    turns = Turns()
    for release in releases:
        peer = release.make("PyFaiCakes", scan.poni, options.npt, options.cakes, POLARIZATION)
        peer.seconds_a_frame(few[:1])
        turns.add(release.name, lambda peer=peer: peer.seconds_a_frame(few))
    for name, more in (("cakes", ("--npt-azim", options.cakes)), ("patterns", ())):
        turns.add(name, lambda more=more: program.integrate(scan, "no", options.threads, folder / "cakes.nxs", *more)["scan"])
    turns.take(options.rounds)
    result.judge_cakes({name: statistics.median(samples) for name, samples in turns.samples.items()})


def judge_patterns(result, releases, folder, frames):
    for release in releases:
        for model in MODELS:
            reference = stored(folder / f"{release.name} as used {model}.h5", frames)
            tuned = stored(folder / f"{release.name} tuned {model}.h5", frames)
            result.compare(f"{release.name}: tuned, {model}", tuned, reference)
            ours = Program.stored(folder / f"annulus_{model}_{result.options.threads}.nxs", frames)
            result.compare(f"{release.name}: annulus, {model}", ours, reference, limit_beside(release.versions["pyFAI"]))


def decode_real_files(result, program, releases, options, folder):
    data = pathlib.Path(os.environ.get("ANNULUS_SHARED_DATA", program.project.parent / "shared" / "data"))
    files = sorted(path for path in data.glob("**/*.cbf") if path.stat().st_size > 1_000_000)
    if not files:
        result.notes.append(f"no CBF above 1 MB in {data}: real files are not compared")
    for file in files:
        # Copies, each with memory of its own.
        copies = [pathlib.Path(shutil.copy(file, folder / f"copy_{i}.cbf")) for i in range(DECODED)]
        turns = Turns()
        for release in releases:
            turns.add(release.name, release.make("Decoder", copies).decode_seconds)
        turns.add("annulus", lambda: program.decode(copies))
        turns.take(options.rounds)
        for release in releases:
            result.judge_decode(file.name, release.versions, turns.samples[release.name], turns.samples["annulus"])
        for copy in copies:
            copy.unlink()
