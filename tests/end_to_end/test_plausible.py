"""Input that can hardly be meant gets a warning that says why; good input, as real files have it, gets none."""

import json

import h5py
import numpy
import pytest


@pytest.fixture
def warnings_of(annulus, tmp_path):
    """Integrates; returns the warnings, which are the same in the summary, on the terminal and in the output."""

    def run(*args):
        done = annulus("integrate", "--json", "--overwrite", "-o", tmp_path / "out.nxs", *args)
        assert done.returncode == 0, done.stderr
        warnings = json.loads(done.stdout)["warnings"]
        head = "annulus: warning: "
        shown = [line[len(head):] for line in done.stderr.splitlines() if line.startswith(head)]
        assert shown == warnings
        with h5py.File(tmp_path / "out.nxs") as file:
            stored = file["entry/reduction/input"].get("warnings")
            assert (stored is not None) == bool(warnings)
            assert stored is None or len(stored[()].decode().splitlines()) == len(warnings)
        return warnings

    return run


def test_a_poni_file_of_a_6m_on_a_1m_frame(warnings_of, shared_data):
    warning, = warnings_of("-p", shared_data / "pyfai/Pilatus6M.poni", shared_data / "cct/org_00100.cbf")
    assert "Pilatus6M.poni" in warning and "1043 x 981" in warning and "another detector" in warning


def test_a_named_detector_of_another_shape_is_refused(annulus, shared_data, tmp_path):
    done = annulus("integrate", "-p", shared_data / "azint/bench.poni", "-o", tmp_path / "out.nxs",
                   shared_data / "cct/org_00100.cbf")
    assert done.returncode == 3 and "Eiger4M" in done.stderr and not (tmp_path / "out.nxs").exists()


@pytest.mark.parametrize("kind,shape", [("SAXS", (1043, 981)), ("WAXS", (195, 487))])
def test_an_inverted_mask(warnings_of, shared_data, tmp_path, kind, shape):
    import fabio

    swaxs = shared_data / "swaxs-reduction"
    name = {"SAXS": "RT_SAXS_mask_03.edf", "WAXS": "RT_WAXS_mask.edf"}[kind]
    frame = {"SAXS": "sone_", "WAXS": "b_tassone_"}[kind] + "Hor_scan_Run5_RampT20_ctr0_scan1_0000.raw"
    args = ["-p", swaxs / f"atT_{kind}.poni", "--raw-shape", *shape, swaxs / frame]
    assert warnings_of("-m", swaxs / name, *args) == []
    mask = fabio.open(str(swaxs / name)).data
    numpy.save(tmp_path / "inverted.npy", (mask == 0).astype("uint8"))
    warning, = warnings_of("-m", tmp_path / "inverted.npy", *args)
    assert "inverted.npy" in warning and "may be inverted" in warning


def test_a_q_range_in_the_wrong_unit(warnings_of, scan):
    good = warnings_of("-p", scan.poni, "-u", "q_A^-1", "--radial-range", 0.5, 4, scan.files[0])
    assert good == []
    for_nm, = warnings_of("-p", scan.poni, "-u", "q_A^-1", "--radial-range", 3, 40, scan.files[0])
    assert "--radial-range" in for_nm and "q_nm^-1" in for_nm
    for_a, = warnings_of("-p", scan.poni, "-u", "q_nm^-1", "--radial-range", 0.5, 4, scan.files[0])
    assert "q_A^-1" in for_a


def test_a_header_that_contradicts(warnings_of, shared_data, tmp_path):
    frame = shared_data / "dials/ximg2701_00001.cbf"  # 0.6894 A, 0.12237 m

    def poni(wavelength, distance):
        path = tmp_path / "a.poni"
        path.write_text(f"Detector: Pilatus300k\nDistance: {distance}\nPoni1: 0.056\nPoni2: 0.042\nRot1: 0\nRot2: 0\nRot3: 0\n"
                        f"Wavelength: {wavelength}\n")
        return path

    assert warnings_of("-p", poni(0.69e-10, 0.13), frame) == []
    warning, = warnings_of("-p", poni(1.0e-10, 0.13), frame)
    assert "wavelength" in warning and "6.894e-11" in warning
    warning, = warnings_of("-p", poni(0.69e-10, 1.3), frame)
    assert "distance" in warning and "0.12237" in warning


def test_real_files_with_their_calibrations_have_no_warning(warnings_of, shared_data):
    swaxs, lab6, pixium = (shared_data / name for name in ("swaxs-reduction", "lab6-tilted", "pixium-caking"))
    pairs = [(lab6 / f"b_toney_lab6_th3_scan1_{n}.poni", lab6 / f"b_toney_lab6_th3_scan1_{n}.tif") for n in ("0008", "0025")]
    pairs += [(poni, pixium / "pixium_03150.tif") for poni in sorted(pixium.glob("*.poni"))]
    pairs += [(swaxs / "atT_WAXS.poni", swaxs / "b_tassone_Standards_LaB6_T20_ctr0_scan1_0000.cbf"),
              (shared_data / "pyfai/Pilatus1M.poni", shared_data / "cct/org_00100.cbf"),
              (shared_data / "azint/bench.poni", shared_data / "hdf5plugin/bitshuffle.h5")]
    for poni, frame in pairs:
        assert warnings_of("-p", poni, frame) == [], (poni, frame)
    mask = pixium / "DLS_CeO2_1200mm.mask"
    assert warnings_of("-p", pixium / "DLS_CeO2_1200mm.poni", "-m", mask, pixium / "pixium_03150.tif") == []


def test_simulated_scans_have_no_warning(annulus, warnings_of, tmp_path):
    for options in (["--detector", "Pilatus300k"], ["--detector", "Eiger500k", "--format", "eiger"],
                    ["--detector", "Pilatus100k", "--rot1", 0.3, "--rot2", -0.2]):
        folder = tmp_path / "scan"
        assert annulus("simulate", "-o", folder, "-n", 1, "-q", "--overwrite", *options).returncode == 0
        frames = sorted(folder.glob("*master.h5")) or sorted(folder.glob("*.cbf"))
        assert warnings_of("-p", folder / "scan.poni", frames[0]) == [], options
        if frames[0].suffix == ".h5":
            assert warnings_of(frames[0]) == []
        for path in folder.iterdir():
            path.unlink()


def test_the_summary_says_what_was_integrated(annulus, scan, tmp_path):
    numpy.save(tmp_path / "mask.npy", numpy.zeros((195, 487), "uint8"))
    done = annulus("integrate", "-p", scan.poni, "-m", tmp_path / "mask.npy", "-u", "q_nm^-1", "--radial-range", 2, 40, "-o",
                   tmp_path / "out.nxs", scan.files[0])
    assert done.returncode == 0, done.stderr
    line, = [line for line in done.stdout.splitlines() if line.startswith("integrated: ")]
    for part in ("q_nm^-1 from 2 to 40", "wavelength", "distance", "gaps of Pilatus100k", "mask.npy", "of 94965 pixels"):
        assert part in line, line
