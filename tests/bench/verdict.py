"""What was measured, as ratios beside the ones that the project promises."""

import dataclasses
import statistics

import numpy

DEVIATION_LIMIT = 1e-5  # sum |I - I_pyFAI| / sum I_pyFAI, with bbox splitting
ROUNDED_LIMIT = 1e-4  # of a pyFAI that computes pixel centres in single precision, before 2025.12


def limit_beside(version):
    """Of Annulus, beside a release of pyFAI."""
    return DEVIATION_LIMIT if tuple(map(int, version.split(".")[:2])) >= (2025, 12) else ROUNDED_LIMIT


@dataclasses.dataclass
class Row:
    name: str
    ours: str
    theirs: str
    value: float
    unit: str = "x"
    floor: float = None  # the value must be at least this,
    ceiling: float = None  # or at most that
    aim: float = None

    def good(self):
        return (self.floor is None or self.value >= self.floor) and (self.ceiling is None or self.value <= self.ceiling)

    def promise(self):
        if self.ceiling is not None:
            return f"<= {self.ceiling:g}"
        if self.floor is None:
            return ""
        return f">= {self.floor:g}" + (f", aim {self.aim:g}" if self.aim else "")


def deviation(found, expected):
    """Summed over the bins that have a value; infinite if there are none."""
    compared = numpy.isfinite(found) & (expected > 0)  # pyFAI has its dummy where no pixel contributes
    if not compared.any():
        return float("inf")
    return float(numpy.abs(found - expected)[compared].sum() / numpy.abs(expected[compared]).sum())


def rate(seconds_a_frame):
    return f"{1 / seconds_a_frame:.1f}/s"


def milliseconds(seconds):
    return f"{seconds * 1e3:.3f} ms"


class Result:
    def __init__(self, options, version, releases, reader):
        """releases: versions of the peers by name, Debian's first, which the promises are about; reader: FabIO or h5py."""
        self.options = options
        self.version = version
        self.releases = releases
        self.reader = reader
        self.samples = {}
        self.medians = {}
        self.kept = {}  # further times of the same runs
        self.rows = []
        self.deviations = {}
        self.limits = {}
        self.notes = []

    def peers(self):
        """Name, versions, and whether the promises are about it."""
        return [(f"pyFAI {versions['pyFAI']}", versions, versions is self.releases[0]) for versions in self.releases]

    def compare(self, name, ours, reference, limit=DEVIATION_LIMIT):
        for quantity, expected in reference.items():
            self.deviations[f"{name}, {quantity}"] = deviation(ours[quantity], expected)
            self.limits[f"{name}, {quantity}"] = limit

    def patterns_agree(self):
        return bool(self.deviations) and all(value <= self.limits[name] for name, value in self.deviations.items())

    def missed(self):
        return [row for row in self.rows if not row.good()]

    def ratio(self, name, ours, theirs, show, **promise):
        self.rows.append(Row(name, show(ours), show(theirs), theirs / ours, **promise))

    def judge_decode(self, what, versions, fabio, annulus):
        self.ratio(f"decode : FabIO {versions['FabIO']}, {what}", statistics.median(annulus), statistics.median(fabio),
                   milliseconds, floor=2, aim=3)

    def judge(self, threads):
        times = self.medians | {name: statistics.median(samples) for name, samples in self.kept.items()}
        for name, versions, _ in self.peers():
            self.judge_decode("these files", versions, self.samples[f"{name} decode"], self.samples["annulus decode"])
        for model in ("no", "poisson"):
            ours = times[f"annulus {model} {threads}"]
            errors = f"errors {model}"
            for name, _, promised in self.peers():
                self.ratio(f"files to NeXus : {name} as used, {errors}", ours, times[f"{name} as used {model}"], rate,
                           **({"floor": 60, "aim": 100} if promised else {}))
                self.ratio(f"files to NeXus : {name} tuned, {errors}", ours, times[f"{name} tuned {model}"], rate,
                           **({"floor": 30} if promised else {}))
            if f"azint {model}" in times:
                self.ratio(f"files to NeXus : FabIO and azint, {errors}", ours, times[f"azint {model}"], rate)
            for name, _, promised in self.peers():
                used = times[f"{name} as used {model}"]
                self.ratio(f"with opening and closing : {name}, {errors}",
                           times[f"annulus {model} {threads} with files"], used, rate)
                self.ratio(f"the whole process, {self.options.frames} frames : {name}, {errors}",
                           times[f"annulus {model} {threads} process"], used, rate)
                self.ratio(f"the plan : first call of {name}, {errors}", times[f"annulus {model} {threads} plan"],
                           times[f"{name} first {model}"], milliseconds, **({"floor": 3} if promised else {}))
            if threads > 1:
                self.ratio(f"{threads} threads : 1 thread, long scan, {errors}", times[f"annulus long {model} {threads}"],
                           times[f"annulus long {model} 1"], rate, floor=1.85 if threads == 2 else None)
            latency = times[f"annulus latency {model}"]
            self.rows.append(Row(f"one frame, file to pattern, {errors}", milliseconds(latency), "", latency * 1e3,
                                 unit=" ms", ceiling=5))
        self.ratio("with errors : without", times[f"annulus poisson {threads}"], times[f"annulus no {threads}"], rate,
                   floor=0.6)

    def judge_eiger(self, threads):
        times = self.medians
        for name, versions, _ in self.peers():
            self.ratio(f"decode : hdf5plugin {versions['hdf5plugin']}", times["annulus decode"], times[f"{name} decode"],
                       milliseconds, floor=1.5)
        for model in ("no", "poisson"):
            ours = times[f"annulus {model} {threads}"]
            for name, _, promised in self.peers():
                self.ratio(f"files to NeXus : h5py and {name} as used, errors {model}", ours, times[f"{name} {model}"], rate,
                           **({"floor": 40} if promised else {}))
            if threads > 1:
                self.ratio(f"{threads} threads : 1 thread, errors {model}", ours, times[f"annulus {model} 1"], rate)
        self.ratio("with errors : without", times[f"annulus poisson {threads}"], times[f"annulus no {threads}"], rate)

    def judge_large(self, detector, peak):
        self.rows.append(Row(f"peak memory, {detector}", f"{peak / 2**20:.0f} MiB", "", peak / 1e9, unit=" GB",
                             ceiling=1.5))

    def judge_cakes(self, times):
        what = f"cakes of {self.options.npt} x {self.options.cakes}"
        for name, _, _ in self.peers():
            self.ratio(f"{what} : integrate2d of {name}", times["cakes"], times[name], rate)
        self.ratio(f"{what} : patterns", times["cakes"], times["patterns"], rate)

    def judge_scaling(self, nanoseconds):
        small, large = nanoseconds["Pilatus2M"], nanoseconds["Pilatus6M"]
        self.rows.append(Row("time a pixel, Pilatus 6M : 2M", f"{large:.3f} ns", f"{small:.3f} ns", large / small,
                             ceiling=1.1))

    def judge_memory(self, peaks):
        (few, small), (many, large) = sorted(peaks.items())
        # The output's index grows by a few bytes a frame; frames themselves would be gigabytes.
        self.rows.append(Row(f"peak memory, {many} frames : {few}", f"{large / 2**20:.0f} MiB",
                             f"{small / 2**20:.0f} MiB", large / small, ceiling=1.05))

    def as_text(self):
        beside = " and ".join(f"{name} with {self.reader} {versions[self.reader]}" for name, versions, _ in self.peers())
        lines = [f"{self.version} beside {beside}: {self.options.detector}, {self.options.npt} bins, bbox, "
                 f"{self.options.threads} threads, medians of {self.options.rounds} rounds; Annulus "
                 f"{self.options.frames} frames a round, the others "
                 f"{min(self.options.peer_frames, self.options.frames)}",
                 "", f"{'':70}{'Annulus':>12}{'other':>12}{'value':>11}  promised"]
        for row in self.rows:
            verdict = "" if row.good() or self.options.quick else "   MISSED"
            lines.append(f"{row.name:70.69}{row.ours:>12}{row.theirs:>12}{row.value:>9.2f}{row.unit:<3}"
                         f" {row.promise()}{verdict}")
        lines += ["", "deviation from pyFAI's patterns:"]
        lines += [f"  {name:48}{value:.2e}, at most {self.limits[name]:g}{'' if value <= self.limits[name] else '   TOO LARGE'}"
                  for name, value in self.deviations.items()]
        notes = self.notes + ([] if len(self.releases) > 1 else ["the newest pyFAI is not here: scripts/newest_peer fetches it"])
        notes += (["a quick run: the numbers mean nothing"] if self.options.quick else [])
        return "\n".join(lines + [f"note: {note}" for note in notes])

    def as_json(self):
        return {"version": self.version, "detector": self.options.detector, "bins": self.options.npt,
                "threads": self.options.threads, "frames": self.options.frames, "rounds": self.options.rounds,
                "quick": self.options.quick, "peers": self.releases,
                "rows": [{**dataclasses.asdict(row), "good": row.good()} for row in self.rows],
                "seconds_per_frame": self.samples, "seconds_of_the_same_runs": self.kept,
                "deviations": self.deviations, "notes": self.notes}
