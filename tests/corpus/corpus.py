"""The corpus: frames of every kind, and the runs over them whose sums must not change unnoticed.

Frames come from two places: real detector files of shared data, and simulated scans that are written once to a folder
of inputs, so that two programs can be given the same bytes.
"""

import pathlib
import subprocess
import sys
from dataclasses import dataclass, field

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import real_frames  # noqa: E402

SPLITTINGS = ("no", "bbox", "full")
CAKE = ("-n", 60, "--npt-azim", 36)  # few enough bins for the kernels' memories
PATTERN = ("-n", 500)


@dataclass(frozen=True)
class Case:
    name: str
    arguments: tuple
    emulated: bool = False  # runs on the emulated card


@dataclass
class Frames:
    """What a run is given: files with the arguments that belong to them."""

    name: str
    arguments: tuple
    real: bool = False
    kernels: bool = True  # the FPGA's kernels can read it
    corrections: tuple = field(default=())  # dark, flat and mask of the same shape


def make_inputs(folder, program):
    """Writes the simulated frames and all that is derived from them; does nothing if they are there."""
    done = folder / "complete"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)

    def simulate(name, *more):
        subprocess.run([program, "simulate", "-o", folder / name, "--overwrite", "-q", *map(str, more)], check=True)

    simulate("cbf", "--detector", "Pilatus300k", "-n", 5)
    simulate("cbf_tilted", "--detector", "Pilatus100k", "-n", 11, "--rot1", 0.3, "--rot2", -0.2, "--rot3", 0.4, "--seed", 7)
    simulate("hdf5", "--detector", "Pilatus300k", "-n", 3, "--format", "hdf5")
    for bits in (32, 16, 8):
        simulate(f"eiger_uint{bits}", "--detector", "Eiger500k", "-n", 4, "--format", "eiger", "--pixel-type",
                 f"uint{bits}", "--images-per-file", 3, "--ring-counts", 200)
    derive_other_formats(folder)
    done.write_text("all inputs are written\n")


def derive_other_formats(folder):
    """The first simulated frame as TIFF, EDF and NumPy, in integers and floats; and dark, flat and mask for it."""
    import fabio
    import numpy

    image = fabio.open(str(sorted((folder / "cbf").glob("*.cbf"))[0])).data
    other = folder / "other"
    other.mkdir(exist_ok=True)
    fractions = numpy.random.default_rng(12).random(image.shape)
    for dtype in ("uint8", "uint16", "int16", "int32", "uint32", "float32", "float64"):
        values = image.clip(0, 100 if dtype == "uint8" else 30000).astype(dtype)
        if dtype.startswith("float"):
            values += fractions.astype(dtype)
        numpy.save(other / f"{dtype}.npy", values)
        if dtype != "uint8":
            fabio.edfimage.EdfImage(data=values).write(str(other / f"{dtype}.edf"))
        fabio.tifimage.TifImage(data=values).write(str(other / f"{dtype}.tif"))
    image.clip(0).astype("<i4").tofile(other / "int32.raw")
    numpy.save(other / "dark.npy", (5 * fractions).astype("float32"))
    numpy.save(other / "flat.npy", (0.9 + 0.2 * fractions).astype("float32"))
    mask = numpy.zeros(image.shape, "uint8")
    mask[100:130, 40:200] = 1
    numpy.save(other / "mask.npy", mask)


def simulated_frames(folder):
    other = folder / "other"
    corrections = ("-d", other / "dark.npy", "-f", other / "flat.npy", "-m", other / "mask.npy")
    poni = ("-p", folder / "cbf/scan.poni")
    yield Frames("cbf", (*poni, folder / "cbf"), corrections=corrections)
    yield Frames("cbf_tilted", ("-p", folder / "cbf_tilted/scan.poni", folder / "cbf_tilted"))
    yield Frames("hdf5", ("-p", folder / "hdf5/scan.poni", *sorted((folder / "hdf5").glob("*.h5"))), corrections=corrections)
    for bits in (32, 16, 8):
        scan = folder / f"eiger_uint{bits}"
        yield Frames(f"eiger_uint{bits}", ("-p", scan / "scan.poni", scan / "scan_master.h5"))
    for path in sorted(other.glob("*int*")) + sorted(other.glob("float*")):
        raw = ("--raw-shape", 619, 487) if path.suffix == ".raw" else ()
        yield Frames(path.name, (*poni, *raw, path), corrections=corrections, kernels=not path.name.startswith("float"))


def real_file_frames(data, folder):
    """Real files with the geometry that was published with them, or else one of tests/real_frames.py."""
    import fabio

    def with_made_geometry(path, shape, *more):
        poni = folder / f"{path.stem}.poni"
        if not poni.exists():
            real_frames.integrate_arguments(path, shape, poni)
        return ("-p", poni, "--max-count", real_frames.LARGEST_COUNT, *more, path)

    for name in real_frames.REAL_CBF:
        shape = fabio.open(str(data / name)).data.shape
        yield Frames(name, with_made_geometry(data / name, shape, "--dummy", -2, "--delta-dummy", 1.5), real=True)
    for name in real_frames.REAL_BLOCKS:
        path, shape = real_frames.real_blocks(name, data, folder)
        yield Frames(name, with_made_geometry(path, shape), real=True)
    yield Frames("xraylarch/Pilatus.tiff", with_made_geometry(data / "xraylarch/Pilatus.tiff", (195, 487)), real=True)
    for number in ("0008", "0025"):
        stem = data / f"lab6-tilted/b_toney_lab6_th3_scan1_{number}"
        yield Frames(f"lab6-tilted {number}", ("-p", f"{stem}.poni", f"{stem}.tif"), real=True, kernels=False)
    pixium = data / "pixium-caking"
    yield Frames("pixium", ("-p", pixium / "DLS_CeO2_1200mm_pyFAI.poni", pixium / "pixium_03150.tif"), real=True)
    swaxs = data / "swaxs-reduction"
    yield Frames("swaxs WAXS", ("-p", swaxs / "atT_WAXS.poni", "--raw-shape", 195, 487, "-m", swaxs / "RT_WAXS_mask.edf",
                                swaxs / "b_tassone_Hor_scan_Run5_RampT20_ctr0_scan1_0000.raw"), real=True)
    yield Frames("swaxs SAXS", ("-p", swaxs / "atT_SAXS.poni", "--raw-shape", 1043, 981, "-m", swaxs / "RT_SAXS_mask_03.edf",
                                swaxs / "sone_Hor_scan_Run5_RampT20_ctr0_scan1_0000.raw"), real=True)


def cases(folder, data, backends):
    """Every run, in a fixed order and with a name that says what it is."""
    frames = list(simulated_frames(folder))
    if data is not None:
        frames += real_file_frames(data, folder)
    for each in frames:
        if "cpu" in backends:
            yield from cpu_cases(each)
        if "model" in backends and each.kernels:
            yield from kernel_cases(each, "model")
        if "opencl" in backends:
            yield from kernel_cases(each, "opencl")
    by_name = {each.name: each for each in frames}
    if "cpu" in backends:
        yield from option_cases(by_name["cbf"])
        yield from way_cases(by_name)
    if "opencl" in backends:
        for kernel in ("lanes", "rows", "local"):
            for name in ("cbf", "eiger_uint16", "float32.npy"):
                yield Case(f"{name} opencl {kernel}", ("--backend", "opencl", "--opencl-kernel", kernel, "--error-model",
                                                       "poisson", *PATTERN, *by_name[name].arguments))
    if "xrt" in backends:
        for name in ("cbf", "cbf_tilted", "eiger_uint16", "eiger_uint32", "int32.npy"):
            for case in kernel_cases(by_name[name], "xrt"):
                yield Case(case.name, case.arguments, emulated=True)


def cpu_cases(frames):
    """1-D and cakes, every splitting, with and without errors and corrections."""
    for shape, bins in (("1-D", PATTERN), ("cake", CAKE)):
        for split in SPLITTINGS:
            for errors in ("no", "poisson"):
                if frames.real and (split, errors) in (("no", "no"), ("full", "no")):
                    continue  # large files: errors add a sum and change none
                chosen = ("--split", split, "--error-model", errors, *bins)
                name = f"{frames.name} cpu {shape} {split} errors {errors}"
                yield Case(name, (*chosen, *frames.arguments))
                if frames.corrections and split == "bbox":
                    yield Case(f"{name} corrected", (*chosen, *frames.corrections, *frames.arguments))


def kernel_cases(frames, backend):
    """A smaller choice, for backends that must agree with the cpu backend anyway."""
    runs = [("1-D", PATTERN, "bbox", "poisson"), ("cake", CAKE, "full", "no")]
    for shape, bins, split, errors in runs:
        corrections = frames.corrections if shape == "1-D" else ()
        yield Case(f"{frames.name} {backend} {shape} {split} errors {errors}",
                   ("--backend", backend, "--split", split, "--error-model", errors, *bins, *corrections, *frames.arguments))


def option_cases(frames):
    """Options that shape a plan, one after the other, of patterns and of cakes."""
    options = {
        "r_mm": ("-u", "r_mm"), "q": ("-u", "q_A^-1"), "2th_rad": ("-u", "2th_rad"),
        "radial range": ("--radial-range", 12, 27), "azimuth range": ("--azimuth-range", 170, -100),
        "discontinuity": ("--chi-discontinuity", 0), "polarization": ("-P", 0.95),
        "no solid angle": ("--no-solid-angle",), "normalization": ("--normalization-factor", 3.5),
        "dummy": ("--dummy", 20, "--delta-dummy", 2), "max count": ("--max-count", 500),
    }
    for name, option in options.items():
        for shape, bins in (("1-D", PATTERN), ("cake", CAKE)):
            if (name, shape) == ("discontinuity", "1-D"):
                continue  # it means nothing to a pattern
            for split in ("bbox", "full"):
                yield Case(f"{frames.name} {name} {shape} {split}", ("--split", split, "--error-model", "poisson", *bins,
                                                                      *option, *frames.arguments))


def way_cases(by_name):
    """How a run is done, which must change no sum at all."""
    ways = {"generic": ("--instruction-set", "generic"), "avx2": ("--instruction-set", "avx2"), "latency": ("--latency",),
            "one thread": ("--threads", 1, "--readers", 1), "batch 1": ("--batch", 1), "batch 3": ("--batch", 3)}
    for name in ("cbf", "eiger_uint16", "float32.npy", "int32.tif"):
        for way, option in ways.items():
            yield Case(f"{name} {way}", ("--error-model", "poisson", *PATTERN, *option, *by_name[name].arguments))
