"""Parts of a scan, reduced by jobs that know nothing of each other, and outputs that are merged: as one run would have made it."""

import json
import math
import pathlib
import shutil
from fractions import Fraction

import h5py
import numpy
import pytest
import silx.io
import silx.io.nxdata

SOME_BAD = 7
# Dates and their checksums, and the options by which the runs of these tests differ.
APART = {"/entry/start_time", "/entry/end_time", "/entry/reduction/date", "/entry/checksums/header",
         "/entry/checksums/closing"} | {f"/entry/reduction/input/{name}" for name in ("append", "configuration", "output")}
OPTIONS = ["-n", 200, "--error-model", "poisson", "--keep-going"]


def contents(path):
    """All datasets, byte for byte, and all attributes but times and the file's own name."""
    found = {}

    def visit(name, item):
        name = "/" + name
        if name.startswith("/entry/parts"):
            return
        found[name + "@"] = {key: str(value) for key, value in item.attrs.items()}
        if isinstance(item, h5py.Dataset) and name not in APART:
            value = item[()]
            found[name] = (item.shape, item.maxshape, str(item.dtype), value.tobytes() if hasattr(value, "tobytes") else value)
    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def numbers_in(path):
    """All that is measured or computed: no texts, checksums, or what sources are known by."""
    return {name: item for name, item in contents(path).items()
            if name[-1] != "@" and item[2][0] in "f" or "accumulators" in name}


def assert_same(path, expected, but="@@"):
    got, wanted = ({name: item for name, item in contents(file).items() if but not in name} for file in (path, expected))
    assert set(got) == set(wanted)
    assert [name for name in wanted if got[name] != wanted[name]] == []


def good(done, *codes):
    assert done.returncode in (codes or (0,)), done.stderr + done.stdout
    return done


class Inputs:
    """A scan of all sorts of frames: 44 CBF files, of which two are damaged; pixels that are invalid in some
    frames; and a monitor, which one frame lacks."""

    def __init__(self, scan, folder):
        import fabio
        folder.mkdir()
        self.files = []
        for i in range(44):
            file = folder / f"f_{i:03d}.cbf"
            self.files.append(file)
            if i == 9:
                file.write_bytes(scan.files[0].read_bytes()[:20000])
            elif i % 11 == 3:
                image = fabio.open(str(scan.files[i % 24]))
                image.data[20 + i:60 + i, 100:180] = -2
                image.write(str(file))
            elif i == 30:
                file.write_bytes(b"no image")
            else:
                file.symlink_to(scan.files[i % 24])
        self.dark = folder / "dark.npy"
        numpy.save(self.dark, numpy.random.default_rng(1).random((195, 487)) * 3)
        self.table = folder / "table.csv"
        monitors = [1000 + 37 * (i % 5) for i in range(44)]
        monitors[17] = 0
        self.table.write_text("x,i0\n" + "".join(f"{0.25 * i},{m}\n" for i, m in enumerate(monitors)))
        self.options = [*OPTIONS, "-p", scan.poni, "--dark", self.dark, "--column", f"x={self.table}#x",
                        "--monitor", f"i0={self.table}#i0", *self.files]


@pytest.fixture(scope="module")
def inputs(scan, tmp_path_factory):
    return Inputs(scan, tmp_path_factory.mktemp("inputs") / "scan")


@pytest.fixture(scope="module")
def outputs(annulus, inputs, tmp_path_factory):
    """The output of the whole scan, and below it those of three parts."""
    folder = tmp_path_factory.mktemp("outputs")
    whole, parts = folder / "whole.nxs", [folder / "parts" / f"part%{k}.nxs" for k in (1, 2, 3)]
    (folder / "parts").mkdir()
    good(annulus("integrate", *inputs.options, "-o", whole), SOME_BAD)
    for k, part in enumerate(parts, 1):
        good(annulus("integrate", *inputs.options, "-o", part, "--part", f"{k}/3"), 0, SOME_BAD)
        good(annulus("verify", part))
    return folder, whole, parts


def copied(outputs, folder):
    """A folder of its own with the parts, and their master in it."""
    shutil.copytree(outputs[0], folder)
    return folder / "master.nxs", sorted((folder / "parts").iterdir())


@pytest.fixture
def master(annulus, outputs, tmp_path):
    path, parts = copied(outputs, tmp_path / "run")
    good(annulus("merge", *parts[::-1], "-o", path, "--virtual"), SOME_BAD)
    return path, parts


def test_parts_divide_the_scan_and_keep_the_places_of_frames(outputs):
    together = []
    for part in outputs[2]:
        with h5py.File(part) as file:
            places = file["entry/frames/frame_index"][()]
            numpy.testing.assert_array_equal(file["entry/frames/columns/x"][()], 0.25 * places)
            together += list(places)
    assert sorted(together) == list(range(44)) and len(outputs[2]) == 3


def test_merged_parts_are_the_output_of_the_whole_scan(annulus, outputs, tmp_path):
    merged = tmp_path / "merged.nxs"
    good(annulus("merge", *outputs[2][::-1], "-o", merged), SOME_BAD)
    assert_same(merged, outputs[1])
    assert "44 frames verified, 0 bad; 3 recorded as bad" in good(annulus("verify", merged)).stdout
    # Merged again, one file is as many.
    again = tmp_path / "again.nxs"
    good(annulus("merge", merged, "-o", again), SOME_BAD)
    assert_same(again, merged)


def test_stacks_of_doubles_too(annulus, scan, tmp_path):
    random = numpy.random.default_rng(5)
    stacks = [tmp_path / f"stack_{i}.npy" for i in range(3)]
    for i, stack in enumerate(stacks):
        numpy.save(stack, random.random((7 + i, 195, 487)) * 10.0 ** random.integers(-3, 9, (7 + i, 1, 1)))
    options = ["integrate", *OPTIONS, "-p", scan.poni, *stacks]
    whole, merged, mean = (tmp_path / name for name in ("whole.nxs", "merged.nxs", "mean.nxs"))
    good(annulus(*options, "-o", whole))
    parts = [tmp_path / f"p{k}.nxs" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        good(annulus(*options, "-o", part, "--part", f"{k}/2"))
    good(annulus("merge", *parts, "-o", merged))
    assert_same(merged, whole)
    good(annulus("merge", *parts, "-o", mean, "--mean"))
    assert_mean(mean, whole, False)
    good(annulus("verify", mean))


def test_a_master_looks_like_the_output_of_the_whole_scan(annulus, outputs, master, tmp_path):
    path, _ = master
    assert_same(path, outputs[1])
    assert "44 frames verified, 0 bad; 3 recorded as bad" in good(annulus("verify", path)).stdout
    assert "parts/part%2.nxs" in good(annulus("info", path)).stdout
    # Wherever it is moved to, with its parts, and wherever it is read from.
    moved = tmp_path / "elsewhere"
    shutil.move(path.parent, moved)
    assert_same(moved / "master.nxs", outputs[1])
    assert annulus("verify", "master.nxs", cwd=moved).stdout == annulus("verify", moved / "master.nxs").stdout


def test_commands_read_masters_as_they_read_outputs(annulus, outputs, master, tmp_path):
    path, _ = master
    for name, command in {
            "map": ["map", "--shape", "4,11", "--window", "w=5:20"],
            "again": ["renormalise", "--monitor", "x"],
            "mean": ["merge", "--mean"]}.items():
        results = []
        for source in (outputs[1], path):
            result = tmp_path / f"{name}_{source.stem}.nxs"
            done = annulus(command[0], source, *command[1:], "-o", result, *(["--keep-going"] if name == "again" else []))
            results.append((done.returncode, done.stderr.replace(str(source), "").replace(str(result), "")))
            assert result.exists(), done.stderr
        assert results[0] == results[1]
        if name == "again":
            assert_same(tmp_path / "again_master.nxs", tmp_path / "again_whole.nxs")
        else:
            values = [numbers_in(tmp_path / f"{name}_{source.stem}.nxs") for source in (outputs[1], path)]
            assert set(values[0]) == set(values[1]) and len(values[0]) > 3
            assert [field for field in values[0] if values[0][field] != values[1][field]] == []
    if annulus("plot", path, "-o", tmp_path / "picture.png").returncode != 2:  # built without
        assert (tmp_path / "picture.png").stat().st_size > 1000


def test_viewers_read_masters(outputs, master):
    with silx.io.open(str(master[0])) as file, h5py.File(outputs[1]) as whole:
        plot = silx.io.nxdata.get_default(file)
        assert plot.is_valid, plot.issues
        numpy.testing.assert_array_equal(plot.signal[()], whole["entry/data/I"][()])
        numpy.testing.assert_array_equal(plot.errors[()], whole["entry/data/I_errors"][()])
        numpy.testing.assert_array_equal(file["/entry/frames/columns/x"][()], whole["entry/frames/columns/x"][()])


def test_a_part_that_is_missing_or_changed_is_an_error_and_never_a_number(annulus, outputs, tmp_path):
    def cut(part):
        with h5py.File(part, "r+") as file:
            file["entry/reduction/accumulators/signal"].resize(7, axis=0)

    def replace(part):
        shutil.copy(part.parent / "part%1.nxs", part)

    def outside(part):
        part.rename(tmp_path / "away.nxs")
        part.symlink_to(tmp_path / "away.nxs")

    faults = {"is not there": lambda part: part.unlink(), "damaged: /entry/reduction/accumulators/signal": cut,
              "not the file that": replace, "outside its folder": outside,
              "cannot be opened": lambda part: part.write_bytes(b"no HDF5")}
    for number, (words, spoil) in enumerate(faults.items()):
        path, parts = copied(outputs, tmp_path / f"run_{number}")
        good(annulus("merge", *parts, "-o", path, "--virtual"), SOME_BAD)
        spoil(parts[1])
        for command in (["info", path], ["verify", path], ["merge", path, "-o", tmp_path / "x.nxs", "--mean"],
                        ["renormalise", path, "-o", tmp_path / "x.nxs"]):
            done = annulus(*command)
            assert done.returncode not in (0, SOME_BAD), command
            assert words in done.stderr + done.stdout and "part%2.nxs" in done.stderr + done.stdout, done.stderr
        assert not (tmp_path / "x.nxs").exists()


def test_a_changed_row_of_a_part_is_found_through_the_master(annulus, master):
    path, parts = master
    with h5py.File(parts[2], "r+") as file:
        file["entry/data/I"][3, 50] += 1
        place = file["entry/frames/frame_index"][3]
    done = annulus("verify", path)
    assert done.returncode != 0 and f"frame {place}:" in done.stderr + done.stdout
    assert "damaged" in annulus("merge", *parts, "-o", path.parent / "x.nxs").stderr


def test_frames_that_no_part_holds_are_no_rows(annulus, inputs, outputs, tmp_path):
    path, parts = copied(outputs, tmp_path / "run")
    done = good(annulus("merge", parts[0], parts[2], "-o", path, "--virtual"), 0, SOME_BAD)
    assert "16 of the scan are in none of them" in done.stdout
    with h5py.File(path) as file, h5py.File(outputs[1]) as whole:
        places = file["entry/frames/frame_index"][()]
        assert len(places) == 28 and (numpy.diff(places) > 0).all()
        numpy.testing.assert_array_equal(file["entry/data/I"][()], whole["entry/data/I"][()][places])
    # A grid has no room for what is missing.
    done = annulus("map", path, "--shape", "4,7", "--window", "w=5:20", "-o", tmp_path / "map.nxs")
    assert done.returncode != 0 and "frames are missing" in done.stderr
    # The job that did not run runs now, and the master is made again.
    good(annulus("merge", *parts, "-o", path, "--virtual", "--overwrite"), SOME_BAD)
    assert_same(path, outputs[1])


def test_parts_that_are_missing_at_the_end_are_named(annulus, outputs, tmp_path):
    """No frame behind them says so."""
    path, parts = copied(outputs, tmp_path / "run")
    for words in ([], ["--virtual"], ["--mean"]):
        done = good(annulus("merge", *parts[:2], "-o", path, "--overwrite", *words), 0, SOME_BAD)
        assert "annulus: warning: part 3 of 3 is not among the files\n" in done.stderr
        assert words == ["--mean"] or "merged, 2 bad; 8 of the scan are in none of them; part 3 of 3 is not among" in done.stdout
    done = good(annulus("merge", parts[1], "-o", path, "--overwrite", "--json"), 0, SOME_BAD)
    assert json.loads(done.stdout)["missing_parts"] == ["1/3", "3/3"] and "parts 1 and 3 of 3 are not among" in done.stderr
    done = good(annulus("merge", *parts, "-o", path, "--overwrite", "--json"), SOME_BAD)
    assert json.loads(done.stdout)["missing_parts"] == [] and done.stderr == ""


def test_parts_are_merged_in_steps(annulus, outputs, tmp_path):
    path, parts = copied(outputs, tmp_path / "run")
    some, again, mean = (path.parent / f"{name}.nxs" for name in ("some", "again", "mean"))
    for words in ([], ["--virtual"]):
        good(annulus("merge", parts[2], parts[0], "-o", some, "--overwrite", *words), 0, SOME_BAD)
        done = good(annulus("merge", some, "-o", again, "--overwrite", "--json"), 0, SOME_BAD)
        assert json.loads(done.stdout)["missing_parts"] == ["2/3"] and "part 2 of 3 is not among the files" in done.stderr
        done = good(annulus("merge", parts[1], again, "-o", path, "--overwrite", "--json"), SOME_BAD)
        assert json.loads(done.stdout)["missing_parts"] == [] and done.stderr == ""
        assert_same(path, outputs[1])
        done = good(annulus("merge", again, parts[1], "-o", path, "--overwrite", "--json"), SOME_BAD)
        assert json.loads(done.stdout)["missing_parts"] == [] and done.stderr == ""
        assert_same(path, outputs[1])
    # A mean is of no part.
    good(annulus("merge", again, "-o", mean, "--mean"), 0, SOME_BAD)
    assert "merged_parts" not in str(sorted(contents(mean)))


def test_what_goes_on_with_some_parts_is_all_there(annulus, inputs, outputs, tmp_path):
    """A run of the whole scan adds what is missing, and no part is missing any more."""
    path, parts = copied(outputs, tmp_path / "run")
    some = path.parent / "some.nxs"
    good(annulus("merge", parts[0], parts[2], "-o", some), 0, SOME_BAD)
    good(annulus("integrate", *inputs.options, "-o", some, "--append"), SOME_BAD)
    done = annulus("merge", some, "-o", path)
    assert "not among" not in done.stderr + done.stdout


def test_parts_of_other_numbers_of_parts_are_refused(annulus, inputs, outputs, tmp_path):
    other = tmp_path / "other.nxs"
    good(annulus("integrate", *inputs.options, "-o", other, "--part", "2/6"), 0, SOME_BAD)
    done = annulus("merge", outputs[2][0], other, "-o", tmp_path / "x.nxs")
    assert done.returncode == 3 and "one is part 1 of 3, the other part 2 of 6" in done.stderr


def test_parts_that_were_ended_go_on(annulus, inputs, outputs, tmp_path):
    path, parts = copied(outputs, tmp_path / "run")
    options = [str(option) for option in inputs.options]
    early = options[:-20]  # the files of the first half
    parts[1].unlink()
    good(annulus("integrate", *early, "-o", parts[1], "--part", "2/3"), 0, SOME_BAD)
    master = path.parent / "m.nxs"
    good(annulus("merge", *parts, "-o", master, "--virtual"), SOME_BAD)
    done = good(annulus("integrate", *options, "-o", parts[1], "--part", "2/3", "--append"), 0, SOME_BAD)
    assert "left out" in done.stdout or "already" in done.stdout, done.stdout
    assert_same(parts[1], outputs[2][1], but="warnings")  # of a table that is longer than the half scan
    good(annulus("merge", *parts, "-o", master, "--virtual", "--overwrite"), SOME_BAD)
    assert_same(master, outputs[1])


def numbers(file, name, row):
    """The integers of all bins of a frame, of all words."""
    group = file["entry/reduction/accumulators"]
    total = [int(v) for v in group[name][row].ravel()]
    for word in range(1, 6):
        if f"{name}_word{word}" in group:
            total = [t + (int(v) << 64 * word) for t, v in zip(total, group[f"{name}_word{word}"][row].ravel())]
    return total


def assert_mean(path, whole, is_sum):
    """Against integers and fractions of Python, of the frames of the whole scan."""
    with h5py.File(whole) as file, h5py.File(path) as merged:
        group, result = file["entry/reduction/accumulators"], merged["entry/reduction/accumulators"]
        rows = [i for i, status in enumerate(file["entry/frames/status"][()]) if status == 0]
        bits = group["fraction_bits"][()]
        factors = {row: Fraction(float(file["entry/frames/normalization_factor"][row])) for row in rows}
        weight, norm_bits, dark_bits = (int(group.attrs[n]) for n in ("weight_bits", "normalization_bits", "dark_bits"))
        bins = group["count"].shape[0]
        signal, variance, norm = ([Fraction(0)] * bins for _ in range(3))
        for row in rows:
            unit = Fraction(1, 2 ** (weight + int(bits[row])))
            dark = [0] * bins
            if "dark" in group:
                dark = [Fraction(int(t) - int(m), 2 ** (weight + dark_bits))
                        for t, m in zip(group["dark"][()], group["missing_dark"][row])]
            signal = [s + v * unit - d for s, v, d in zip(signal, numbers(file, "signal", row), dark)]
            square = Fraction(1, 2 ** (int(group.attrs["variance_bits"]) + int(bits[row])))
            variance = [s + v * square for s, v in zip(variance, numbers(file, "variance", row))]
            norm = [s + Fraction(int(t) - int(m), 2 ** (weight + norm_bits)) * factors[row]
                    for s, t, m in zip(norm, group["normalization"][()], group["missing_normalization"][row])]
        # The integers are exact, dark included.
        unit = Fraction(1, 2 ** (weight + int(result["fraction_bits"][0])))
        assert [v * unit for v in numbers(merged, "signal", 0)] == signal
        square = Fraction(1, 2 ** (int(group.attrs["variance_bits"]) + int(result["fraction_bits"][0])))
        assert [v * square for v in numbers(merged, "variance", 0)] == variance
        times = len(rows) if is_sum else 1
        intensity, errors = merged["entry/data/I"][0], merged["entry/data/I_errors"][0]
        for bin in range(bins):
            if norm[bin] == 0:
                assert math.isnan(intensity[bin]) and math.isnan(errors[bin])
                continue
            assert math.isclose(intensity[bin], times * signal[bin] / norm[bin], rel_tol=1e-14, abs_tol=0), bin
            assert math.isclose(errors[bin], times * math.sqrt(variance[bin]) / norm[bin], rel_tol=1e-14), bin
        return len(rows)


@pytest.mark.parametrize("what", ["mean", "sum"])
def test_one_pattern_of_all_frames_is_exact(annulus, outputs, tmp_path, what):
    path = tmp_path / "one.nxs"
    done = good(annulus("merge", *outputs[2], "-o", path, f"--{what}"), SOME_BAD)
    assert f"{what} of 41 frames of 3 files, 3 bad ones left out" in done.stdout
    assert assert_mean(path, outputs[1], what == "sum") == 41
    assert "1 frames verified, 0 bad" in good(annulus("verify", path)).stdout
    with h5py.File(path) as file:
        assert b"41 good frames, 3 bad" in file["entry/reduction/input/merged"][()]
        assert file["entry/frames/columns/x"][0] == pytest.approx(
            numpy.mean([0.25 * i for i in range(44) if i not in (9, 17, 30)]), rel=1e-15)
    # In any order of files, the same.
    other = tmp_path / "other.nxs"
    good(annulus("merge", *outputs[2][::-1], "-o", other, f"--{what}"), SOME_BAD)
    with h5py.File(path) as a, h5py.File(other) as b:
        assert a["entry/data/I"][()].tobytes() == b["entry/data/I"][()].tobytes()


def test_different_scans_come_one_behind_the_other(annulus, scan, tmp_path):
    one, two, both, merged = (tmp_path / f"{name}.nxs" for name in ("one", "two", "both", "merged"))
    run = ["integrate", "-n", 100, "-p", scan.poni]
    good(annulus(*run, "-o", one, *scan.files[:9]))
    good(annulus(*run, "-o", two, *scan.files[9:14]))
    good(annulus(*run, "-o", both, *scan.files[:9]))
    good(annulus(*run, "-o", both, *scan.files[9:14], "--append"))
    done = annulus("merge", one, two, "-o", merged)
    assert done.returncode != 0 and "holds frame 0 of the scan, and so does" in done.stderr and "--scans" in done.stderr
    good(annulus("merge", one, two, "-o", merged, "--scans"))
    assert_same(merged, both)
    good(annulus("verify", merged))


def test_what_cannot_be_merged_is_refused_and_nothing_is_written(annulus, scan, outputs, tmp_path):
    other, plain = tmp_path / "other.nxs", tmp_path / "plain.nxs"
    good(annulus("integrate", "-n", 150, "-p", scan.poni, "-o", other, scan.files[0]))
    good(annulus("integrate", "-n", 200, "-p", scan.poni, "-o", plain, scan.files[0]))
    parts = outputs[2]
    for words, arguments in {
            "200 bins and 150": [parts[0], other],
            "their plans": [parts[0], plain],
            "is a frame that": [parts[0], outputs[1]],
            "is not an HDF5 file": [parts[0], scan.poni],
            "exclude each other": [*parts, "--mean", "--sum"],
            "one scan": [*parts, "--virtual", "--scans"],
            "does not lie below": [*parts, "--virtual"]}.items():
        done = annulus("merge", *arguments, "-o", tmp_path / "x.nxs")
        assert done.returncode not in (0, SOME_BAD) and words in done.stderr, (words, done.stderr)
    assert sorted(tmp_path.iterdir()) == [other, plain]
    done = annulus("merge", *parts, "-o", parts[0], "--overwrite")
    assert done.returncode != 0 and "is an input" in done.stderr


def test_what_a_part_cannot_be(annulus, scan, inputs, outputs, master, tmp_path):
    run = ["integrate", "-n", 200, "-p", scan.poni, scan.files[0], "-o", tmp_path / "x.nxs"]
    for part in ("0/3", "4/3", "3", "3/", "/3", "1/3/5", "a/b", "-1/3", "1/ 3", "99999999999999999999/3"):
        done = annulus(*run, "--part", part)
        assert done.returncode == 2 and "--part" in done.stderr, part
    assert "excludes --follow" in annulus(*run, "--part", "1/2", "--follow").stderr
    assert "not from text" in annulus(*run[:-1], tmp_path / "x.xy", "--part", "1/2").stderr
    assert "was made of part 2/3" in annulus("integrate", *inputs.options, "-o", master[1][1], "--part", "1/3", "--append").stderr
    assert "of a whole scan" in annulus("integrate", *inputs.options, "-o", master[1][1], "--append").stderr
    assert "is a master" in annulus("integrate", *inputs.options, "-o", master[0], "--append").stderr
    # A name of its own for each, unless the user says so.
    good(annulus("integrate", "-n", 50, "-p", scan.poni, scan.files[0], "--part", "07/12", cwd=tmp_path))
    assert (tmp_path / f"{scan.files[0].stem}_07_of_12.nxs").exists()


# Parts of correlations.

# As APART, and the names of the options by which these runs differ.
APART_OF_CORRELATIONS = {"/entry/process/date", "/entry/process/configuration"} | {
    f"/entry/process/options/{name}" for name in ("append", "output", "scale")}


def assert_same_correlation(path, expected):
    found = [{name: item for name, item in contents(file).items() if name[-1] != "@" and name not in APART_OF_CORRELATIONS}
             for file in (path, expected)]
    assert set(found[0]) == set(found[1])
    assert [name for name in found[1] if found[0][name] != found[1][name]] == []


@pytest.fixture(scope="module")
def correlations(annulus, tmp_path_factory):
    """Of 12 polar images, as a whole and in three parts, of which the last has no block of them."""
    folder = tmp_path_factory.mktemp("correlations")
    images = folder / "polar.npy"
    numpy.save(images, numpy.random.default_rng(11).poisson(30, (12, 20, 32)).astype(numpy.float32))
    options = ["correlate", "--polar", "--legendre", 4, "--flat-ewald", images]
    good(annulus(*options, "-o", folder / "whole.nxs"))
    parts = [folder / f"c{k}.nxs" for k in (1, 2, 3)]
    for k, part in enumerate(parts, 1):
        done = good(annulus(*options, "-o", part, "--part", f"{k}/3", "--json"))
        assert json.loads(done.stdout)["output"] == str(part) and json.loads(done.stdout)["finished"]
    return folder / "whole.nxs", parts


def test_a_part_of_a_correlation_without_an_image_is_a_part(annulus, correlations, tmp_path):
    whole, parts = correlations
    with h5py.File(parts[2]) as file:
        assert len(file["entry/snapshots/status"]) == 0 and file["entry/process/finished"][()]
    assert "0 frames verified, 0 bad" in good(annulus("verify", parts[2])).stdout
    assert "counted: 0" in good(annulus("info", parts[2])).stdout
    for order in (parts, parts[::-1]):
        merged = tmp_path / f"{order[0].stem}.nxs"
        good(annulus("merge", *order, "-o", merged))
        assert_same_correlation(merged, whole)


def test_a_correlation_without_all_parts_says_which_and_is_not_finished(annulus, correlations, tmp_path):
    whole, parts = correlations
    merged = tmp_path / "merged.nxs"
    done = good(annulus("merge", parts[0], parts[2], "-o", merged, "--json"))
    assert "annulus: warning: part 2 of 3 is not among the files, so the correlation is not finished" in done.stderr
    assert json.loads(done.stdout)["missing_parts"] == ["2/3"] and not json.loads(done.stdout)["finished"]
    with h5py.File(merged) as file:
        assert not file["entry/process/finished"][()] and file["entry/process/options/part"][()] == b""
    # A run over the whole scan adds what is missing, and finishes it.
    images = whole.parent / "polar.npy"
    good(annulus("correlate", "--polar", "--legendre", 4, "--flat-ewald", images, "-o", merged, "--append"))
    assert_same_correlation(merged, whole)


@pytest.fixture(scope="module")
def four(annulus, tmp_path_factory):
    """The correlation of 50 polar images, and those of its four parts."""
    folder = tmp_path_factory.mktemp("four")
    images = folder / "polar.npy"
    numpy.save(images, numpy.random.default_rng(12).poisson(30, (50, 6, 16)).astype(numpy.float32))
    options = ["correlate", "--polar", "--legendre", 4, "--flat-ewald", images]
    good(annulus(*options, "-o", folder / "whole.nxs"))
    parts = [folder / f"c{k}.nxs" for k in (1, 2, 3, 4)]
    for k, part in enumerate(parts, 1):
        good(annulus(*options, "-o", part, "--part", f"{k}/4"))
    return folder / "whole.nxs", parts


def test_parts_of_correlations_are_merged_in_steps(annulus, four, tmp_path):
    whole, parts = four

    def merged(name, *inputs):
        done = good(annulus("merge", *inputs, "-o", tmp_path / name, "--json"))
        return tmp_path / name, json.loads(done.stdout)["missing_parts"], json.loads(done.stdout)["finished"], done.stderr
    one, missing, finished, said = merged("12.nxs", *parts[:2])
    assert missing == ["3/4", "4/4"] and not finished and "parts 3 and 4 of 4 are not among the files" in said
    other, missing, finished, _ = merged("43.nxs", *parts[:1:-1])
    assert missing == ["1/4", "2/4"] and not finished
    for number, inputs in enumerate(((one, other), (other, one), (one, parts[3], parts[2]))):
        path, missing, finished, said = merged(f"all_{number}.nxs", *inputs)
        assert missing == [] and finished and said == ""
        assert_same_correlation(path, whole)
    three, missing, finished, said = merged("123.nxs", one, parts[2])
    assert missing == ["4/4"] and not finished and "part 4 of 4 is not among the files" in said
    path, missing, finished, said = merged("1234.nxs", parts[3], three)
    assert missing == [] and finished and said == ""
    assert_same_correlation(path, whole)


def test_correlations_with_other_coefficients_are_refused(annulus, four, tmp_path):
    images = four[0].parent / "polar.npy"
    for words, said in ((["--legendre", 6, "--flat-ewald"], "--legendre: 4 on a flat Ewald sphere here, 6 on"),
                        ([], "--legendre: 4 on a flat Ewald sphere here, not given there")):
        other = tmp_path / f"other_{len(words)}.nxs"
        good(annulus("correlate", "--polar", *words, images, "-o", other, "--part", "2/4"))
        done = annulus("merge", four[1][0], other, "-o", tmp_path / "x.nxs")
        assert done.returncode == 3 and said in done.stderr and not (tmp_path / "x.nxs").exists(), done.stderr


def test_an_image_counts_once_also_if_its_file_has_grown(annulus, tmp_path):
    """A file of one image is known by another number than one of several."""
    images = numpy.random.default_rng(5).poisson(30, (3, 6, 16)).astype(numpy.float32)
    for number in (1, 3):
        numpy.save(tmp_path / "images.npy", images[:number])
        good(annulus("correlate", "--polar", "--scale", 3, tmp_path / "images.npy", "-o", tmp_path / f"{number}.nxs"))
    done = annulus("merge", tmp_path / "1.nxs", tmp_path / "3.nxs", "-o", tmp_path / "x.nxs")
    assert done.returncode == 3 and "its image 0 was correlated twice" in done.stderr and not (tmp_path / "x.nxs").exists()


# Parts that do not belong together, although nothing in their frames says so.

def test_parts_of_different_scans_are_refused(annulus, scan, tmp_path):
    scans = [tmp_path / name for name in ("monday", "tuesday")]
    for number, folder in enumerate(scans):
        folder.mkdir()
        for i in range(12):
            (folder / f"f_{i:02d}.cbf").symlink_to(scan.files[12 * number + i])
    parts = [tmp_path / f"p{k}.nxs" for k in (1, 2)]
    for k, (folder, part) in enumerate(zip(scans, parts), 1):
        good(annulus("integrate", "-n", 100, "-p", scan.poni, folder, "-o", part, "--part", f"{k}/2"))
    for words in ([], ["--virtual"], ["--mean"]):
        done = annulus("merge", *parts, "-o", tmp_path / "x.nxs", *words)
        assert done.returncode == 3 and "parts of different scans" in done.stderr and "tuesday" in done.stderr, done.stderr
        assert "--scans puts" in done.stderr and not (tmp_path / "x.nxs").exists()
    # As different scans they go together, and of both a part is missing.
    done = good(annulus("merge", *parts, "-o", tmp_path / "x.nxs", "--scans"))
    assert "part 2 of 2; part 1 of 2 are not among the files" in done.stderr


def test_parts_that_are_divided_by_different_monitors_are_refused(annulus, scan, tmp_path):
    table = tmp_path / "m.csv"
    table.write_text("i0,i1\n" + "".join(f"{100 + i},{200 - i}\n" for i in range(24)))
    columns = [word for name in ("i0", "i1") for word in ("--column", f"{name}={table}#{name}")]
    run = ["integrate", "-n", 100, "-p", scan.poni, *columns, scan.folder]
    parts = {name: tmp_path / f"{name}.nxs" for name in ("i0", "i1", "none", "twice", "fits")}
    good(annulus(*run, "-o", parts["i0"], "--part", "1/2", "--monitor", "i0"))
    good(annulus(*run, "-o", parts["i1"], "--part", "2/2", "--monitor", "i1"))
    good(annulus(*run, "-o", parts["none"], "--part", "2/2"))
    good(annulus(*run, "-o", parts["twice"], "--part", "2/2", "--monitor", "i0", "--normalization-factor", 2))
    good(annulus(*run, "-o", parts["fits"], "--part", "2/2", "--monitor", "i0"))
    for other, words in {"i1": "their monitors: i0 and i1", "none": "their monitors: i0 and none",
                         "twice": "their --normalization-factor: 1 and 2"}.items():
        for kind in ([], ["--virtual"], ["--sum"]):
            done = annulus("merge", parts["i0"], parts[other], "-o", tmp_path / "x.nxs", *kind)
            assert done.returncode == 3 and words in done.stderr and "renormalise some of them" in done.stderr, done.stderr
    good(annulus("merge", parts["i0"], parts["fits"], "-o", tmp_path / "x.nxs"))
    # What is divided anew goes together.
    good(annulus("renormalise", parts["none"], "-o", tmp_path / "anew.nxs", "--monitor", "i0"))
    good(annulus("merge", parts["i0"], tmp_path / "anew.nxs", "-o", tmp_path / "y.nxs"))
    with h5py.File(tmp_path / "x.nxs") as file, h5py.File(tmp_path / "y.nxs") as anew:
        assert file["entry/data/I"][()].tobytes() == anew["entry/data/I"][()].tobytes()


def test_an_output_is_not_continued_with_another_monitor(annulus, scan, tmp_path):
    table, other = tmp_path / "m.csv", tmp_path / "other.csv"
    table.write_text("i0,i1\n" + "".join(f"{100 + i},{200 - i}\n" for i in range(24)))
    other.write_bytes(table.read_bytes())
    out = tmp_path / "out.nxs"
    columns = [word for name in ("i0", "i1") for word in ("--column", f"{name}={table}#{name}")]
    run = ["integrate", "-n", 100, "-p", scan.poni, *columns, "-o", out, "--append"]
    good(annulus(*run, "--monitor", "i0", *scan.files[:8]))
    before = out.read_bytes()
    for words, said in ((["--monitor", "i1"], "their monitors: i0 and i1"), ([], "their monitors: i0 and none")):
        done = annulus(*run, *words, *scan.files[:12])
        assert done.returncode == 5 and said in done.stderr, done.stderr
        assert out.read_bytes() == before
    # The same monitor out of another file, and a factor, which every run may have.
    good(annulus("integrate", "-n", 100, "-p", scan.poni, "--column", f"i0={other}#i0", "--column", f"i1={other}#i1", "--monitor",
                 "i0", "--normalization-factor", 2, "-o", out, "--append", *scan.files[:12]))
    with h5py.File(out) as file:
        assert len(file["entry/frames/status"]) == 12


def test_a_master_does_not_mix_names_from_different_folders(annulus, scan, tmp_path):
    above, inside = tmp_path / "run", tmp_path / "run/frames"
    inside.mkdir(parents=True)
    for i in range(20):
        (inside / f"f_{i:02d}.cbf").symlink_to(scan.files[i])
    names = sorted(path.name for path in inside.iterdir())
    run = ["integrate", "-n", 100, "-p", scan.poni]
    good(annulus(*run, "-o", above / "p1.nxs", "--part", "1/2", *(f"frames/{name}" for name in names), cwd=above))
    good(annulus(*run, "-o", above / "p2.nxs", "--part", "2/2", *names, cwd=inside))
    good(annulus(*run, "-o", above / "q2.nxs", "--part", "2/2", *(inside / name for name in names), cwd=inside))
    done = annulus("merge", above / "p1.nxs", above / "p2.nxs", "-o", above / "x.nxs", "--virtual")
    assert done.returncode == 3 and f"was made in {inside}" in done.stderr and "f_08.cbf" in done.stderr, done.stderr
    assert "leave --virtual out, so that frames and their names are copied" in done.stderr and not (above / "x.nxs").exists()
    # Copied names say where frames are, and so do names from the root.
    for name, parts, words in (("copied", ("p1", "p2"), []), ("master", ("p1", "q2"), ["--virtual"])):
        merged = above / f"{name}.nxs"
        good(annulus("merge", *(above / f"{part}.nxs" for part in parts), "-o", merged, *words))
        with h5py.File(merged) as file:
            folder = file["entry/reduction/input/working_directory"][()].decode()
            for place, source in enumerate(file["entry/frames/source"][()].ravel()):
                assert (pathlib.Path(folder) / source.decode()).samefile(inside / names[place])


def test_files_that_came_between_are_refused_before_anything_is_stored(annulus, scan, tmp_path):
    names = [tmp_path / f"f_{i:03d}.cbf" for i in range(40)]
    for i, name in enumerate(names):
        name.symlink_to(scan.files[i % 24])
    options = ["integrate", *OPTIONS, "-p", scan.poni, "-q", "--part", "2/2", "--append", "-o", tmp_path / "part.nxs"]
    good(annulus(*options, *names[::2]))
    first = contents(tmp_path / "part.nxs")
    done = annulus(*options, *names)
    assert done.returncode == 5 and "f_008.cbf: is frame 8 of the scan now, and another one was when it was reduced" in done.stderr
    good(annulus(*options, *names[::2]))
    assert contents(tmp_path / "part.nxs") == first
