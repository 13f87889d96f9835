"""Values per frame: from tables, HDF5 files and headers into every output; monitors, and other monitors later."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import fabio
import h5py
import numpy
import pytest

USAGE, INPUT, OUTPUT, SOME_BAD = 2, 3, 5, 7
FRAMES = 24
release_only = pytest.mark.release_only
COLUMNS = "/entry/frames/columns"
BASE = ["-n", 300, "--error-model", "poisson"]


@pytest.fixture
def integrate(annulus, scan):
    def run(output, *args, inputs=None, code=0, **kwargs):
        done = annulus("integrate", "-p", scan.poni, *BASE, "-o", output, *args,
                       *(inputs if inputs is not None else scan.files), **kwargs)
        assert done.returncode == code, done.stderr + done.stdout
        return done
    return run


@pytest.fixture
def motors():
    """Values of 24 frames, with doubles that no short text has."""
    random = numpy.random.default_rng(5)
    return {"x": numpy.tile(numpy.arange(6.0), 4) + random.normal(0, 1e-3, FRAMES),
            "I0": random.uniform(900, 1100, FRAMES), "T": random.normal(300, 1, FRAMES)}


def write_csv(path, columns, delimiter=","):
    names = list(columns)
    lines = [delimiter.join(names)]
    lines += [delimiter.join("" if numpy.isnan(v) else repr(float(v)) for v in row) for row in zip(*columns.values())]
    path.write_text("\n".join(lines) + "\n")
    return path


def column(path, name):
    with h5py.File(path) as file:
        return file[f"{COLUMNS}/{name}"][()]


def verify(annulus, path):
    done = annulus("verify", path)
    assert done.returncode == 0, done.stderr
    return done


# Dates and their checksums, and the options by which the runs of these tests differ.
APART = {"/entry/start_time", "/entry/end_time", "/entry/reduction/date", "/entry/checksums/header",
         "/entry/checksums/closing"} | {f"/entry/reduction/input/{name}" for name in (
             "append", "column", "configuration", "follow", "follow_timeout", "keep_going", "monitor",
             "normalization_factor", "output", "warnings")}


def contents(path, with_chunks=True):
    """Every dataset, with its type and its attributes."""
    found = {}

    def visit(name, item):
        name = "/" + name
        attributes = {key: str(value) for key, value in item.attrs.items()}
        if isinstance(item, h5py.Group):
            found[name] = attributes
        elif name not in APART:
            value = item[()]
            chunks = item.chunks if with_chunks else None
            found[name] = (item.shape, item.maxshape, chunks, str(item.dtype), attributes,
                           value.tobytes() if hasattr(value, "tobytes") else value)
    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def assert_same(path, expected, with_chunks=True):
    got, wanted = contents(path, with_chunks), contents(expected, with_chunks)
    assert set(got) - APART == set(wanted) - APART
    assert [name for name in wanted if name in got and got[name] != wanted[name]] == []


# -- sources --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("delimiter", [",", pytest.param(";", marks=release_only), pytest.param("\t", marks=release_only), " "])
def test_columns_of_tables_are_stored_to_the_last_bit(annulus, integrate, motors, tmp_path, delimiter):
    table = write_csv(tmp_path / "motors.csv", motors, delimiter)
    out = tmp_path / "out.nxs"
    integrate(out, "--column", f"x={table}#x", "--column", f"temperature={table}#3")
    assert numpy.array_equal(column(out, "x"), motors["x"])
    assert numpy.array_equal(column(out, "temperature"), motors["T"])
    with h5py.File(out) as file:
        assert file[COLUMNS].attrs["NX_class"] == "NXcollection"
        assert file[f"{COLUMNS}/x"].dtype == numpy.float64
        assert file[f"{COLUMNS}/x"].attrs["origin"] == f"{table}#x"
        assert "units" not in file[f"{COLUMNS}/x"].attrs
    verify(annulus, out)


def test_a_table_of_numpy_has_its_names_in_a_comment(integrate, motors, tmp_path):
    table = tmp_path / "saved.txt"
    numpy.savetxt(table, numpy.stack([motors["x"], motors["I0"]], axis=1), fmt="%.17g", header="x I0")
    integrate(tmp_path / "out.nxs", "--column", f"I0={table}#I0")
    assert numpy.array_equal(column(tmp_path / "out.nxs", "I0"), motors["I0"])


@pytest.mark.parametrize("kind", ["f8", pytest.param("f4", marks=release_only), "i4",
                                  pytest.param("u8", marks=release_only), pytest.param(">i2", marks=release_only)])
@pytest.mark.parametrize("layout", [{}, {"chunks": (5,), "compression": "gzip"}], ids=["plain", "gzip"])
def test_columns_of_hdf5_counters(annulus, integrate, tmp_path, kind, layout):
    values = (numpy.arange(FRAMES) * 3 + 7).astype(kind)
    with h5py.File(tmp_path / "scan.h5", "w") as file:  # as Bliss: measurement links to the instrument
        data = file.create_dataset("1.1/instrument/I0/data", data=values, **layout)
        data.attrs["units"] = "counts"
        file["1.1/measurement/I0"] = h5py.SoftLink("/1.1/instrument/I0/data")
    out = tmp_path / "out.nxs"
    integrate(out, "--column", f"I0={tmp_path}/scan.h5::/1.1/measurement/I0")
    assert numpy.array_equal(column(out, "I0"), values.astype(float))
    with h5py.File(out) as file:
        assert file[f"{COLUMNS}/I0"].attrs["units"] == "counts"
    assert json.loads(annulus("info", "--json", out).stdout)["columns"]["I0"] == {
        "unit": "counts", "origin": f"{tmp_path}/scan.h5::/1.1/measurement/I0", "missing": 0, "range": [7, 76]}


def test_a_grid_of_counters_belongs_to_a_grid_of_frames(integrate, scan, tmp_path):
    images = numpy.stack([fabio.open(str(path)).data for path in scan.files])
    values = numpy.arange(FRAMES, dtype=float).reshape(4, 6)
    with h5py.File(tmp_path / "grid.h5", "w") as file:
        file["images"] = images.reshape(4, 6, *images.shape[1:])
        file["right"], file["wrong"], file["row"] = values, values.T, values.ravel()
    for name in ("right", "row"):
        out = tmp_path / f"{name}.nxs"
        integrate(out, "--column", f"x={tmp_path}/grid.h5::/{name}", inputs=[f"{tmp_path}/grid.h5::/images"])
        assert numpy.array_equal(column(out, "x"), values.ravel())
    done = integrate(tmp_path / "no.nxs", "--column", f"x={tmp_path}/grid.h5::/wrong",
                     inputs=[f"{tmp_path}/grid.h5::/images"], code=INPUT)
    assert "it has 6 x 4 values, the scan 4 x 6 frames" in done.stderr
    assert not (tmp_path / "no.nxs").exists()


@pytest.fixture
def cbf_with_headers(scan, tmp_path):
    """Written by FabIO, with the lines of a Dectris header that differ from frame to frame."""
    folder = tmp_path / "cbf"
    folder.mkdir()
    for i, path in enumerate(scan.files):
        lines = ["# Detector: PILATUS 100K", f"# Exposure_time {0.1 + i / 1000:.7f} s", f"# Phi {12.5 * i:.4f} deg.",
                 f"# N_oscillations {i}", "# Kappa (nil)"]
        image = fabio.cbfimage.CbfImage(data=fabio.open(str(path)).data,
                                        header={"_array_data.header_contents": "\r\n".join(lines),
                                                "_array_data.header_convention": "PILATUS_1.2"})
        image.write(str(folder / f"f_{i:03d}.cbf"))
    return folder


def test_columns_of_cbf_headers(annulus, integrate, cbf_with_headers, tmp_path):
    out = tmp_path / "out.nxs"
    done = integrate(out, "--column", "phi=header:Phi", "--column", "time=header:exposure_time", "--column",
                     "n=header:N_oscillations", "--column", "kappa=header:Kappa", inputs=[cbf_with_headers])
    assert column(out, "phi").tolist() == [12.5 * i for i in range(FRAMES)]
    assert column(out, "time").tolist() == [float(f"{0.1 + i / 1000:.7f}") for i in range(FRAMES)]
    assert column(out, "n").tolist() == list(range(FRAMES))
    assert numpy.isnan(column(out, "kappa")).all()
    assert "column kappa: 24 frames have no value, the first is" in done.stderr
    with h5py.File(out) as file:
        assert {name: file[COLUMNS][name].attrs.get("units") for name in file[COLUMNS]} == {
            "phi": "deg", "time": "s", "n": None, "kappa": None}
    verify(annulus, out)


def test_a_key_that_headers_do_not_have_is_refused_with_those_they_have(integrate, cbf_with_headers, tmp_path):
    done = integrate(tmp_path / "out.nxs", "--column", "x=header:Omega", inputs=[cbf_with_headers], code=INPUT)
    assert "its header has no 'Omega'" in done.stderr and "Exposure_time, Phi, N_oscillations" in done.stderr
    done = integrate(tmp_path / "out.nxs", "--column", "x=header:Detector", inputs=[cbf_with_headers], code=INPUT)
    assert "'PILATUS 100K' in its header, which is not a number" in done.stderr
    assert not (tmp_path / "out.nxs").exists()


def test_columns_of_edf_headers_frame_by_frame(integrate, scan, tmp_path):
    """FabIO's stacks have a header per frame; SPEC keeps motors and counters in pairs of lists."""
    data = [fabio.open(str(path)).data for path in scan.files[:6]]
    headers = [{"ExposureTime": f"{0.5 + i}", "motor_mne": "sx sy", "motor_pos": f"{i}.25 -{i}",
                "counter_mne": "sec mon", "counter_pos": f"1 {1000 + i}"} for i in range(6)]
    stack = fabio.edfimage.EdfImage(data=data[0], header=headers[0])
    for image, header in zip(data[1:], headers[1:]):
        stack.append_frame(data=image, header=header)
    stack.write(str(tmp_path / "stack.edf"))
    out = tmp_path / "out.nxs"
    integrate(out, "--column", "t=header:ExposureTime", "--column", "sx=header:sx", "--column", "sy=header:sy",
              "--column", "mon=header:mon", inputs=[tmp_path / "stack.edf"])
    assert column(out, "t").tolist() == [0.5 + i for i in range(6)]
    assert column(out, "sx").tolist() == [i + 0.25 for i in range(6)]
    assert column(out, "sy").tolist() == [-float(i) for i in range(6)]
    assert column(out, "mon").tolist() == [1000.0 + i for i in range(6)]


# -- carried into every output --------------------------------------------------------------------------------------

def test_text_outputs_and_the_summary_have_the_columns(integrate, motors, tmp_path):
    motors["x"][2] = numpy.nan
    table = write_csv(tmp_path / "m.csv", {"x [mm]": motors["x"], "I0": motors["I0"]})
    done = integrate(tmp_path / "texts", "--format", "xy", "--column", f"x={table}#x", "--monitor", f"I0={table}#I0",
                     "--json")
    summary = json.loads(done.stdout)
    assert summary["columns"] == {"x": {"unit": "mm", "origin": f"{table}#x"}, "I0": {"unit": "", "origin": f"{table}#I0"}}
    assert summary["monitor"] == "I0"
    assert any("column x: 1 frame has no value" in warning for warning in summary["warnings"])
    texts = sorted((tmp_path / "texts").glob("*.xy"))
    for i, path in enumerate(texts):
        text = path.read_text()
        said = re.search(r"^# column x: (\S+) mm$", text, re.M).group(1)
        assert numpy.array_equal(float(said), motors["x"][i], equal_nan=True)
        assert float(re.search(r"^# column I0: (\S+)$", text, re.M).group(1)) == motors["I0"][i]
        assert float(re.search(r"^# normalization factor: (\S+)$", text, re.M).group(1)) == motors["I0"][i]


def test_the_configuration_has_the_columns_and_gives_the_same_again(annulus, integrate, scan, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    options = ["--column", f"x={table}#x", "--column", f"T={table}#T", "--monitor", f"{table}#I0"]
    integrate(tmp_path / "a.nxs", *options)
    dumped = annulus("integrate", *options, "--dump-config").stdout
    assert json.loads(dumped)["column"] == [f"x={table}#x", f"T={table}#T"]
    assert json.loads(dumped)["monitor"] == f"{table}#I0"
    with h5py.File(tmp_path / "a.nxs") as file:
        (tmp_path / "c.json").write_text(file["/entry/reduction/input/configuration"][()].decode())
    integrate(tmp_path / "b.nxs", "--config", tmp_path / "c.json")
    assert_same(tmp_path / "b.nxs", tmp_path / "a.nxs")


def test_a_changed_value_of_a_column_is_found(annulus, integrate, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    integrate(tmp_path / "a.nxs", "--column", f"x={table}#x")
    with h5py.File(tmp_path / "a.nxs", "r+") as file:
        file[f"{COLUMNS}/x"][7] += 1e-9
    done = annulus("verify", tmp_path / "a.nxs")
    assert done.returncode == INPUT and "frame 7: its checksum is wrong" in done.stderr


# -- lengths and missing values -------------------------------------------------------------------------------------

@pytest.mark.parametrize("rows", [23, 25])
def test_a_table_of_the_wrong_length_is_refused(integrate, scan, tmp_path, rows):
    """The number of frames of one HDF5 file is known at once."""
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["images"] = numpy.stack([fabio.open(str(path)).data for path in scan.files])
        file["x"] = numpy.arange(float(rows))
    table = write_csv(tmp_path / "m.csv", {"x": numpy.arange(float(rows))})
    for source in (f"{table}#x", f"{tmp_path}/scan.h5::/x"):
        done = integrate(tmp_path / "out.nxs", "--column", f"x={source}", inputs=[f"{tmp_path}/scan.h5::/images"],
                         code=INPUT)
        assert f"column x: it has {rows} rows, the scan has 24 frames" in done.stderr
        assert not (tmp_path / "out.nxs").exists()
        done = integrate(tmp_path / "out.nxs", "--keep-going", "--overwrite", "--column", f"x={source}",
                         inputs=[f"{tmp_path}/scan.h5::/images"])
        assert f"it has {rows} rows" in done.stderr
        assert int(numpy.isnan(column(tmp_path / "out.nxs", "x")).sum()) == max(0, 24 - rows)
        (tmp_path / "out.nxs").unlink()


def test_too_few_rows_for_many_files_end_the_scan_at_that_frame(integrate, scan, tmp_path):
    table = write_csv(tmp_path / "m.csv", {"x": numpy.arange(20.0)})
    done = integrate(tmp_path / "out.nxs", "--column", f"x={table}#x", code=INPUT)
    assert "the scan seems to have 24 frames" in done.stderr
    assert f"{scan.files[20]}: column x: {table}#x has 20 rows, and this is frame 20 of the scan" in done.stderr
    assert len(column(tmp_path / "out.nxs", "x")) == 20
    done = integrate(tmp_path / "all.nxs", "--keep-going", "--column", f"x={table}#x")
    assert "column x: 4 frames have no value, the first is" in done.stderr
    assert numpy.isnan(column(tmp_path / "all.nxs", "x")).tolist() == [False] * 20 + [True] * 4


def test_bad_frames_have_their_values(annulus, integrate, scan, motors, tmp_path):
    for path in scan.files:
        shutil.copy(path, tmp_path)
    (tmp_path / scan.files[5].name).write_bytes(b"no image")
    inputs = [tmp_path / path.name for path in scan.files]
    table = write_csv(tmp_path / "m.csv", motors)
    integrate(tmp_path / "out.nxs", "--keep-going", "--column", f"x={table}#x", inputs=inputs, code=SOME_BAD)
    assert numpy.array_equal(column(tmp_path / "out.nxs", "x"), motors["x"])
    verify(annulus, tmp_path / "out.nxs")


@pytest.mark.parametrize("text, said", [
    ("x", "does not say which column it is"), ("x=", "names neither"), ("x=m.csv", "names neither"),
    ("x y=m.csv#x", "which is no name"), ("x=m.csv#", "names no column"), ("x=header:", "names no key"),
    ("x=m.h5::", "names no dataset")])
def test_what_is_no_column_is_refused(integrate, tmp_path, text, said):
    done = integrate(tmp_path / "out.nxs", "--column", text, code=USAGE)
    assert said in done.stderr and "--column" in done.stderr
    done = integrate(tmp_path / "out.nxs", "--column", "x=a.csv#x", "--column", "x=b.csv#x", code=USAGE)
    assert "two columns are called x" in done.stderr


def test_a_column_that_is_not_there_is_refused(integrate, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    for source, code, said in [(f"{table}#y", USAGE, "there are: x, I0, T"), (f"{tmp_path}/no.csv#x", INPUT, "No such file"),
                               (f"{tmp_path}/no.h5::/x", INPUT, "No such file"),
                               (f"{table}::/x", INPUT, "cannot be opened as HDF5")]:
        done = integrate(tmp_path / "out.nxs", "--column", f"x={source}", code=code)
        assert said in done.stderr and "column x" in done.stderr
        assert not (tmp_path / "out.nxs").exists()


def test_an_output_never_replaces_a_table(integrate, motors, tmp_path):
    table = write_csv(tmp_path / "m.xy", motors)
    done = integrate(table, "--overwrite", "--column", f"x={table}#x", inputs=None, code=USAGE)
    table = write_csv(tmp_path / "m.nxs", motors)
    before = table.read_bytes()
    done = integrate(table, "--overwrite", "--column", f"x={table}#x", code=OUTPUT)
    assert "names an input of this run" in done.stderr
    assert table.read_bytes() == before


# -- monitors -------------------------------------------------------------------------------------------------------

def test_a_monitor_divides_each_frame(annulus, integrate, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    integrate(tmp_path / "plain.nxs")
    forms = {"name": ["--column", f"I0={table}#I0", "--monitor", "I0"], "named": ["--monitor", f"I0={table}#I0"],
             "bare": ["--monitor", f"{table}#I0"]}
    for form, options in forms.items():
        out = tmp_path / f"{form}.nxs"
        integrate(out, *options, "--normalization-factor", 2)
        with h5py.File(out) as file, h5py.File(tmp_path / "plain.nxs") as plain:
            assert numpy.array_equal(file["/entry/frames/normalization_factor"][()], 2 * motors["I0"])
            assert file["/entry/monitor_applied"][()]
            assert list(file[COLUMNS]) == ["monitor" if form == "bare" else "I0"]
            for name in ("I", "I_errors"):
                expected = plain[f"/entry/data/{name}"][()] / (2 * motors["I0"])[:, None]
                numpy.testing.assert_allclose(file[f"/entry/data/{name}"][()], expected, rtol=1e-14)
            signal = "/entry/reduction/accumulators/signal"
            assert numpy.array_equal(file[signal][()], plain[signal][()])
            assert file["/entry/reduction/input/plan_hash"][()] == plain["/entry/reduction/input/plan_hash"][()]
        verify(annulus, out)


def test_an_unknown_monitor_is_refused(integrate, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    done = integrate(tmp_path / "out.nxs", "--column", f"x={table}#x", "--monitor", "I0", code=USAGE)
    assert "there is no column 'I0'" in done.stderr and "there are: x" in done.stderr
    assert not (tmp_path / "out.nxs").exists()


@pytest.mark.parametrize("value, said", [(0, "is 0, by which nothing"), (numpy.nan, "has no value"),
                                         pytest.param(-5, "is -5, by which nothing", marks=release_only),
                                         pytest.param(numpy.inf, "is inf, by which nothing", marks=release_only)])
def test_a_monitor_that_cannot_divide_makes_a_bad_frame_that_keeps_its_sums(annulus, integrate, scan, motors, tmp_path,
                                                                            value, said):
    good = motors["I0"].copy()
    motors["I0"][3] = value
    table = write_csv(tmp_path / "m.csv", motors)
    done = integrate(tmp_path / "out.nxs", "--monitor", f"I0={table}#I0", code=INPUT)
    assert f"the monitor I0 {said}" in done.stderr and str(scan.files[3]) in done.stderr
    integrate(tmp_path / "plain.nxs")
    out = tmp_path / "kept.nxs"
    integrate(out, "--monitor", f"I0={table}#I0", "--keep-going", code=SOME_BAD)
    with h5py.File(out) as file, h5py.File(tmp_path / "plain.nxs") as plain:
        assert file["/entry/frames/status"][()].tolist() == [int(i == 3) for i in range(FRAMES)]
        assert said in file["/entry/frames/fault"][3, 0].decode()
        assert numpy.isnan(file["/entry/data/I"][3]).all() and numpy.isnan(file["/entry/data/I_errors"][3]).all()
        assert numpy.isnan(file["/entry/frames/normalization_factor"][3])
        for name in ("signal", "variance", "missing_count", "missing_normalization", "invalid_pixels"):
            path = f"/entry/reduction/accumulators/{name}"
            assert numpy.array_equal(file[path][()], plain[path][()]), name
    verify(annulus, out)
    # With another monitor the frame is good again.
    motors["I0"] = good
    write_csv(table, motors)
    done = annulus("renormalise", out, "-o", tmp_path / "again.nxs", "--monitor", f"I0={table}#I0")
    assert done.returncode == 0, done.stderr
    integrate(tmp_path / "direct.nxs", "--monitor", f"I0={table}#I0")
    assert_same(tmp_path / "again.nxs", tmp_path / "direct.nxs")


# -- renormalise ----------------------------------------------------------------------------------------------------

@pytest.fixture
def renormalise(annulus):
    def run(source, output, *args, code=0):
        done = annulus("renormalise", source, "-o", output, *args)
        assert done.returncode == code, done.stderr + done.stdout
        return done
    return run


@pytest.mark.parametrize("extra", [[], pytest.param(["--npt-azim", 12], marks=release_only),
                                   pytest.param(["--dark", "DARK", "--dummy", "7", "--delta-dummy", "3"],
                                                marks=release_only)],
                         ids=["pattern", "cake", "dark and dummy"])
def test_renormalising_equals_reducing_again(annulus, integrate, renormalise, scan, motors, tmp_path, extra):
    if "DARK" in extra:
        numpy.save(tmp_path / "dark.npy", numpy.full(fabio.open(str(scan.files[0])).data.shape, 0.25))
        extra = [tmp_path / "dark.npy" if word == "DARK" else word for word in extra]
    table = write_csv(tmp_path / "m.csv", motors)
    x, i0, t = (f"{name}={table}#{name}" for name in ("x", "I0", "T"))
    runs = {
        "plain": ["--column", x],
        "I0": ["--column", x, "--monitor", i0],
        "I0 twice": ["--column", x, "--monitor", i0, "--normalization-factor", 3],
        "T": ["--column", x, "--monitor", t],
        "bare": ["--column", x, "--monitor", f"{table}#T"],
        "factor": ["--column", x, "--normalization-factor", 7],
    }
    for name, options in runs.items():
        integrate(tmp_path / f"{name}.nxs", *extra, *options)

    def check(source, target, *options):
        out = tmp_path / "renormalised.nxs"
        renormalise(tmp_path / f"{source}.nxs", out, "--overwrite", *options)
        assert_same(out, tmp_path / f"{target}.nxs")
        verify(annulus, out)
    check("plain", "I0", "--monitor", i0)
    check("plain", "I0 twice", "--monitor", i0, "--normalization-factor", 3)
    check("I0", "I0 twice", "--monitor", "I0", "--normalization-factor", 3)
    check("plain", "T", "--monitor", t)
    check("plain", "bare", "--monitor", f"{table}#T")
    check("plain", "factor", "--normalization-factor", 7)
    check("factor", "plain")
    # Taken away: the column stays.
    integrate(tmp_path / "removed.nxs", *extra, "--column", x, "--column", i0)
    check("I0", "removed")
    # And its configuration gives the same again.
    with h5py.File(tmp_path / "renormalised.nxs") as file:
        (tmp_path / "c.json").write_text(file["/entry/reduction/input/configuration"][()].decode())
    integrate(tmp_path / "configured.nxs", "--config", tmp_path / "c.json")
    assert_same(tmp_path / "configured.nxs", tmp_path / "renormalised.nxs")


def test_renormalising_floats_and_bad_frames(annulus, integrate, renormalise, scan, tmp_path):
    """Sums of several words, and frames that were bad for other reasons."""
    images = numpy.stack([fabio.open(str(path)).data for path in scan.files]).astype(numpy.float32) / 7
    for i in range(10):
        numpy.save(tmp_path / f"f_{i}.npy", images[i])
    (tmp_path / "f_4.npy").write_bytes(b"no image")
    inputs = [tmp_path / f"f_{i}.npy" for i in range(10)]
    table = write_csv(tmp_path / "m.csv", {"I0": [1000.0 + i if i != 6 else numpy.nan for i in range(10)]})
    options = ["--keep-going", "--monitor", f"I0={table}#I0"]
    integrate(tmp_path / "plain.nxs", "--keep-going", inputs=inputs, code=SOME_BAD)
    integrate(tmp_path / "direct.nxs", *options, inputs=inputs, code=SOME_BAD)
    done = renormalise(tmp_path / "plain.nxs", tmp_path / "out.nxs", "--monitor", f"I0={table}#I0", code=INPUT)
    assert "the monitor I0 has no value" in done.stderr and "f_6.npy" in done.stderr
    assert not (tmp_path / "out.nxs").exists()
    done = renormalise(tmp_path / "plain.nxs", tmp_path / "out.nxs", *options, "--json", code=SOME_BAD)
    assert json.loads(done.stdout)["bad_frames"] == 2
    assert_same(tmp_path / "out.nxs", tmp_path / "direct.nxs")
    verify(annulus, tmp_path / "out.nxs")


def test_a_renormalised_output_can_be_continued(annulus, integrate, renormalise, scan, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    part = write_csv(tmp_path / "part.csv", {name: values[:10] for name, values in motors.items()})
    integrate(tmp_path / "part.nxs", inputs=scan.files[:10])
    renormalise(tmp_path / "part.nxs", tmp_path / "out.nxs", "--monitor", f"I0={part}#I0")
    done = integrate(tmp_path / "out.nxs", "--append", "--monitor", f"I0={table}#I0")
    assert "10 frames were in the output already" in done.stdout
    with h5py.File(tmp_path / "out.nxs") as file:
        assert numpy.array_equal(file["/entry/frames/normalization_factor"][()], motors["I0"])
    verify(annulus, tmp_path / "out.nxs")


def test_what_cannot_be_renormalised_is_refused(annulus, integrate, renormalise, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    short = write_csv(tmp_path / "short.csv", {"I0": numpy.ones(20)})
    good = tmp_path / "good.nxs"
    integrate(good, "--column", f"x={table}#x")
    before = good.read_bytes()
    cases = [(good, ["--monitor", "I1"], USAGE, "there is no column 'I1'"),
             (good, ["--monitor", "header:Phi"], USAGE, "headers of frames are not read again"),
             (good, ["--monitor", f"{short}#I0"], INPUT, "it has 20 rows"),
             (good, ["--normalization-factor", 0], 4, "0 cannot divide"),
             (table, [], INPUT, "is not an output of annulus"),
             (tmp_path / "absent.nxs", [], INPUT, "is not an output of annulus")]
    for source, options, code, said in cases:
        done = renormalise(source, tmp_path / "out.nxs", *options, code=code)
        assert said in done.stderr
        assert not (tmp_path / "out.nxs").exists()
    assert "is the input" in renormalise(good, good, "--overwrite", code=OUTPUT).stderr
    assert good.read_bytes() == before
    (tmp_path / "there.nxs").write_bytes(before)
    assert "exists already" in renormalise(good, tmp_path / "there.nxs", code=OUTPUT).stderr
    # Damage does not get checksums of its own.
    with h5py.File(good, "r+") as file:
        file["/entry/reduction/accumulators/signal"][5, 100] += 1
    done = renormalise(good, tmp_path / "out.nxs", code=INPUT)
    assert "is damaged: frame 5" in done.stderr and not (tmp_path / "out.nxs").exists()


MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@release_only
def test_renormalising_takes_the_same_memory_for_long_scans(annulus, scan, tmp_path):
    taken = {}
    for frames in (96, 960):  # of 96 kB: 9 and 92 MB
        folder = tmp_path / f"of_{frames}"
        folder.mkdir()
        for i in range(frames):
            (folder / f"f_{i:04d}.cbf").symlink_to(scan.files[i % FRAMES])
        out = tmp_path / f"{frames}.nxs"
        assert annulus("integrate", "-p", scan.poni, "-n", 3000, "--error-model", "poisson", "-o", out, folder).returncode == 0
        table = write_csv(tmp_path / f"{frames}.csv", {"I0": numpy.arange(1.0, frames + 1)})
        done = subprocess.run([sys.executable, "-c", MEASURE, os.environ["ANNULUS"], "renormalise", str(out), "-o",
                               str(tmp_path / "new.nxs"), "--overwrite", "--monitor", f"{table}#I0"],
                              capture_output=True, text=True, check=True)
        code, kilobytes = map(int, done.stdout.split())
        assert code == 0, done.stderr
        taken[frames] = kilobytes / 1024
    assert taken[960] < taken[96] + 16, taken


# -- append and resume ----------------------------------------------------------------------------------------------

def test_appending_continues_the_columns(annulus, integrate, scan, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", motors)
    options = ["--column", f"x={table}#x", "--monitor", f"I0={table}#I0"]
    integrate(tmp_path / "whole.nxs", *options)
    integrate(tmp_path / "parts.nxs", *options, inputs=scan.files[:10])
    integrate(tmp_path / "parts.nxs", *options, "--append")
    for name, value in (("x", motors["x"]), ("I0", motors["I0"])):
        assert numpy.array_equal(column(tmp_path / "parts.nxs", name), value)
    verify(annulus, tmp_path / "parts.nxs")


def test_appending_other_columns_is_refused_by_name(integrate, scan, motors, tmp_path):
    table = write_csv(tmp_path / "m.csv", {"x [mm]": motors["x"], "u [m]": motors["x"], "T": motors["T"]})
    out = tmp_path / "out.nxs"
    integrate(out, "--column", f"x={table}#x", inputs=scan.files[:10])
    before = out.read_bytes()
    for options, said in [([], "has a column x, which this run does not have"),
                          (["--column", f"x={table}#x", "--column", f"T={table}#T"], "has no column T, which this run has"),
                          (["--column", f"x={table}#u"], "has column x in mm, this run has it in m")]:
        done = integrate(out, "--append", *options, code=OUTPUT)
        assert said in done.stderr
        assert out.read_bytes() == before
    texts = tmp_path / "texts"
    integrate(texts, "--format", "xy", "--column", f"x={table}#x", inputs=scan.files[:10])
    done = integrate(texts, "--format", "xy", "--append", "--column", f"T={table}#T", code=OUTPUT)
    assert "has the columns x, this run has T" in done.stderr


def test_a_killed_run_is_continued_with_the_right_rows(annulus, integrate, scan, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(400):
        (folder / f"f_{i:03d}.cbf").symlink_to(scan.files[i % FRAMES])
    values = {"x": numpy.arange(400) + 0.5, "I0": 1000.0 + numpy.arange(400)}
    table = write_csv(tmp_path / "m.csv", values)
    options = ["--column", f"x={table}#x", "--monitor", f"I0={table}#I0"]
    integrate(tmp_path / "whole.nxs", *options, inputs=[folder])
    out = tmp_path / "out.nxs"
    program = [os.environ["ANNULUS"], "integrate", "-p", scan.poni, *BASE, "-o", out, *options, "--append", "--threads", 1,
               folder]
    running = subprocess.Popen([str(word) for word in program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(400):
        time.sleep(0.02)
        if out.exists() and annulus("info", "--json", out).stdout.find('"frames": 0') < 0:
            break
    running.kill()
    running.wait()
    integrate(out, *options, "--append", inputs=[folder])
    assert numpy.array_equal(column(out, "x"), values["x"])
    with h5py.File(out) as file, h5py.File(tmp_path / "whole.nxs") as whole:
        for name in ("data/I", "frames/normalization_factor", "frames/frame_index", "checksums/frames"):
            assert numpy.array_equal(file[f"/entry/{name}"][()], whole[f"/entry/{name}"][()], equal_nan=True), name
    verify(annulus, out)


# -- live -----------------------------------------------------------------------------------------------------------

def follow(scan, tmp_path, inputs, options, timeout="20"):
    program = [os.environ["ANNULUS"], "integrate", "-p", scan.poni, *BASE, "-o", tmp_path / "live.nxs", "--follow",
               "--follow-timeout", timeout, *options, *inputs]
    return subprocess.Popen([str(word) for word in program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def grow_table(path, values, pause):
    with open(path, "w") as file:
        file.write("x,I0\n")
        for i, value in enumerate(values):
            text = f"{i}.5,{value!r}\n"
            file.write(text[:4])  # half a line is no row
            file.flush()
            time.sleep(pause)
            file.write(text[4:])
            file.flush()


def test_a_table_that_grows_later_than_the_frames_is_waited_for(annulus, integrate, scan, motors, tmp_path):
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file.create_dataset("images", data=numpy.stack([fabio.open(str(path)).data for path in scan.files]),
                            chunks=(1, 195, 487), maxshape=(None, 195, 487))
    values = [float(value) for value in motors["I0"]]
    table = tmp_path / "m.csv"
    options = ["--column", f"x={table}#x", "--monitor", f"I0={table}#I0"]
    writer = threading.Thread(target=grow_table, args=(table, values, 0.03))
    running = follow(scan, tmp_path, [f"{tmp_path}/scan.h5::/images"], options, timeout="3")
    time.sleep(0.3)
    writer.start()
    out, err = running.communicate(timeout=60)
    writer.join()
    assert running.returncode == 0, err
    assert column(tmp_path / "live.nxs", "x").tolist() == [i + 0.5 for i in range(FRAMES)]
    integrate(tmp_path / "after.nxs", *options, inputs=[f"{tmp_path}/scan.h5::/images"])
    # Whoever follows does not know how many frames there will be, and makes larger chunks.
    assert_same(tmp_path / "live.nxs", tmp_path / "after.nxs", with_chunks=False)


def test_a_counter_that_grows_in_the_same_file_as_the_frames_is_waited_for(scan, motors, tmp_path):
    """Written as Bliss does: the file is there, images first, counters some time after them."""
    images = numpy.stack([fabio.open(str(path)).data for path in scan.files])
    path = tmp_path / "scan.h5"
    file = h5py.File(path, "w", libver="latest")
    frames = file.create_dataset("images", shape=(0, *images.shape[1:]), maxshape=(None, *images.shape[1:]),
                                 chunks=(1, *images.shape[1:]), dtype=images.dtype)
    counter = file.create_dataset("I0", shape=(0,), maxshape=(None,), chunks=(16,), dtype=float)
    file.swmr_mode = True

    def grow():
        for i in range(FRAMES + 5):
            if i < FRAMES:
                frames.resize(i + 1, axis=0)
                frames[i] = images[i]
                frames.flush()
            if i >= 5:
                counter.resize(i - 4, axis=0)
                counter[i - 5] = motors["I0"][i - 5]
                counter.flush()
            time.sleep(0.05)
    running = follow(scan, tmp_path, [f"{path}::/images"], ["--monitor", f"I0={path}::/I0"], timeout="3")
    grow()
    out, err = running.communicate(timeout=60)
    file.close()
    assert running.returncode == 0, err
    assert numpy.array_equal(column(tmp_path / "live.nxs", "I0"), motors["I0"])


def test_rows_that_never_come_are_named_at_the_end(scan, tmp_path):
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file.create_dataset("images", data=numpy.stack([fabio.open(str(path)).data for path in scan.files]),
                            chunks=(1, 195, 487), maxshape=(None, 195, 487))
    table = write_csv(tmp_path / "m.csv", {"x": numpy.arange(10.0)})
    running = follow(scan, tmp_path, [f"{tmp_path}/scan.h5::/images"], ["--column", f"x={table}#x"], timeout="1")
    _, err = running.communicate(timeout=60)
    assert running.returncode == INPUT
    assert f"column x: {table}#x has 10 rows, and this is frame 10 of the scan" in err
    assert column(tmp_path / "live.nxs", "x").tolist() == list(range(10))
    (tmp_path / "live.nxs").unlink()
    running = follow(scan, tmp_path, [f"{tmp_path}/scan.h5::/images"], ["--keep-going", "--column", f"x={table}#x"], "1")
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "column x: 14 frames have no value" in err


def test_renormalising_anew_keeps_the_old_output_until_it_is_complete(annulus, integrate, scan, motors, tmp_path):
    table = write_csv(tmp_path / "motors.csv", motors)
    integrate(tmp_path / "in.nxs", "--column", f"I0={table}#I0")
    assert annulus("renormalise", tmp_path / "in.nxs", "-o", tmp_path / "out.nxs", "--monitor", "I0").returncode == 0
    before = (tmp_path / "out.nxs").read_bytes()
    zero = write_csv(tmp_path / "zero.csv", {"I1": numpy.append(motors["I0"][:-1], 0)})
    done = annulus("renormalise", tmp_path / "in.nxs", "-o", tmp_path / "out.nxs", "--overwrite", "--monitor", f"{zero}#I1")
    assert done.returncode == INPUT and "is 0, by which nothing" in done.stderr
    assert (tmp_path / "out.nxs").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.nxs", "motors.csv", "out.nxs", "zero.csv"]
    (tmp_path / "out.nxs").chmod(0o640)
    assert annulus("renormalise", tmp_path / "in.nxs", "-o", tmp_path / "out.nxs", "--overwrite").returncode == 0
    assert (tmp_path / "out.nxs").stat().st_mode & 0o777 == 0o640
    with h5py.File(tmp_path / "out.nxs") as file:
        assert file.attrs["file_name"] == "out.nxs"
    verify(annulus, tmp_path / "out.nxs")
