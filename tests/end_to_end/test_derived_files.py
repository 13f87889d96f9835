"""Files that are made of patterns, images and tomograms of all bins: info says what they are, and commands that want
frames or patterns name what they were given."""

import json

import h5py
import numpy
import pytest

from xrd_ct_scans import integrate, intensities, raster

INPUT = 3
NOUNS = {"map": "a file of images", "slices": "a file of images", "volume": "a tomogram of all bins"}


@pytest.fixture(scope="module")
def files(annulus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("derived")
    degrees, places = raster(angles=12, positions=20, first=-0.2)
    scan = integrate(annulus, folder, intensities(degrees, places), {"rot [deg]": degrees, "x [mm]": places})
    motors = ["--angle", "rot", "--translation", "x", "--centre", 0, "-q"]
    made = {"scan": scan, "poni": folder / "scan.poni"}
    for name, command in {"map": ["map", scan, "--y", "rot", "--x", "x", "--window", "peak=0.1:0.4", "-q"],
                          "slices": ["tomo", scan, *motors, "--window", "peak=0.1:0.4"],
                          "volume": ["tomo", scan, *motors, "--stripes"]}.items():
        made[name] = folder / f"{name}.nxs"
        done = annulus(*command, "-o", made[name])
        assert done.returncode == 0, done.stderr
    return made


def ends(values):
    return [values[0], values[-1]]


@pytest.mark.parametrize("name, kind", [("map", "map"), ("slices", "tomogram")])
def test_info_says_what_images_a_file_has(annulus, files, name, kind):
    done = annulus("info", "--json", files[name])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["format"], said["kind"], said["program"]) == ("images", kind, "annulus")
    with h5py.File(files[name]) as file:
        names = [each.decode() for each in file["entry"].attrs["images"]]
        assert list(said["images"]) == sorted(names) and len(names) >= 2
        for image in names:
            group, about = file["entry"][image], said["images"][image]
            values = group["data"][()]
            assert about["shape"] == list(values.shape)
            assert about["range"] == [numpy.nanmin(values), numpy.nanmax(values)]
            assert about["missing"] == numpy.isnan(values).sum()
            assert about["title"] == group["title"].asstr()[()]
            for axis in "yx":
                assert about[axis]["range"] == ends(group[axis][()])
                assert about[axis]["name"] == group[axis].attrs["long_name"].decode()
        facts = file["entry/process/input"]
        assert set(said["input"]) == set(facts)
        for fact, value in said["input"].items():
            assert value == (facts[fact].asstr()[()] if facts[fact].dtype.kind == "S" else facts[fact][()])
    text = annulus("info", files[name]).stdout
    assert f"kind: {kind}" in text and all(f"{image}:" in text for image in names)


def test_info_says_what_a_volume_is(annulus, files):
    done = annulus("info", "--json", files["volume"])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    with h5py.File(files["volume"]) as file:
        data, process = file["entry/data"], file["entry/reconstruction"]
        assert said["shape"] == list(data["data"].shape) and said["bins"] == data["data"].shape[2]
        assert said["format"] == "NXtomoproc" and said["kind"] == "tomogram of all bins"
        for axis in "yx":
            assert said[axis]["range"] == ends(data[axis][()]) and said[axis]["unit"] == "mm"
        assert said["range"] == ends(data["radial_axis_edges"][()]) and said["unit"] == "mm"
        assert set(said["parameters"]) == set(process["parameters"])
        for name, item in process["parameters"].items():
            value = item[()]
            assert said["parameters"][name] == (value.decode() if isinstance(value, bytes) else value.tolist()), name
        assert {key: item.asstr()[()] for key, item in process["options"].items()} == said["options"]
    assert "kind: tomogram of all bins" in annulus("info", files["volume"]).stdout


@pytest.mark.parametrize("name", NOUNS)
def test_who_wants_frames_or_patterns_says_what_it_got(annulus, files, tmp_path, name):
    out, file, before = tmp_path / "out.nxs", files[name], files[name].read_bytes()
    for command, word in {("integrate", "-p", files["poni"], "-n", 5, file): "no frames",
                          ("renormalise", file): "no patterns", ("map", file, "--shape", "2,3"): "no patterns",
                          ("tomo", file, "--shape", "2,3", "--angle-range", 180): "no patterns"}.items():
        done = annulus(*command, "-o", out)
        assert done.returncode == INPUT, (command, done.returncode, done.stderr)
        assert f"{file}: is {NOUNS[name]}" in done.stderr and word in done.stderr, done.stderr
        assert not out.exists()
    done = annulus("verify", file)
    assert done.returncode == INPUT
    assert f"{file}: is {NOUNS[name]}: it holds no integers" in done.stderr, done.stderr
    assert file.read_bytes() == before


def test_verify_goes_on_to_the_other_files(annulus, files):
    done = annulus("verify", "--json", files["map"], files["scan"], files["volume"])
    said = json.loads(done.stdout)
    assert done.returncode == INPUT and said["frames"] == 240 and len(said["faults"]) == 2


def test_results_among_frames_are_no_frames(annulus, files, tmp_path):
    """A folder is taken without what annulus made of it, a dataset that is named as it stands."""
    numpy.save(tmp_path / "frames.npy", numpy.ones((2, 1, 10), numpy.int32))
    for name in NOUNS:
        (tmp_path / f"{name}.h5").write_bytes(files[name].read_bytes())
    out = tmp_path / "out.nxs"
    done = annulus("integrate", "-p", files["poni"], "-n", 5, "-o", out, "-q", tmp_path)
    assert done.returncode == 0, done.stderr
    with h5py.File(out) as file:
        assert len(file["/entry/frames/status"]) == 2
    done = annulus("info", "--json", f"{files['map']}::/entry/peak_intensity/data")
    assert done.returncode == 0 and json.loads(done.stdout)["shape"] == [12, 20], done.stderr
