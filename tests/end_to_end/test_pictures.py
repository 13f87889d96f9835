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
