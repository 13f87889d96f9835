"""Pictures of a scan. Apart from the other tests because the fonts' library is not for ThreadSanitizer."""

import re

import h5py
import numpy
import pytest

from xrd_ct_scans import integrate, intensities, raster

USAGE, INPUT = 2, 3


def test_pictures(annulus, scan, tmp_path):
    reference = tmp_path / "out.nxs"
    done = annulus("integrate", "-p", scan.poni, "-n", 150, "--error-model", "poisson", "-o", reference, "-q", scan.folder)
    assert done.returncode == 0, done.stderr
    for name, args in {"a.png": [], "b.svg": ["--frame", 3], "c.png": ["--stack", "--scale", "log"]}.items():
        done = annulus("plot", reference, "-o", tmp_path / name, *args)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "b.svg").read_bytes()[:500]


def test_images_are_drawn_in_panels_and_beside_each_other(annulus, tmp_path):
    done = annulus("simulate", "--phantom", "inclusions", "--voxels", 12, "--angles", 1, "-o", tmp_path / "scan", "-q")
    assert done.returncode == 0, done.stderr
    truth = tmp_path / "scan" / "scan_phantom.nxs"
    sizes = {}
    for name, args in {"all": [], "one": ["--image", "Au_density"], "beside": ["--beside", truth],
                       "two": ["--image", "Au_density", "--beside", truth]}.items():
        done = annulus("plot", truth, "-o", tmp_path / f"{name}.png", *args)
        assert done.returncode == 0, done.stderr
        png = (tmp_path / f"{name}.png").read_bytes()
        sizes[name] = (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big"))
    # Three phases: two columns and two rows; with those of the other file, three rows of two.
    assert sizes["beside"][0] == sizes["all"][0] and sizes["beside"][1] > 1.4 * sizes["all"][1]
    assert sizes["one"][0] < sizes["two"][0] < 3 * sizes["one"][0] and sizes["two"][1] < sizes["all"][1]


def test_options_that_do_not_go_with_the_file_are_named(annulus, scan, tmp_path):
    done = annulus("simulate", "--phantom", "discs", "--voxels", 4, "--angles", 1, "-o", tmp_path / "scan", "-q")
    assert done.returncode == 0, done.stderr
    patterns, truth = tmp_path / "out.nxs", tmp_path / "scan" / "scan_phantom.nxs"
    done = annulus("integrate", "-p", scan.poni, "-n", 50, "-o", patterns, "-q", scan.folder)
    assert done.returncode == 0, done.stderr
    for file, args, words in ((truth, ["--stack"], ["--stack"]), (truth, ["--frame", 0], ["--frame"]),
                              (truth, ["--radial-range", 1, 2], ["--radial-range"]),
                              (truth, ["--image", "Pb_density"], ["--image", "Pb_density", "Au_density"]),
                              (truth, ["--width", 200, "--height", 200], ["--width", "200 x 200", "panels"]),
                              (patterns, ["--image", "Au_density"], ["--image"]),
                              (patterns, ["--beside", truth], ["--beside"])):
        done = annulus("plot", file, "-o", tmp_path / "none.png", *args)
        assert done.returncode == 2, args
        assert all(word in done.stderr for word in words), done.stderr
    done = annulus("plot", truth, "--beside", patterns, "-o", tmp_path / "none.png")
    assert done.returncode == 3 and "not a file of images" in done.stderr, (done.returncode, done.stderr)
    assert not (tmp_path / "none.png").exists()


@pytest.fixture(scope="module")
def volume(annulus, tmp_path_factory):
    """100 bins: more than one chunk, and no whole number of them."""
    folder = tmp_path_factory.mktemp("volume")
    degrees, places = raster(angles=12, positions=20, first=-0.2)
    scan = integrate(annulus, folder, intensities(degrees, places, bins=100), {"rot [deg]": degrees, "x [mm]": places}, bins=100)
    done = annulus("tomo", scan, "--angle", "rot", "--translation", "x", "--centre", 0, "-q", "-o", folder / "volume.nxs")
    assert done.returncode == 0, done.stderr
    return folder / "volume.nxs"


def write_image(path, volume, bins, title):
    """A file of one image: the mean of some bins of a volume, added one by one."""
    with h5py.File(volume) as file, h5py.File(path, "w") as made:
        data = file["entry/data"]
        total = numpy.zeros(data["data"].shape[:2])
        for each in bins:
            total += data["data"][:, :, each]
        made["entry/process/program"] = numpy.bytes_("numpy")
        made["entry"].attrs["images"] = numpy.array([b"tomogram"])
        group = made.create_group("entry/tomogram")
        group["title"] = numpy.bytes_(title)
        group["data"] = total / len(bins)
        group["data"].attrs["units"] = numpy.bytes_("arbitrary units")
        for axis in "yx":
            group[axis] = data[axis][()]
            group[axis].attrs.update({name: data[axis].attrs[name] for name in ("units", "long_name")})
    return path


def test_a_volume_is_drawn_as_the_mean_of_its_bins(annulus, volume, tmp_path):
    with h5py.File(volume) as file:
        centres = file["entry/data/radial_axis"][()]

    def draw(name, *args):
        done = annulus("plot", *args, "-o", tmp_path / name, "-q")
        assert done.returncode == 0, done.stderr
        return (tmp_path / name).read_bytes()

    whole = write_image(tmp_path / "whole.nxs", volume, range(100), "mean of all 100 bins")
    # The ends belong to it.
    low, high = centres[48], centres[66]
    part = write_image(tmp_path / "part.nxs", volume, range(48, 67), f"mean of 19 bins, {low:g} to {high:g} mm")
    drawn = draw("a.png", volume)
    assert drawn == draw("b.png", whole)
    of_part = draw("c.png", volume, "--radial-range", repr(low), repr(high))
    assert of_part == draw("d.png", part)
    assert drawn != of_part
    # Beside images, on either side.
    assert draw("f.png", volume, "--beside", part) == draw("g.png", whole, "--beside", part)
    assert draw("h.png", part, "--beside", volume) == draw("i.png", part, "--beside", whole)


def test_the_pattern_of_a_voxel_is_a_line(annulus, volume, tmp_path):
    done = annulus("plot", volume, "--voxel", "9,12", "-o", tmp_path / "a.svg")
    assert done.returncode == 0, done.stderr
    with h5py.File(volume) as file:
        pattern, centres = file["entry/data/data"][9, 12], file["entry/data/radial_axis"][()]
    paths = re.findall(r'<path style="fill:none[^"]*" d="M ([^"A-KN-Z]*)"', (tmp_path / "a.svg").read_text())
    lines = [numpy.array(path.replace("L", " ").split(), float).reshape(-1, 2) for path in paths]
    curve, = [line for line in lines if len(line) == 100]
    # Both axes of the picture are linear in the numbers of the file, to a pixel's tenth.
    for found, expected in ((curve[:, 0], centres), (curve[:, 1], pattern)):
        fit = numpy.polyfit(expected, found, 1)
        assert numpy.abs(numpy.polyval(fit, expected) - found).max() < 0.1 and numpy.ptp(found) > 100


def test_options_that_do_not_go_with_a_volume_are_named(annulus, volume, tmp_path):
    image = write_image(tmp_path / "image.nxs", volume, range(3), "three")
    for file, args, words in ((volume, ["--voxel", "20,0"], ["--voxel", "no voxel 20,0", "0,0 to 19,19"]),
                              (volume, ["--voxel", "3"], ["--voxel", "Y,X"]), (volume, ["--voxel", "1,2,3"], ["--voxel"]),
                              (volume, ["--voxel", "1,2", "--beside", image], ["--beside"]),
                              (volume, ["--voxel", "1,2", "--image", "tomogram"], ["--image"]),
                              (volume, ["--frame", 1], ["--frame"]), (volume, ["--stack"], ["--stack"]),
                              (volume, ["--radial-range", 70, 80], ["--radial-range", "no bin", "100 bins"]),
                              (volume, ["--radial-range", 3, 2], ["--radial-range"]),
                              (image, ["--voxel", "1,2"], ["--voxel"]), (image, ["--radial-range", 1, 2], ["--radial-range"])):
        done = annulus("plot", file, "-o", tmp_path / "none.png", *args)
        assert done.returncode == USAGE, (args, done.stderr)
        assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "none.png").exists()


@pytest.fixture(scope="module")
def correlation(annulus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("correlation")
    done = annulus("simulate", "--fxs", "--format", "polar", "-n", 50, "--npt", 8, "--npt-azim", 24, "-q", "-o", folder)
    assert done.returncode == 0, done.stderr
    made = {}
    for name, args in {"plain": [], "coefficients": ["--legendre", 6, "--flat-ewald"], "fast": ["--fast"],
                       "kept": ["--keep-mean"]}.items():
        made[name] = folder / f"{name}.nxs"
        done = annulus("correlate", "--polar", "--radial-range", 0, 3, "-u", "q_nm^-1", "-q", "-o", made[name], *args,
                       folder / "scan.npy")
        assert done.returncode == 0, done.stderr
    return made


def test_correlations_are_drawn(annulus, correlation, tmp_path):
    sizes = {}
    for name, args in {"plain": [], "coefficients": [], "fast": ["--view", "at_zero"], "kept": ["--scale", "log"]}.items():
        for ending in ("png", "svg"):
            picture = tmp_path / f"{name}.{ending}"
            done = annulus("plot", correlation[name], "-o", picture, *args)
            assert done.returncode == 0, done.stderr
        png = (tmp_path / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG") and b"<svg" in picture.read_bytes()[:500]
        sizes[name] = int.from_bytes(png[16:20], "big")
    assert sizes["fast"] < sizes["plain"] < sizes["coefficients"]


def test_options_that_do_not_go_with_a_correlation_are_named(annulus, correlation, tmp_path):
    done = annulus("simulate", "--phantom", "discs", "--voxels", 4, "--angles", 1, "-o", tmp_path / "scan", "-q")
    assert done.returncode == 0, done.stderr
    image = tmp_path / "scan" / "scan_phantom.nxs"
    plain = correlation["plain"]
    for file, args, words in ((plain, ["--stack"], ["--stack"]), (plain, ["--frame", 0], ["--frame"]),
                              (plain, ["--image", "a"], ["--image", "--view"]), (plain, ["--voxel", "1,1"], ["--voxel"]),
                              (plain, ["--beside", image], ["--beside"]), (plain, ["--view", "side"], ["--view", "on_ring"]),
                              (plain, ["--view", "legendre"], ["--view", "--legendre"]),
                              (plain, ["--scale", "log"], ["--scale", "linear or sqrt"]),
                              (plain, ["--radial-range", 7, 9], ["--radial-range"]),
                              (image, ["--view", "all"], ["--view"]), (image, ["--absolute"], ["--absolute"])):
        done = annulus("plot", file, "-o", tmp_path / "none.png", *args)
        assert done.returncode == USAGE, (args, done.stderr)
        assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "none.png").exists()
