"""Real detector files, and a geometry for each in which all of its pixels are in range."""

REAL_CBF = ["cct/org_00100.cbf", "dials/GX-CORRECTIONS.cbf", "dials/X-CORRECTIONS.cbf", "dials/ximg2701_00001.cbf",
            "dxtbx/omega_scan.cbf", "gisaxs/jg_gisaxs_4nm_old_3ml_insitu_ds03_00001_00006.cbf",
            "swaxs-reduction/b_tassone_Standards_LaB6_T20_ctr0_scan1_0000.cbf"]

LARGEST_COUNT = 1 << 20


# In bitshuffle-LZ4: a chunk of an HDF5 file, and what a detector sent.
REAL_BLOCKS = ["hdf5plugin/bitshuffle.h5", "eiger-detector/streamfile_12"]


def write_chunks(path, chunks, shape, dtype):
    """An HDF5 file of frames that are packed already, each a chunk of filter 32008 with LZ4."""
    import h5py

    with h5py.File(path, "w") as file:
        frames = file.create_dataset("/entry/data/data", (len(chunks), *shape), dtype, chunks=(1, *shape), compression=32008,
                                     compression_opts=(0, 2))
        for i, chunk in enumerate(chunks):
            frames.id.write_direct_chunk((i, 0, 0), chunk)
    return path


def real_blocks(name, shared_data, folder):
    """A file of REAL_BLOCKS as HDF5, and the shape of its frame."""
    import h5py
    import json

    if name.endswith(".h5"):
        with h5py.File(shared_data / name) as file:
            return shared_data / name, file["/entry/data/data"].shape[1:]
    about = json.loads((shared_data / name.replace("_12", "_11")).read_text())
    shape = tuple(reversed(about["shape"]))
    return write_chunks(folder / "stream.h5", [(shared_data / name).read_bytes()], shape, about["type"]), shape


def integrate_arguments(path, shape, poni, dummy=(-2, 1.5)):
    """Writes the geometry to `poni`; gives the command line but for backend, splitting and output."""
    poni.write_text(
        "poni_version: 2\nDetector: Detector\n"
        f'Detector_config: {{"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [{shape[0]}, {shape[1]}]}}\n'
        f"Distance: 0.1\nPoni1: {0.45e-4 * shape[0]}\nPoni2: {0.52e-4 * shape[1]}\n"
        "Rot1: 0.02\nRot2: -0.01\nRot3: 0\nWavelength: 1e-10\n")
    screen = ["--dummy", dummy[0], "--delta-dummy", dummy[1]] if dummy else []
    return ["integrate", "-p", poni, "-n", 700, "--error-model", "poisson", *screen, "--max-count", LARGEST_COUNT, "-q", path]
