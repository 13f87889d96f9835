"""Pictures of a scan. Apart from the other tests because the fonts' library is not for ThreadSanitizer."""


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
