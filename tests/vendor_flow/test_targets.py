"""The targets of the vendor's flow, built with stand-ins for its tools: which commands run, with what, and that
nothing passes which a tool or its log calls bad. Says nothing about the tools themselves."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent
PROJECT = FOLDER.parents[1]
LOGS = FOLDER / "logs"
KERNELS = ["reduce_bslz4", "reduce_byte_offset", "reduce_raw"]
CARDS = sorted(path.parent.name for path in PROJECT.glob("platform/u*/card.json"))

TINY_PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH "{PROJECT}/scripts/cmake")
include(annulus_vitis)
"""


def good_synth_log(kernel_tops):
    """A sample log that has all loops of the kernels as well."""
    text = (LOGS / "good_synth_2023.2.log").read_text()
    missing = ""
    for top in kernel_tops:
        run = subprocess.run([PROJECT / "scripts" / "check_hls_log", "--stage", "synth", "--top", top,
                              LOGS / "good_synth_2023.2.log"], capture_output=True, text=True, check=False)
        for label, function in re.findall(r"loop '(\w+)' of (\w+):", run.stdout):
            missing += (f"INFO: [HLS 200-42] -- Implementing module '{function}_Pipeline_{label}' \n"
                        "INFO: [HLS 200-1470] Pipelining result : Target II = 1, Final II = 1, Depth = 4, "
                        f"loop '{label}'\n")
    assert missing
    return text.replace("INFO: [HLS 200-790]", missing + "INFO: [HLS 200-790]")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    (folder / "synth.log").write_text(good_synth_log(PROJECT / "hls" / f"{kernel}.cpp" for kernel in KERNELS))
    (folder / "bad_synth.log").write_text((LOGS / "bad_pragma.log").read_text())
    for stage, bad in (("csim", "bad_csim_failed"), ("cosim", "bad_cosim_failed"), ("link", "bad_link_timing")):
        shutil.copy(LOGS / f"good_{stage}.log", folder / f"{stage}.log")
        shutil.copy(LOGS / f"{bad}.log", folder / f"bad_{stage}.log")
    for name in ("csynth.rpt", "csynth.xml"):
        shutil.copy(LOGS / f"good_{name}", folder / name)
    return folder


class Flow:
    """A tiny project with the targets, in a folder of its own."""

    def __init__(self, folder, samples, tools=("v++", "vitis-run", "emconfigutil")):
        self.build = folder / "build"
        self.notes = folder / "stand_in"
        shutil.copytree(samples, self.notes)
        (folder / "CMakeLists.txt").write_text(TINY_PROJECT)
        (folder / "bin").mkdir()
        for tool in tools:
            path = folder / "bin" / tool
            path.write_text("#!/usr/bin/python3 -SE\n" + (FOLDER / "stand_in_tool.py").read_text())
            path.chmod(0o755)
        self.environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"),
                            "STAND_IN_FOLDER": str(self.notes)}

    def run(self, *command, **environment):
        return subprocess.run(command, env={**self.environment, **environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, cwd=self.build.parent)

    def configure(self, *options, **environment):
        return self.run("cmake", "-G", "Ninja", "-S", ".", "-B", str(self.build), "-DANNULUS_KERNEL_BINS=8192",
                        "-DANNULUS_KERNEL_VARIANCE=0", *options, **environment)

    def make(self, target, fault=""):
        return self.run("cmake", "--build", str(self.build), "--target", target,
                        **({"STAND_IN_FAULT": fault} if fault else {}))

    def targets(self):
        listing = self.run("cmake", "--build", str(self.build), "--target", "help").stdout
        return set(re.findall(r"^(?:.*/CMakeFiles/)?([\w+]+): phony", listing, re.M))

    def calls(self):
        path = self.notes / "calls.json"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def forget(self):
        """Removes what targets made and the notes about it."""
        (self.notes / "calls.json").unlink(missing_ok=True)
        for path in self.build.glob("vitis/*/*/*"):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "hls_config.cfg":
                path.unlink()

    def file(self, card, kernel, name):
        return self.build / "vitis" / card / kernel / name


@pytest.fixture(scope="module")
def configured_flow(tmp_path_factory, samples):
    made = Flow(tmp_path_factory.mktemp("flow"), samples)
    run = made.configure()
    assert run.returncode == 0, run.stdout
    return made


@pytest.fixture
def flow(configured_flow):
    """Configured for the default card, and nothing made yet."""
    configured_flow.forget()
    return configured_flow


ALL_TARGETS = {"hw_emu", "hw"} | {f"{name}_{kernel}" for kernel in KERNELS
                                  for name in ("synth", "csim_vitis", "cosim", "hw_emu", "hw")}


@pytest.mark.parametrize("tools, version, message", [
    ((), "2023.2", "Vitis not found"),
    (("v++", "emconfigutil"), "2023.2", "Vitis not found or not whole"),
    (("v++", "vitis-run", "emconfigutil"), "2022.2", "Vitis 2022.2 is older than 2023.2"),
])
def test_without_the_tools_there_are_no_targets_and_the_project_configures(tmp_path, samples, tools, version, message):
    made = Flow(tmp_path, samples, tools)
    run = made.configure(STAND_IN_VERSION=version)
    assert run.returncode == 0
    assert message in run.stdout
    assert not made.targets() & ALL_TARGETS


def test_with_the_tools_all_targets_are_there_and_none_runs_by_itself(flow):
    assert ALL_TARGETS <= flow.targets()
    assert flow.make("all").returncode == 0
    assert flow.calls() == []


@pytest.mark.parametrize("kernel", KERNELS)
def test_synthesis(flow, kernel):
    run = flow.make(f"synth_{kernel}")
    assert run.returncode == 0, run.stdout
    config = flow.file("u55c", kernel, "hls_config.cfg")
    assert flow.calls() == [["synth", "v++", "-c", "--mode", "hls", "--config", str(config), "--work_dir",
                             str(flow.file("u55c", kernel, "synthesis"))]]
    settings = dict(line.split("=", 1) for line in config.read_text().splitlines() if "=" in line and line[0] != "#")
    assert settings["part"] == "xcu55c-fsvh2892-2L-e"
    assert settings["clock"] == "300MHz"
    assert settings["flow_target"] == "vitis"
    assert settings["syn.top"] == kernel
    assert settings["syn.file"] == str(PROJECT / "hls" / f"{kernel}.cpp")
    flags = f"-std=c++14 -I{PROJECT} -DANNULUS_KERNEL_BINS=8192 -DANNULUS_KERNEL_VARIANCE=0"
    assert settings["syn.cflags"] == settings["tb.cflags"] == flags
    assert pathlib.Path(settings["tb.file"]).is_file()
    assert settings["package.output.format"] == "xo"
    assert config.read_text().index("part=") < config.read_text().index("[hls]") < config.read_text().index("clock=")
    assert flow.file("u55c", kernel, f"{kernel}.xo").read_text() == "xo"
    assert flow.file("u55c", kernel, "synth.log").read_text() == (flow.notes / "synth.log").read_text()


def test_what_is_made_is_made_once_and_again_when_a_constant_changes(tmp_path, samples):
    flow = Flow(tmp_path, samples)
    assert flow.configure().returncode == 0
    assert flow.make("synth_reduce_raw").returncode == 0
    assert flow.make("synth_reduce_raw").returncode == 0
    assert len(flow.calls()) == 1
    assert flow.configure("-DANNULUS_KERNEL_BINS=1024").returncode == 0
    assert flow.make("synth_reduce_raw").returncode == 0
    assert len(flow.calls()) == 2


def test_simulations(flow):
    assert flow.make("csim_vitis_reduce_raw").returncode == 0
    assert flow.make("cosim_reduce_raw").returncode == 0
    config = str(flow.file("u55c", "reduce_raw", "hls_config.cfg"))
    csim, synth, cosim = flow.calls()
    assert csim == ["csim", "vitis-run", "--mode", "hls", "--csim", "--config", config, "--work_dir",
                    str(flow.file("u55c", "reduce_raw", "csim"))]
    assert synth[0] == "synth"
    assert cosim == ["cosim", "vitis-run", "--mode", "hls", "--cosim", "--config", config, "--work_dir", synth[-1]]


@pytest.mark.parametrize("mode", ["hw_emu", "hw"])
def test_links(flow, mode):
    run = flow.make(mode)
    assert run.returncode == 0, run.stdout
    links = [call for call in flow.calls() if call[0] == "link"]
    assert len(links) == len(KERNELS)
    for kernel in KERNELS:
        link = next(call for call in links if call[-1].endswith(f"/{kernel}.xo"))
        assert link[1:3] == ["v++", "--link"]
        arguments = dict(zip(link, link[1:]))
        assert arguments["--target"] == mode
        assert arguments["--platform"] == "xilinx_u55c_gen3x16_xdma_3_202210_1"
        assert arguments["--config"] == str(PROJECT / "platform" / "u55c" / f"{kernel}.cfg")
        assert "--kernel_frequency" not in arguments  # stands in the .cfg
        assert flow.file("u55c", kernel, f"{kernel}.{mode}.xclbin").read_text() == mode
    assert sum(call[0] == "emconfig" for call in flow.calls()) == (len(KERNELS) if mode == "hw_emu" else 0)


PRODUCTS = [("synth", "synth_reduce_raw", "reduce_raw.xo"), ("link", "hw_reduce_raw", "reduce_raw.hw.xclbin"),
            ("link", "hw_emu_reduce_raw", "reduce_raw.hw_emu.xclbin")]
CHECKS = [("csim", "csim_vitis_reduce_raw", None), ("cosim", "cosim_reduce_raw", None)]


@pytest.mark.parametrize("fault, stage, target, product",
                         [(fault, *case) for fault in ("exit", "bad") for case in PRODUCTS + CHECKS]
                         + [("lazy", *case) for case in PRODUCTS])
def test_a_tool_that_fails_fails_the_target(flow, fault, stage, target, product):
    run = flow.make(target, fault=f"{stage}={fault}")
    assert run.returncode != 0
    assert stage in [call[0] for call in flow.calls()], "it ran"
    if fault == "bad":
        assert re.search(r"\.log:\d+: (error|timing|dropped pragma): ", run.stdout)
    if product:
        assert not flow.file("u55c", "reduce_raw", product).exists()
    assert flow.make(target).returncode == 0, "and once mended the target is made"


@pytest.mark.parametrize("card", CARDS)
def test_every_card(tmp_path, samples, card):
    made = Flow(tmp_path, samples)
    assert made.configure(f"-DANNULUS_CARD={card}").returncode == 0
    assert made.make("hw_reduce_raw").returncode == 0
    facts = json.loads((PROJECT / "platform" / card / "card.json").read_text())
    config = made.file(card, "reduce_raw", "hls_config.cfg").read_text()
    assert f"part={facts['part']}\n" in config
    assert f"clock={facts['clock_mhz']}MHz\n" in config
    link = made.calls()[-1]
    assert facts["platform"] in link
    assert str(PROJECT / "platform" / card / "reduce_raw.cfg") in link


def test_a_clock_of_ones_own(tmp_path, samples):
    made = Flow(tmp_path, samples)
    assert made.configure("-DANNULUS_KERNEL_CLOCK_MHZ=200").returncode == 0
    assert made.make("hw_reduce_raw").returncode == 0
    assert "clock=200MHz\n" in made.file("u55c", "reduce_raw", "hls_config.cfg").read_text()
    link = made.calls()[-1]
    assert link[link.index("--kernel_frequency") + 1] == "200"


def test_a_clock_that_the_design_misses_fails(tmp_path, samples):
    made = Flow(tmp_path, samples)
    assert made.configure("-DANNULUS_KERNEL_CLOCK_MHZ=450").returncode == 0  # the sample log estimates 411 MHz
    run = made.make("synth_reduce_raw")
    assert run.returncode != 0
    assert "estimated 411.35 MHz, wanted 450 MHz" in run.stdout


def test_an_unknown_card_is_an_error_that_says_so(tmp_path, samples):
    run = Flow(tmp_path, samples).configure("-DANNULUS_CARD=u9000")
    assert run.returncode != 0
    assert "ANNULUS_CARD is 'u9000'" in run.stdout
