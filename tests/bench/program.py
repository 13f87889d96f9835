"""Runs of the program, and the times it states or that a clock outside of it shows."""

import copy
import json
import os
import pathlib
import subprocess
import time

import h5py

UNIT = "2th_deg"


def peak_of(process):
    """The most memory that a running process has had, in bytes; 0 if it has just ended."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return max((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), default=0)


class Scan:
    def __init__(self, folder):
        self.poni = folder / "scan.poni"
        self.master = folder / "scan_master.h5"
        self.files = [self.master] if self.master.exists() else sorted(folder.glob("*.cbf"))

    def repeated(self, frames, path):
        """The same with so many frames: files are named again and again, in a list."""
        path.write_text("".join(f"{self.files[i % len(self.files)]}\n" for i in range(frames)))
        scan = copy.copy(self)
        scan.files = [f"@{path}"]
        return scan


class Program:
    project = pathlib.Path(__file__).resolve().parents[2]

    def __init__(self, options):
        self.path = options.annulus.resolve()
        self.options = options

    def run(self, *args, processors=None):
        def confine():
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])

        done = subprocess.run([self.path, *map(str, args)], capture_output=True, text=True, check=False,
                              preexec_fn=confine if processors else None)
        if done.returncode != 0:
            raise SystemExit(f"compare_peers: error: annulus {args[0]}: {done.stderr.strip()}")
        return done.stdout

    def version(self):
        return self.run("--version").strip()

    def simulate(self, folder, *more):
        self.run("simulate", "-o", folder, "--detector", self.options.detector, "-n", self.options.frames, "-q", *more)
        return Scan(folder)

    def plan_arguments(self, scan):
        return ["-p", scan.poni, "-n", self.options.npt, "-u", UNIT, "--split", "bbox", "-P", 0.99]

    def integrate(self, scan, model, threads, output, *more):
        """Seconds a frame: of the scan, with opening and closing of files too, of the whole process; and of the plan.

        As many processors as threads: readers and the writer have none of their own.
        """
        start = time.perf_counter()
        summary = json.loads(self.run("integrate", *self.plan_arguments(scan), "--error-model", model, "--threads",
                                      threads, "--json", "--overwrite", "-o", output, *more, *scan.files,
                                      processors=threads))
        process = time.perf_counter() - start
        frames, spent = summary["frames"], summary["seconds"]
        return {"scan": spent["scan"] / frames, "with files": (spent["total"] - spent["plan"]) / frames,
                "process": process / frames, "plan": spent["plan"]}

    def bench(self, only, *args):
        return json.loads(self.run("bench", "--only", only, "--repetitions", 1, "--json", *args))

    def latency(self, scan, model):
        figures = self.bench("latency", *self.plan_arguments(scan), "--error-model", model, "--threads",
                             self.options.threads, "--frames", 32, *scan.files)["figures"]
        (figure,) = [figure for figure in figures if figure["parameters"]["from"] == "file"]
        return figure["seconds"]["median"]

    def decode(self, files, codec="byte_offset", frames=None):
        """Seconds a frame, one thread, with the instruction set that a user gets."""
        report = self.bench("decode", "--codec", codec, "--frames", frames or len(files), *files)
        usual = report["usual"]["instruction_set"]
        (figure,) = [figure for figure in report["figures"] if figure["parameters"]["instruction_set"] == usual]
        return figure["seconds"]["median"] / figure["frames"]

    def nanoseconds_a_pixel(self, detectors):
        figures = json.loads(self.run(
            "bench", "--only", "detectors", "--detectors", ",".join(detectors), "--threads", self.options.threads,
            "--repetitions", self.options.rounds, "--error-model", "no", "--json"))["figures"]
        return {figure["parameters"]["detector"]: figure["nanoseconds_per_pixel"] for figure in figures}

    def peak_memory(self, scan, frames, folder):
        """Bytes of a run over as many frames; files are repeated."""
        repeated = scan.repeated(frames, folder / "list.txt")  # of Eiger files: series of frames
        output = folder / "memory.nxs"
        process = subprocess.Popen([
            str(word) for word in (self.path, "integrate", *self.plan_arguments(scan), "--threads",
                                   self.options.threads, "-q", "--overwrite", "-o", output, *repeated.files)])
        # Not from the usage that the system reports when it ends: that begins with the memory of this script.
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_of(process.pid))
            time.sleep(0.01)
        output.unlink(missing_ok=True)
        if process.returncode != 0:
            raise SystemExit(f"compare_peers: error: the run over {frames} frames failed")
        return peak

    @staticmethod
    def stored(path, frames):
        with h5py.File(path) as file:
            data = file["entry/data"]
            names = {"I": "I", "sigma": "I_errors"}
            return {name: data[ours][:frames] for name, ours in names.items() if ours in data}
