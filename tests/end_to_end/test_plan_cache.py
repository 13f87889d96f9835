"""Plans that are kept from one run to the next: the same numbers, sooner."""

import json
import os

import h5py
import numpy
import pytest

ROW_SETS = ["data/I", "data/I_errors", "reduction/accumulators/signal", "reduction/accumulators/variance",
            "reduction/accumulators/missing_count", "reduction/accumulators/missing_normalization"]


def rows(path):
    with h5py.File(path) as file:
        return {name: file["entry"][name][()].tobytes() for name in ROW_SETS}


@pytest.fixture
def run(annulus, scan, tmp_path):
    def run(output, *args):
        done = annulus("integrate", "-p", scan.poni, "-n", 150, "--error-model", "poisson", "-o", tmp_path / output,
                       *args, scan.folder)
        assert done.returncode == 0, done.stderr
        return done
    return run


def test_second_run_loads_the_plan_and_writes_the_same_bytes(run, tmp_path):
    cache = tmp_path / "plans"
    reference = run("reference.nxs")
    assert ", built\n" in reference.stdout
    first = json.loads(run("first.nxs", "--plan-cache", cache, "--json").stdout)
    second = run("second.nxs", "--plan-cache", cache, "--threads", 1)
    third = json.loads(run("third.nxs", "--plan-cache", cache, "--json").stdout)
    assert first["plan"]["origin"] == "built" and third["plan"]["origin"] == "loaded"
    assert first["plan"]["hash"] == third["plan"]["hash"]
    assert ", loaded\n" in second.stdout and second.stderr == ""
    assert len(list(cache.iterdir())) == 1 and cache.stat().st_mode & 0o7777 == 0o700
    expected = rows(tmp_path / "reference.nxs")
    for output in ("first.nxs", "second.nxs", "third.nxs"):
        assert rows(tmp_path / output) == expected, output


def test_other_options_and_maps_get_plans_of_their_own(run, scan, tmp_path):
    cache = tmp_path / "plans"
    mask = numpy.zeros((195, 487), "u1")
    numpy.save(tmp_path / "mask.npy", mask)
    ways = [[], ["--split", "full"], ["-P", "0.9"], ["-m", tmp_path / "mask.npy"]]
    for i, way in enumerate(ways):
        assert ", built\n" in run(f"a{i}.nxs", "--plan-cache", cache, *way).stdout
        assert ", loaded\n" in run(f"b{i}.nxs", "--plan-cache", cache, *way).stdout
    mask[100, 200] = 1
    numpy.save(tmp_path / "mask.npy", mask)  # the same name, another content
    assert ", built\n" in run("c.nxs", "--plan-cache", cache, "-m", tmp_path / "mask.npy").stdout
    assert len(list(cache.iterdir())) == len(ways) + 1


def test_damaged_file_is_said_and_replaced(run, tmp_path):
    cache = tmp_path / "plans"
    run("a.nxs", "--plan-cache", cache)
    plan, = cache.iterdir()
    content = bytearray(plan.read_bytes())
    content[len(content) // 2] ^= 1
    plan.write_bytes(content)
    again = run("b.nxs", "--plan-cache", cache)
    assert ", built\n" in again.stdout
    assert str(plan) in again.stderr and "checksum" in again.stderr and "built anew" in again.stderr
    assert ", loaded\n" in run("c.nxs", "--plan-cache", cache).stdout
    assert rows(tmp_path / "a.nxs") == rows(tmp_path / "b.nxs") == rows(tmp_path / "c.nxs")


def test_folder_that_cannot_be_used_is_said_and_the_run_goes_on(run, tmp_path):
    (tmp_path / "plain").write_text("")
    done = run("a.nxs", "--plan-cache", tmp_path / "plain")
    assert ", built\n" in done.stdout and str(tmp_path / "plain") in done.stderr
    assert run("b.nxs", "--plan-cache", tmp_path / "plain", "-q").stderr == ""


@pytest.mark.parametrize("change, words", [
    (lambda folder, plan: plan.chmod(0o666), "can be changed by other users (its mode is 0666)"),
    (lambda folder, plan: os.chown(plan, 65534, 65534), "belongs to another user (number 65534"),
    (lambda folder, plan: folder.chmod(0o777), "can be changed by other users (its mode is 0777)"),
    (lambda folder, plan: os.chown(folder, 65534, 65534), "belongs to another user (number 65534"),
], ids=["file_mode", "file_owner", "folder_mode", "folder_owner"])
def test_plans_that_others_can_have_written_are_not_used(run, tmp_path, request, change, words):
    cache = tmp_path / "plans"
    run("a.nxs", "--plan-cache", cache)
    plan, = cache.iterdir()
    try:
        change(cache, plan)
    except PermissionError:
        pytest.skip("only root can give files away")
    done = run("b.nxs", "--plan-cache", cache)
    assert ", built\n" in done.stdout
    assert words in done.stderr and str(cache) in done.stderr
    if "folder" in request.node.name:
        assert "chown" in done.stderr and "chmod go-w" in done.stderr and "--plan-cache" in done.stderr
    assert rows(tmp_path / "a.nxs") == rows(tmp_path / "b.nxs")
