"""What the peers' users do, timed: FabIO or h5py and pyFAI, plainly and with care, and azint."""

import importlib
import importlib.util
import logging
import pathlib
import time
import warnings

import fabio
import fabio.cbfimage
import h5py
import hdf5plugin  # noqa: F401: lets h5py read bitshuffle
import numpy
import pyFAI
from fabio.compression import decByteOffset

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
METHOD = ("bbox", "csr", "cython")
UNIT = "2th_deg"
NEWER = int(pyFAI.version.split(".")[0]) > 0  # releases are named after their year since 2023
DEAD = {"dummy": -2, "delta_dummy": 1.5}  # how Pilatus files mark pixels in gaps and dead ones


def versions():
    return {"pyFAI": pyFAI.version, "FabIO": fabio.version, "h5py": h5py.__version__, "hdf5plugin": hdf5plugin.version,
            "NumPy": numpy.__version__}


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Rows:
    """A file with a row of intensity, and of sigma, for every frame."""

    def __init__(self, path, npt, with_sigma):
        self.file = h5py.File(path, "w")
        self.names = ["I", "sigma"] if with_sigma else ["I"]
        for name in self.names:
            self.file.create_dataset(name, shape=(0, npt), maxshape=(None, npt), chunks=(1, npt), dtype="f4")

    def append(self, *columns):
        for name, values in zip(self.names, columns):
            dataset = self.file[name]
            dataset.resize(len(dataset) + 1, axis=0)
            dataset[-1] = values


class PyFaiAsUsed:
    """fabio.open, integrate1d, a row: the loop of its documentation."""

    name = "pyfai"
    dead = DEAD

    def __init__(self, poni, npt, model, polarization, path):
        self.integrator = pyFAI.load(str(poni))
        self.npt, self.path, self.with_sigma = npt, path, model == "poisson"
        self.options = {"unit": UNIT, "method": METHOD, "polarization_factor": polarization, "correctSolidAngle": True,
                        "error_model": "poisson" if self.with_sigma else None, **self.dead}

    def read(self, file):
        return fabio.open(str(file)).data

    def integrate(self, file):
        result = self.integrator.integrate1d(self.read(file), self.npt, **self.options)
        return result.intensity, result.sigma

    def warm_up(self, file):
        self.integrate(file)

    def loop(self, files):
        rows = Rows(self.path, self.npt, self.with_sigma)
        for file in files:
            rows.append(*self.integrate(file))
        rows.file.close()

    def seconds_a_frame(self, files):
        return seconds(lambda: self.loop(files)) / len(files)


def stored(path, frames):
    """The first rows that a peer has written."""
    with h5py.File(path) as file:
        return {name: file[name][:frames].astype(float) for name in file}


class EigerAsUsed(PyFaiAsUsed):
    """A frame of an h5py dataset instead of a file: what is integrated are numbers of frames."""

    dead = {"dummy": 2**32 - 1, "delta_dummy": 2}  # how Eiger files mark pixels

    def __init__(self, master, *args):
        super().__init__(*args)
        self.dataset = h5py.File(master)["entry/data/data_000001"]

    def read(self, frame):
        return self.dataset[frame]


class EigerInMemory:
    """The chunks of the first frames in a file that is memory only: reading them is decoding them."""

    def __init__(self, master, frames):
        source = h5py.File(master)["entry/data/data_000001"]
        memory = h5py.File("memory", "w", driver="core", backing_store=False)
        self.copy = memory.create_dataset("data", shape=(frames, *source.shape[1:]), dtype=source.dtype,
                                          chunks=(1, *source.shape[1:]), **hdf5plugin.Bitshuffle())
        for frame in range(frames):
            mask, chunk = source.id.read_direct_chunk((frame, 0, 0))
            self.copy.id.write_direct_chunk((frame, 0, 0), chunk, mask)
        self.image = numpy.empty(source.shape[1:], source.dtype)

    def decode_seconds(self):
        def decode():
            for frame in range(len(self.copy)):
                self.copy.read_direct(self.image, numpy.s_[frame])
        return seconds(decode) / len(self.copy)


class PyFaiTuned(PyFaiAsUsed):
    """The decoder on the bare payload, and the matrix product called directly with corrections made before."""

    name = "pyfai tuned"

    def warm_up(self, file):
        image = fabio.open(str(file)).data
        self.integrator.integrate1d(image, self.npt, **self.options)
        (kept,) = self.integrator.engines.values()  # the one that this call has made
        self.engine = kept.engine
        self.size = image.size
        # Both divide: one array does for the two.
        self.correction = numpy.ascontiguousarray(
            self.integrator.solidAngleArray(image.shape)
            * self.integrator.polarization(image.shape, self.options["polarization_factor"]), numpy.float32)

    def error_model(self):
        if not NEWER:
            return {"poissonian": True if self.with_sigma else None}
        from pyFAI.containers import ErrorModel
        return {"error_model": ErrorModel.POISSON if self.with_sigma else ErrorModel.NO}

    def integrate(self, file):
        image = decByteOffset(payload(file), size=self.size, dtype="int32")
        result = self.engine.integrate_ng(image, solidangle=self.correction, **self.error_model(), **DEAD)
        return result.intensity, result.sigma


class PyFaiCakes:
    """fabio.open, integrate2d_ng: cakes, which are not written."""

    def __init__(self, poni, npt, npt_azim, polarization):
        self.integrator = pyFAI.load(str(poni))
        self.shape = (npt, npt_azim)
        self.options = {"unit": UNIT, "method": METHOD, "polarization_factor": polarization, **DEAD}

    def seconds_a_frame(self, files):
        def loop():
            for file in files:
                self.integrator.integrate2d_ng(fabio.open(str(file)).data, *self.shape, **self.options)
        return seconds(loop) / len(files)


def first_call(poni, file, npt, model, polarization):
    """The call that makes the matrix, on an integrator that has seen nothing."""
    image = fabio.open(str(file)).data
    integrator = pyFAI.load(str(poni))
    return seconds(lambda: integrator.integrate1d(
        image, npt, unit=UNIT, method=METHOD, polarization_factor=polarization, correctSolidAngle=True,
        error_model="poisson" if model == "poisson" else None, **DEAD))


START_OF_BINARY = b"\x0c\x1a\x04\xd5"


def payload(file):
    """The compressed bytes, found without FabIO's reading of the header."""
    content = pathlib.Path(file).read_bytes()
    start = content.index(START_OF_BINARY)
    name = b"X-Binary-Size:"
    at = content.index(name, 0, start) + len(name)
    size = int(content[at: content.index(b"\n", at)])
    start += len(START_OF_BINARY)
    return content[start: start + size]


def payloads(files):
    """Of each file its bytes, as a copy of its own, and the number of pixels."""
    found = []
    for file in files:
        with fabio.open(str(file)) as image:
            found.append((payload(file), image.data.size))
    return found


class Decoder:
    """FabIO's compiled decoder for 32 bits, which its users get for CBF, on payloads in memory."""

    def __init__(self, files):
        self.payloads = payloads(files)
        self.decode_seconds()

    def decode_seconds(self):
        """A frame."""
        def decode():
            for content, size in self.payloads:
                decByteOffset(content, size=size, dtype="int32")
        return seconds(decode) / len(self.payloads)


def has_azint():
    return importlib.util.find_spec("azint") is not None


class Azint:
    """As its own benchmark does; it has no fast way in, so files are read by FabIO."""

    def __init__(self, poni, npt, model, polarization):
        self.integrator = importlib.import_module("azint").AzimuthalIntegrator(
            str(poni), 4, npt, unit="2th", mask=pyFAI.load(str(poni)).detector.mask, solid_angle=True,
            polarization_factor=polarization, error_model="poisson" if model == "poisson" else None)

    def seconds_a_frame(self, files):
        def loop():
            for file in files:
                self.integrator.integrate(fabio.open(str(file)).data)
        return seconds(loop) / len(files)
