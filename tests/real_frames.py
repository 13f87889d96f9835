"""Real detector files, and a geometry for each in which all of its pixels are in range."""

REAL_CBF = ["cct/org_00100.cbf", "dials/GX-CORRECTIONS.cbf", "dials/X-CORRECTIONS.cbf", "dials/ximg2701_00001.cbf",
            "dxtbx/omega_scan.cbf", "gisaxs/jg_gisaxs_4nm_old_3ml_insitu_ds03_00001_00006.cbf",
            "swaxs-reduction/b_tassone_Standards_LaB6_T20_ctr0_scan1_0000.cbf"]

LARGEST_COUNT = 1 << 20


def integrate_arguments(path, shape, poni):
    """Writes the geometry to `poni`; gives the command line but for backend, splitting and output."""
    poni.write_text(
        "poni_version: 2\nDetector: Detector\n"
        f'Detector_config: {{"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [{shape[0]}, {shape[1]}]}}\n'
        f"Distance: 0.1\nPoni1: {0.45e-4 * shape[0]}\nPoni2: {0.52e-4 * shape[1]}\n"
        "Rot1: 0.02\nRot2: -0.01\nRot3: 0\nWavelength: 1e-10\n")
    return ["integrate", "-p", poni, "-n", 700, "--error-model", "poisson", "--dummy", -2, "--delta-dummy", 1.5,
            "--max-count", LARGEST_COUNT, "-q", path]
