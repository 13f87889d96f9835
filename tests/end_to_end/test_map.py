"""Maps of windows over two motors, against the stored integers in Python's fractions."""

import json
import math
import os
import subprocess
import time
from fractions import Fraction

import fabio
import h5py
import numpy
import pytest

USAGE, INPUT, OUTPUT = 2, 3, 5
FRAMES = 24
SUMS = "/entry/reduction/accumulators"


def write_csv(path, columns):
    lines = [",".join(columns)]
    lines += [",".join("" if numpy.isnan(v) else repr(float(v)) for v in row) for row in zip(*columns.values())]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def motors():
    """A zigzag of 4 lines of 6 points with noisy motors. One point was taken twice, one has no position."""
    random = numpy.random.default_rng(8)
    x = numpy.concatenate([numpy.arange(6.0)[::1 if line % 2 == 0 else -1] for line in range(4)])
    y = numpy.repeat(numpy.arange(4.0), 6) * 0.25
    x[13], y[13] = x[12], y[12]
    x[20] = numpy.nan
    noise = random.normal(0, 1e-3, (2, FRAMES))
    return {"x": x + noise[0], "y": y + 0.1 * noise[1], "I0": random.uniform(900, 1100, FRAMES)}


@pytest.fixture(scope="module")
def patterns(annulus, scan, motors, tmp_path_factory):
    """The same scan as integers with a dark and a monitor, and as floats of very different exponents."""
    folder = tmp_path_factory.mktemp("maps")
    table = write_csv(folder / "motors.csv", motors)
    common = ["integrate", "-p", scan.poni, "-n", 200, "--error-model", "poisson", "--column", f"x={table}#x",
              "--column", f"y={table}#y"]
    images = numpy.stack([fabio.open(str(path)).data for path in scan.files])
    numpy.save(folder / "dark.npy", numpy.full(images.shape[1:], 1.25))
    done = annulus(*common, "--monitor", f"I0={table}#I0", "--dark", folder / "dark.npy", "-o", folder / "integers.nxs",
                   *scan.files)
    assert done.returncode == 0, done.stderr
    floats = numpy.maximum(images, 0).astype(numpy.float32)
    floats *= (2.0 ** -(numpy.arange(FRAMES) * 3 % 11)).astype(numpy.float32)[:, None, None]
    numpy.save(folder / "floats.npy", floats)
    done = annulus(*common, "-o", folder / "floats.nxs", folder / "floats.npy")
    assert done.returncode == 0, done.stderr
    return folder


class Oracle:
    """Windows of cells, in exact arithmetic that is rounded where the definition says."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.axis = file["/entry/data/radial_axis"][()]
            self.stored = file["/entry/data/I"][()]
            self.factor = file["/entry/frames/normalization_factor"][()]
            self.bits = dict(file[SUMS].attrs)
            read = {name: item[()] for name, item in file[SUMS].items()}
        self.fraction_bits = read["fraction_bits"]
        whole = {name: value.astype(object) for name, value in read.items()}
        for quantity in ("signal", "variance"):
            for word in range(1, 6):
                if f"{quantity}_word{word}" in whole:
                    whole[quantity] = whole[quantity] + whole[f"{quantity}_word{word}"] * 2 ** (64 * word)
        self.sums = whole

    def bins(self, low, high):
        return numpy.flatnonzero((self.axis >= low) & (self.axis <= high))

    def total(self, name, frame, bins):
        return int(sum((self.sums[name] - self.sums["missing_" + name][frame])[bins]))

    def exact(self, name, frames, bins, bits):
        return float(sum(Fraction(int(sum(self.sums[name][f][bins])), 2 ** (int(bits) + int(self.fraction_bits[f])))
                         for f in frames))

    def value(self, frames, bins):
        """Intensity, error, centre of these bins."""
        weight, norm = int(self.bits["weight_bits"]), int(self.bits["normalization_bits"])
        denominator = 0.0
        for f in frames:
            denominator += float(self.total("normalization", f, bins)) * 2.0 ** -(weight + norm) * self.factor[f]
        signal = self.exact("signal", frames, bins, weight)
        if "dark" in self.sums:
            dark = sum(self.total("dark", f, bins) for f in frames)
            signal -= float(dark) * 2.0 ** -(weight + int(self.bits["dark_bits"]))
        weights = [sum(self.total("normalization", f, [b]) * self.factor[f] for f in frames) for b in bins]
        error = math.sqrt(self.exact("variance", frames, bins, self.bits["variance_bits"])) / denominator
        return signal / denominator, error, float(numpy.dot(weights, self.axis[bins]) / sum(weights))


def cells_of(motors):
    cells = {}
    for frame in range(FRAMES):
        if not math.isnan(motors["x"][frame]):
            cells.setdefault((round(motors["y"][frame] * 4), round(motors["x"][frame])), []).append(frame)
    return cells


def images_of(path):
    with h5py.File(path) as file:
        found = {}
        for name, group in file["/entry"].items():
            if group.attrs.get("NX_class") == "NXdata":
                found[name] = group[group.attrs["signal"]][()], [group[axis][()] for axis in group.attrs["axes"]]
        return found


@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_every_cell_is_the_sum_of_its_integers_divided_once(annulus, patterns, motors, tmp_path, kind):
    out = tmp_path / "map.nxs"
    done = annulus("map", patterns / f"{kind}.nxs", "-o", out, "--x", "x", "--y", "y", "--window", "wide=10:30",
                   "--window", "peak=16:17.6,15.1:15.8,17.8:18.8", "--values", "intensity,error,centre,width,maximum,place",
                   "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    # The doubled point left its neighbour empty, and the frame without position its own cell.
    assert (report["rows"], report["columns"], report["empty_cells"], report["crowded_cells"]) == (4, 6, 2, 1)
    assert (report["frames"], report["frames_left_out"]) == (23, 1)
    images, oracle = images_of(out), Oracle(patterns / f"{kind}.nxs")
    wide, side = oracle.bins(10, 30), [oracle.bins(15.1, 15.8), oracle.bins(17.8, 18.8)]
    peak = oracle.bins(16, 17.6)
    cells = cells_of(motors)
    assert len(cells) == 22 and max(map(len, cells.values())) == 2
    without = 0
    for row in range(4):
        for column in range(6):
            at = {name: values[row, column] for name, (values, axes) in images.items()}
            if (row, column) not in cells:
                assert at.pop("frames_in_cell") == 0 and all(math.isnan(value) for value in at.values())
                continue
            frames = cells[row, column]
            assert at["frames_in_cell"] == len(frames)
            intensity, error, _ = oracle.value(frames, wide)
            assert at["wide_intensity"] == intensity and at["wide_error"] == error
            # With a background the last digits depend on the order of operations, which is nobody's definition.
            whole, left, right = (oracle.value(frames, bins) for bins in (peak, *side))
            share = (whole[2] - left[2]) / (right[2] - left[2])
            assert at["peak_intensity"] == pytest.approx(whole[0] - (1 - share) * left[0] - share * right[0], rel=1e-9)
            assert at["peak_error"] == pytest.approx(
                math.sqrt(whole[1] ** 2 + ((1 - share) * left[1]) ** 2 + (share * right[1]) ** 2), rel=1e-12)
            slope = (right[0] - left[0]) / (right[2] - left[2])
            heights = numpy.array([oracle.value(frames, [b])[0] for b in peak])
            heights -= left[0] + slope * (oracle.axis[peak] - left[2])
            centre = numpy.average(oracle.axis[peak], weights=heights)
            square = numpy.average((oracle.axis[peak] - centre) ** 2, weights=heights)
            if heights.sum() <= 0:  # the gold has turned into CeO2
                assert math.isnan(at["peak_centre"]) and math.isnan(at["peak_width"])
                without += 1
            else:
                assert at["peak_centre"] == pytest.approx(centre, rel=1e-9)
                assert at["peak_width"] == pytest.approx(math.sqrt(square), rel=1e-6)
            assert at["peak_maximum"] == pytest.approx(heights.max(), rel=1e-9)
            assert at["peak_place"] == oracle.axis[peak][heights.argmax()]
    assert 0 < without < 11


def test_axes_are_the_mean_positions_of_the_motors(annulus, patterns, motors, tmp_path):
    assert annulus("map", patterns / "integers.nxs", "-o", tmp_path / "map.nxs", "--x", "x", "--y", "y").returncode == 0
    (values, (rows, columns)) = images_of(tmp_path / "map.nxs")["pattern_intensity"]
    assert values.shape == (4, 6)
    for column in range(6):
        assert columns[column] == pytest.approx(numpy.mean([x for x in motors["x"] if round(x if x == x else -1) == column]))
    assert numpy.allclose(rows, [0, 0.25, 0.5, 0.75], atol=1e-3)


def test_a_map_of_the_whole_pattern_of_lone_frames_has_their_patterns(annulus, patterns, motors, tmp_path):
    """A window of one bin is that bin of the stored patterns, to the last bit."""
    oracle = Oracle(patterns / "floats.nxs")
    middle = oracle.axis[100]
    step = oracle.axis[101] - middle
    assert annulus("map", patterns / "floats.nxs", "-o", tmp_path / "map.nxs", "--x", "x", "--y", "y", "--window",
                   f"one={middle - step / 3}:{middle + step / 3}").returncode == 0
    values = images_of(tmp_path / "map.nxs")["one_intensity"][0]
    for (row, column), frames in cells_of(motors).items():
        if len(frames) == 1:
            assert values[row, column] == oracle.stored[frames[0], 100]


def test_a_shape_with_zigzag_needs_no_motors(annulus, patterns, tmp_path):
    for zigzag, second in (("none", [6, 7, 8, 9, 10, 11]), ("odd", [11, 10, 9, 8, 7, 6])):
        done = annulus("map", patterns / "integers.nxs", "-o", tmp_path / f"{zigzag}.nxs", "--shape", "4,6", "--zigzag",
                       zigzag)
        assert done.returncode == 0, done.stderr
        oracle = Oracle(patterns / "integers.nxs")
        everything = numpy.arange(len(oracle.axis))
        values = images_of(tmp_path / f"{zigzag}.nxs")["pattern_intensity"][0]
        assert [values[1, i] for i in range(6)] == [oracle.value([f], everything)[0] for f in second]


def test_a_table_of_windows(annulus, patterns, tmp_path):
    table = tmp_path / "windows.csv"
    table.write_text("name,from,to,left_from,left_to,right_from,right_to\nlow,10,12,,,,\npeak,16,17.6,15.1,15.8,17.8,18.8\n")
    assert annulus("map", patterns / "integers.nxs", "-o", tmp_path / "a.nxs", "--x", "x", "--y", "y", "--windows",
                   table).returncode == 0
    assert annulus("map", patterns / "integers.nxs", "-o", tmp_path / "b.nxs", "--x", "x", "--y", "y", "--window",
                   "low=10:12", "--window", "peak=16:17.6,15.1:15.8,17.8:18.8").returncode == 0
    a, b = images_of(tmp_path / "a.nxs"), images_of(tmp_path / "b.nxs")
    assert set(a) == {"low_intensity", "peak_intensity", "frames_in_cell"} == set(b)
    for name in a:
        assert numpy.array_equal(a[name][0], b[name][0], equal_nan=True)


def test_renormalising_changes_the_map_as_reducing_again_does(annulus, scan, patterns, motors, tmp_path):
    table = write_csv(tmp_path / "motors.csv", motors)
    assert annulus("renormalise", patterns / "integers.nxs", "-o", tmp_path / "plain.nxs").returncode == 0
    done = annulus("integrate", "-p", scan.poni, "-n", 200, "--error-model", "poisson", "--dark", patterns / "dark.npy",
                   "--column", f"x={table}#x", "--column", f"y={table}#y", "-o", tmp_path / "again.nxs", *scan.files)
    assert done.returncode == 0, done.stderr
    maps = []
    for name in ("plain", "again"):
        assert annulus("map", tmp_path / f"{name}.nxs", "-o", tmp_path / f"{name}_map.nxs", "--x", "x", "--y", "y",
                       "--window", "peak=16:17.6,15.1:15.8,17.8:18.8", "--values", "intensity,error").returncode == 0
        maps.append(images_of(tmp_path / f"{name}_map.nxs"))
    for name in maps[0]:
        assert numpy.array_equal(maps[0][name][0], maps[1][name][0], equal_nan=True)


def test_following_ends_with_the_map_of_the_finished_scan(annulus, scan, motors, tmp_path):
    """Frames appear one by one; the map is there before the scan is complete, and its last state is the map of all."""
    table = write_csv(tmp_path / "motors.csv", motors)
    folder = tmp_path / "frames"
    folder.mkdir()
    program = os.environ["ANNULUS"]
    options = ["--x", "x", "--y", "y", "--window", "peak=16:17.6,15.1:15.8,17.8:18.8"]
    reduction = subprocess.Popen([program, "integrate", "-p", scan.poni, "-n", "200", "--column", f"x={table}#x", "--column",
                                  f"y={table}#y", "--follow", "--follow-timeout", "3", "-o", tmp_path / "scan.nxs", "-q",
                                  folder])
    follower = subprocess.Popen([program, "map", tmp_path / "scan.nxs", "-o", tmp_path / "live.nxs", "--follow",
                                 "--picture", tmp_path / "live.png", "-q", *options])
    states = []
    for number, path in enumerate(scan.files):
        (folder / f"{path.name}.part").write_bytes(path.read_bytes())
        os.rename(folder / f"{path.name}.part", folder / path.name)
        time.sleep(0.15)
        if (tmp_path / "live.nxs").exists():
            states.append(images_of(tmp_path / "live.nxs")["frames_in_cell"][0].sum())
    assert reduction.wait(60) == 0 and follower.wait(60) == 0
    assert len(set(states)) > 1 and states == sorted(states) and states[0] < 23
    assert annulus("map", tmp_path / "scan.nxs", "-o", tmp_path / "final.nxs", *options).returncode == 0
    live, final = images_of(tmp_path / "live.nxs"), images_of(tmp_path / "final.nxs")
    for name in final:
        assert live[name][0].tobytes() == final[name][0].tobytes()
        for one, other in zip(live[name][1], final[name][1]):
            assert one.tobytes() == other.tobytes()
    assert (tmp_path / "live.png").stat().st_size > 1000


@pytest.mark.parametrize("arguments, code, words", [
    (["--x", "x", "--y", "z"], USAGE, "has no column 'z' (it has I0, x, y)"),
    (["--x", "x"], USAGE, "a grid has two motors, and one is given"),
    (["--x", "x", "--y", "x"], USAGE, "column x is named for both motors"),
    (["--x", "x", "--y", "y", "--values", "width,width"], USAGE, "--values: width is given twice"),
    (["--x", "x", "--y", "y", "--scale", "log"], USAGE, "--picture"),
    (["--x", "x", "--y", "y", "--follow-timeout", "5"], USAGE, "--follow"),
    (["--x", "x", "--y", "y", "--follow", "--follow-timeout", "nan"], USAGE, "--follow-timeout: nan is no time"),
    (["--x", "x", "--y", "y", "--picture", "nowhere/map.png"], OUTPUT, "there is no folder nowhere"),
    (["--x", "x", "--y", "y", "--picture", "map.png", "-o", "map.png"], USAGE, "--picture: 'map.png' is the name of the output too"),
    (["--shape", "4,6", "--x-step", "2"], USAGE, "steps and tolerances are of motors"),
    (["--shape", "16384,16384"], USAGE, "make no map"),
    ([], USAGE, "does not say of which shape the scan is"),
    (["--x", "x", "--y", "y", "--shape", "4,6"], USAGE, "--shape"),
    (["--shape", "4"], USAGE, "--shape: it is not two numbers above 0"),
    (["--shape", "3,6"], INPUT, "24 frames do not fit 3 x 6 cells"),
    (["--shape", "4,6", "--zigzag", "sideways"], USAGE, "--zigzag"),
    (["--x", "x", "--y", "y", "--window", "1:0.5"], USAGE, "ends before it begins"),
    (["--x", "x", "--y", "y", "--window", "300:400"], USAGE, "has no bin"),
    (["--x", "x", "--y", "y", "--values", "colour"], USAGE, "'colour' is nothing that a map shows"),
    (["--x", "x", "--y", "y", "--windows", "absent.csv"], INPUT, "absent.csv"),
    (["--x", "x", "--y", "y", "--x-step", "-1"], USAGE, "column x: its step is no width"),
    (["--x", "x", "--y", "y", "--y-tolerance", "50"], INPUT, "column y: it has one position only"),
])
def test_what_makes_no_map_is_refused_in_words(annulus, patterns, tmp_path, arguments, code, words):
    output = [] if "-o" in arguments else ["-o", tmp_path / "map.nxs"]
    done = annulus("map", patterns / "integers.nxs", *output, *arguments, cwd=tmp_path)
    assert done.returncode == code and words in done.stderr, done.stderr
    assert "`" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_more_images_than_a_file_can_have_are_refused_before_the_work(annulus, patterns, tmp_path):
    table = tmp_path / "windows.csv"
    table.write_text("name,from,to\n" + "".join(f"w{i},10,12\n" for i in range(1000)))
    for values, code in (("intensity,centre,width,maximum,place", USAGE), ("intensity", 0)):
        start = time.monotonic()
        done = annulus("map", patterns / "integers.nxs", "-o", tmp_path / "map.nxs", "--x", "x", "--y", "y", "--windows", table,
                       "--values", values)
        assert done.returncode == code, done.stderr
        if code:
            assert "5001 images" in done.stderr and "which can have 4096" in done.stderr and time.monotonic() - start < 1
            done = annulus("map", tmp_path / "absent.nxs", "-o", tmp_path / "map.nxs", "--x", "x", "--y", "y", "--windows", table,
                           "--values", values)
            assert done.returncode == USAGE  # before the input is looked at


def test_an_input_that_is_not_closed_is_named(annulus, scan, motors, tmp_path):
    table = write_csv(tmp_path / "motors.csv", motors)
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "-p", scan.poni, "-n", "200", "--column",
                                f"x={table}#x", "--column", f"y={table}#y", "--follow", "-o", tmp_path / "scan.nxs", "-q",
                                scan.folder])
    while process.poll() is None:
        time.sleep(0.2)
        if (tmp_path / "scan.nxs").exists():
            with h5py.File(tmp_path / "scan.nxs", libver="latest", swmr=True) as file:
                if len(file["/entry/frames/status"]) == FRAMES:
                    break
    process.kill()
    process.wait()
    for command in (["map", "--x", "x", "--y", "y"], ["renormalise"]):
        done = annulus(command[0], tmp_path / "scan.nxs", "-o", tmp_path / f"{command[0]}.nxs", *command[1:])
        assert done.returncode == 0 and "scan.nxs is not closed" in done.stderr, done.stderr


def test_files_of_others_are_not_replaced(annulus, patterns, tmp_path):
    over = ["--x", "x", "--y", "y"]
    foreign = tmp_path / "thesis.nxs"
    foreign.write_text("years of work")
    for extra in ([], ["--overwrite"]):
        done = annulus("map", patterns / "integers.nxs", "-o", foreign, *over, *extra)
        assert done.returncode == OUTPUT, done.stderr
    assert foreign.read_text() == "years of work"
    assert annulus("map", patterns / "integers.nxs", "-o", patterns / "integers.nxs", *over, "--overwrite").returncode == OUTPUT
    assert annulus("map", foreign, "-o", tmp_path / "map.nxs", *over).returncode == INPUT
    assert annulus("map", patterns / "integers.nxs", "-o", tmp_path / "map.nxs", *over).returncode == 0
    assert annulus("map", patterns / "integers.nxs", "-o", tmp_path / "map.nxs", *over).returncode == OUTPUT
    assert annulus("map", patterns / "integers.nxs", "-o", tmp_path / "map.nxs", *over, "--overwrite").returncode == 0
