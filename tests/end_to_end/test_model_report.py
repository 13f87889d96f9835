"""The report on the kernels' cycles: bounds that the design promises, and that nothing is sold as measured."""

import json
import os
import pathlib
import re

import fabio
import numpy
import pytest

from real_frames import REAL_BLOCKS, integrate_arguments, real_blocks

USAGE, INPUT, BACKEND = 2, 3, 6
PLATFORM = pathlib.Path(__file__).resolve().parents[2] / "platform"
LABEL = "prediction from iteration counts at II = 1, not measured"
SHAPE = (1679, 1475)  # Pilatus 2M
LANES = 16  # pixels a clock
WORD = 16  # compressed bytes a clock


@pytest.fixture(scope="module")
def poni(annulus, tmp_path_factory):
    """A Pilatus 2M as a powder experiment has it."""
    folder = tmp_path_factory.mktemp("pilatus") / "scan"
    done = annulus("simulate", "-o", folder, "-n", 1, "-q")
    assert done.returncode == 0, done.stderr
    return folder / "scan.poni"


def write_frame(path, bytes_a_pixel):
    """A CBF in which every difference takes one byte, or three with the probability that gives the size asked for."""
    rng = numpy.random.default_rng(11)
    steps = rng.random(SHAPE[0] * SHAPE[1]) < (bytes_a_pixel - 1) / 2
    image = 10 + 1000 * (numpy.cumsum(steps) % 2).reshape(SHAPE)
    fabio.cbfimage.CbfImage(data=image.astype(numpy.int32)).write(str(path))
    return path


def report_on(annulus, poni, *args):
    done = annulus("model-report", "-p", poni, "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def iterations(result):
    return {stage["name"]: stage["iterations_per_frame"] for stage in result["stages"]}


@pytest.mark.parametrize("bytes_a_pixel", [1.0, 1.15, 1.3])
def test_no_stage_takes_more_than_bytes_and_pixels_need(annulus, poni, tmp_path, report, bytes_a_pixel):
    frame = write_frame(tmp_path / "frame.cbf", bytes_a_pixel)
    result = report_on(annulus, poni, frame)
    pixels = SHAPE[0] * SHAPE[1]
    assert result["pixels"] == pixels
    payload = result["payload_bytes_per_frame"]
    assert payload / pixels == pytest.approx(bytes_a_pixel, abs=0.005)
    assert frame.stat().st_size - 8192 < payload < frame.stat().st_size
    bound = 1.05 * max(payload, pixels) / 16 + 2000
    report.append(f"Pilatus 2M, {payload / pixels:.3f} bytes a pixel: {result['limiting_stage']} takes "
                  f"{max(iterations(result).values()):.0f} iterations, all stages {result['clocks_per_frame']:.0f} clocks, "
                  f"bound {bound:.0f} ({LABEL})")
    for name, count in iterations(result).items():
        assert count <= bound, name
    # Stages that wait for each other in vain would show here.
    assert max(iterations(result).values()) <= result["clocks_per_frame"] <= bound
    # And no stage can be faster than its width allows.
    assert iterations(result)["find_codes"] >= payload / WORD
    assert iterations(result)["integrate_frames"] >= pixels / LANES


def test_all_pixels_in_one_bin_cost_what_pixels_far_apart_cost(annulus, poni, tmp_path):
    frame = write_frame(tmp_path / "frame.cbf", 1.15)
    options = ["--split", "no", "--max-count", 1048500]
    far_apart = report_on(annulus, poni, *options, frame)
    in_one_bin = report_on(annulus, poni, *options, "--radial-range", 0, 1e6, frame)
    assert iterations(in_one_bin) == iterations(far_apart)
    assert in_one_bin["clocks_per_frame"] == far_apart["clocks_per_frame"]


def test_prediction_follows_from_the_counts_and_the_card(annulus, scan):
    card = json.loads((PLATFORM / "u50" / "card.json").read_text())
    slow = report_on(annulus, scan.poni, "--clock", 10, scan.folder)
    units = card["compute_units"]["reduce_byte_offset"]
    expected = units * 10e6 / slow["clocks_per_frame"]
    assert slow["prediction"]["frames_per_second"] == pytest.approx(expected, rel=1e-12)
    assert slow["prediction"]["limited_by"] == "kernel"
    assert slow["prediction"]["card"] == card["name"]
    assert slow["frames"] == 4  # the default, of 24

    fast = report_on(annulus, scan.poni, "--clock", 100000, "--frames", 1, scan.folder)
    assert fast["frames"] == 1
    assert fast["prediction"]["limited_by"] in ("memory", "pcie")
    rates = {limit["name"]: limit["frames_per_second"] for limit in fast["prediction"]["limits"]}
    assert fast["prediction"]["frames_per_second"] == min(rates.values())
    ports = {port["name"]: port["bytes_per_frame"] for port in fast["ports"]}
    to_card = ports["frames"] + ports["descriptors"]
    assert rates["pcie"] == pytest.approx(card["pcie"]["gb_per_second"] * 1e9 / to_card, rel=1e-12)
    for name, ports_of in (("table", ["table0", "table1", "table2", "table3"]), ("frames", ["frames"])):
        expected = sum(ports[port] for port in ports_of) / fast["clocks_per_frame"]
        assert fast["bytes_per_clock"][name] == pytest.approx(expected, rel=1e-12)


def test_every_card_can_be_named_and_every_stage_and_fifo_is_printed(annulus, scan, tmp_path):
    cards = sorted(path.parent.name for path in PLATFORM.glob("u*/card.json"))
    assert cards
    for card in cards:
        done = annulus("model-report", "-p", scan.poni, "--card", card, "--frames", 1, scan.folder)
        assert done.returncode == 0, done.stderr
        assert LABEL in done.stdout
        assert json.loads((PLATFORM / card / "card.json").read_text())["name"] in done.stdout
    result = report_on(annulus, scan.poni, "--frames", 1, scan.folder)
    assert result["label"] == LABEL
    for item in result["stages"] + result["fifos"]:
        assert item["name"] in done.stdout
    for fifo in result["fifos"]:
        assert 1 <= fifo["high_water_mark"] <= fifo["depth"], fifo
    assert result["limiting_stage"] in iterations(result)
    assert iterations(result)[result["limiting_stage"]] == max(iterations(result).values())


def test_plain_frames_are_reported_on_with_their_own_kernel(annulus, scan, tmp_path):
    stack = tmp_path / "stack.npy"
    numpy.save(stack, numpy.full((2, 195, 487), 7, numpy.uint16))
    result = report_on(annulus, scan.poni, "-n", 100, stack)
    assert result["kernel"] == "reduce_raw"
    assert result["frames"] == 2
    groups = -(-195 * 487 // LANES)
    assert iterations(result)["unpack_pixels"] == groups
    assert iterations(result)["read_frames"] == -(-195 * 487 * 2 // 64)


def expect_fed_lanes(result, name, report):
    """Engines of which `needed` are enough and all there are keep 16 lanes busy, but where the bytes themselves limit."""
    engines, pixels = result["engines"], result["pixels"]
    slowest = max(iterations(result).values())
    report.append(f"{name}, {result['payload_bytes_per_frame'] / pixels:.3f} bytes a pixel: an engine gives "
                  f"{engines['bytes_per_iteration']:.2f} bytes an iteration, {engines['needed']} of {engines['count']} engines "
                  f"feed {engines['lane_bytes']:.0f} bytes a clock; {result['limiting_stage']} takes {slowest:.0f} iterations, "
                  f"all stages {result['clocks_per_frame']:.0f} clocks ({LABEL})")
    assert result["kernel"] == "reduce_bslz4"
    assert 8 < engines["bytes_per_iteration"] <= 16
    assert engines["needed"] <= engines["count"]
    bound = 1.05 * max(result["payload_bytes_per_frame"] / WORD, pixels / LANES) + 2000
    assert max(pixels / LANES, slowest) <= result["clocks_per_frame"] <= bound
    decoded = engines["lane_bytes"] / LANES * pixels
    steps = sum(count for stage, count in iterations(result).items() if stage.startswith("decode_blocks["))
    assert engines["bytes_per_iteration"] == pytest.approx(decoded / steps, rel=1e-9)


@pytest.mark.parametrize("pixel_type, lane_bytes", [("uint16", 32), ("uint32", 64)])
def test_engines_feed_all_lanes_with_simulated_frames(annulus, tmp_path, report, pixel_type, lane_bytes):
    folder = tmp_path / "scan"
    done = annulus("simulate", "-o", folder, "--format", "eiger", "--detector", "Eiger4M", "--pixel-type", pixel_type, "-n", 1, "-q")
    assert done.returncode == 0, done.stderr
    result = report_on(annulus, folder / "scan.poni", folder / "scan_master.h5")
    assert result["engines"]["lane_bytes"] == lane_bytes
    expect_fed_lanes(result, f"Eiger 4M {pixel_type}, simulated", report)


@pytest.mark.parametrize("name", REAL_BLOCKS)
def test_engines_feed_all_lanes_with_real_frames(annulus, shared_data, tmp_path, report, name):
    path, shape = real_blocks(name, shared_data, tmp_path)
    integrate_arguments(path, shape, tmp_path / "case.poni")
    # By its name, so that gaps are masked: an invalid pixel costs the kernels more than a masked one.
    poni = re.sub("Detector: .*\nDetector_config: .*", "Detector: Eiger4M", (tmp_path / "case.poni").read_text())
    (tmp_path / "case.poni").write_text(poni)
    expect_fed_lanes(report_on(annulus, tmp_path / "case.poni", path), name, report)


def test_blocks_that_the_host_decodes_are_refused(annulus, scan, tmp_path):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    import h5py

    path = tmp_path / "large.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("/entry/data/data", data=numpy.zeros((1, 195, 487), numpy.uint16), chunks=(1, 195, 487),
                            **hdf5plugin.Bitshuffle(nelems=16384, lz4=True))
    done = annulus("model-report", "-p", scan.poni, "-n", 100, path)
    assert done.returncode == INPUT, done.stderr
    assert "no kernel decodes its blocks" in done.stderr


def test_faults_are_named(annulus, scan, tmp_path):
    def expect(code, *words, args=(), inputs=(scan.folder,), env=None):
        done = annulus("model-report", "-p", scan.poni, *args, *inputs, env={**os.environ, **(env or {})})
        assert done.returncode == code, done.stderr
        for word in words:
            assert str(word) in done.stderr, (word, done.stderr)

    expect(USAGE, "--card", "u99", "u50", args=["--card", "u99"])
    expect(USAGE, "--card", tmp_path, env={"ANNULUS_PLATFORM_DIR": str(tmp_path)})
    expect(USAGE, "platform/emulation/card.json", "missing", args=["--card", "emulation"])
    broken = tmp_path / "card.json"
    broken.write_text('{"name": "half a card"}')
    expect(USAGE, broken, "memory/kind", "missing", args=["--card", broken])
    expect(USAGE, "--clock", args=["--clock", 0])
    expect(USAGE, "--frames", args=["--frames", 0])
    damaged = tmp_path / "damaged.cbf"
    content = scan.files[0].read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    expect(INPUT, damaged, inputs=[scan.files[0], damaged])
    plain = tmp_path / "plain.npy"
    numpy.save(plain, numpy.zeros((195, 487), numpy.int32))
    expect(INPUT, plain, "reduce_raw", "reduce_byte_offset", inputs=[scan.files[0], plain])
    expect(BACKEND, "bins", args=["-n", 70000, "--split", "no"])


def test_configuration_of_a_run_is_understood(annulus, scan, tmp_path):
    config = tmp_path / "run.json"
    config.write_text(json.dumps({"poni": str(scan.poni), "npt": 321, "output": "never.nxs"}))
    done = annulus("model-report", "--config", config, "--json", "--frames", 1, scan.folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bins"] == 321
    assert not (tmp_path / "never.nxs").exists()
