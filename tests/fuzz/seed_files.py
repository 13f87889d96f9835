"""Small good files of every kind that the program reads, for a detector of 24 x 20 pixels."""

import pathlib
import subprocess

import fabio.cbfimage
import fabio.edfimage
import fabio.tifimage
import h5py
import hdf5plugin
import numpy as np

SHAPE = (24, 20)

PONI = f"""# A small detector
poni_version: 2
Detector: Detector
Detector_config: {{"pixel1": 0.0001, "pixel2": 0.0001, "max_shape": [{SHAPE[0]}, {SHAPE[1]}]}}
Distance: 0.1
Poni1: 0.0012
Poni2: 0.001
Rot1: 0.01
Rot2: -0.02
Rot3: 0.0
Wavelength: 1e-10
"""


def frames(count, dtype):
    return np.random.default_rng(1).poisson(20, (count, *SHAPE)).astype(dtype)


def write_eiger(folder):
    """A master and the data file that it links to."""
    with h5py.File(folder / "seed_data_000001.h5", "w") as file:
        file.create_dataset("entry/data/data", data=frames(3, np.uint32), chunks=(1, *SHAPE), **hdf5plugin.Bitshuffle())
    with h5py.File(folder / "seed_master.h5", "w") as file:
        file.create_group("entry/data")["data_000001"] = h5py.ExternalLink("seed_data_000001.h5", "/entry/data/data")
        detector = file.create_group("entry/instrument/detector")
        detector["x_pixel_size"] = detector["y_pixel_size"] = 1e-4
        detector["beam_center_x"], detector["beam_center_y"] = 10.0, 12.0
        detector["detector_distance"] = 0.1
        detector["detectorSpecific/pixel_mask"] = np.zeros(SHAPE, np.uint32)
        file["entry/instrument/beam/incident_wavelength"] = 1.0


def write_stack(path):
    """A stack as NeXus files have it, with gzip and a default plot, and the newest format that this library writes."""
    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["default"] = "entry"
        entry = file.create_group("entry")
        entry.attrs.update({"NX_class": "NXentry", "default": "plot"})
        plot = entry.create_group("plot")
        plot.attrs.update({"NX_class": "NXdata", "signal": "frames"})
        plot.create_dataset("frames", data=frames(4, np.int32), chunks=(2, 12, 20), compression="gzip", shuffle=True)
        plot["monitor"] = np.arange(4.0)


def write_all(folder, program):
    """Returns kind -> list of files to damage. What a file refers to lies beside it."""
    folder = pathlib.Path(folder)
    poni = folder / "seed.poni"
    poni.write_text(PONI)
    fabio.cbfimage.CbfImage(data=frames(1, np.int32)[0]).write(str(folder / "seed.cbf"))
    for dtype in (np.uint16, np.float32):
        fabio.edfimage.EdfImage(data=frames(1, dtype)[0]).write(str(folder / f"seed_{np.dtype(dtype)}.edf"))
    fabio.tifimage.TifImage(data=frames(1, np.uint16)[0]).write(str(folder / "seed.tif"))
    np.save(folder / "seed.npy", frames(2, np.int16))
    np.save(folder / "seed_float.npy", frames(2, np.float64) / 3)
    write_eiger(folder)
    write_stack(folder / "seed_stack.h5")

    def run(*arguments):
        return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    common = ["integrate", "-p", poni, "-n", 8, "-q"]
    run(*common, "--error-model", "poisson", "-o", folder / "pattern.nxs", folder / "seed.npy")
    run(*common, "--npt-azim", 4, "-o", folder / "cake.nxs", folder / "seed.npy")
    (folder / "seed.json").write_text(run(*common, "--error-model", "poisson", "--dump-config"))
    np.save(folder / "scan.npy", frames(12, np.int32))
    run(*common, "-o", folder / "scan.nxs", folder / "scan.npy")
    run("map", folder / "scan.nxs", "--shape", "3,4", "--window", "low=0.6:1.2", "-o", folder / "images.nxs", "-q")
    run("tomo", folder / "scan.nxs", "--shape", "4,3", "--angle-range", 180, "--centre", 1, "-o", folder / "volume.nxs", "-q")

    np.save(folder / "blocks.npy", frames(40, np.int32))
    for k in (1, 2):
        run(*common, "-o", folder / f"part_{k}.nxs", "--part", f"{k}/2", folder / "blocks.npy")
    run("merge", "--virtual", folder / "part_1.nxs", folder / "part_2.nxs", "-o", folder / "run.nxs", "-q")
    run("correlate", "--polar", folder / "seed_float.npy", "--legendre", 4, "--flat-ewald", "-o", folder / "correlation.nxs", "-q")

    def named(*names):
        return [folder / name for name in names]

    return {
        "cbf": named("seed.cbf"),
        "edf": named("seed_uint16.edf", "seed_float32.edf"),
        "tiff": named("seed.tif"),
        "npy": named("seed.npy", "seed_float.npy"),
        "hdf5": named("seed_stack.h5", "seed_master.h5", "seed_data_000001.h5"),
        "output": named("pattern.nxs", "cake.nxs"),
        "images": named("images.nxs"),
        "volume": named("volume.nxs"),
        "correlation": named("correlation.nxs"),
        "parts": named("run.nxs", "part_1.nxs", "part_2.nxs"),
        "poni": [poni],
        "json": named("seed.json"),
    }
