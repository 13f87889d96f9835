"""OpenCL, XRT, PLplot and MPI are options of the build: without one of them everything else is built as before, and what needs
it says that this build has none.

Objects that do not depend on an option are those of the build that is tested: only the others are compiled.
"""

import json
import os
import subprocess

import pytest

from other_build import BUILD, CACHE, PROJECT, commands, configure, relink, run

needs_plain_build = pytest.mark.skipif(CACHE.get("ANNULUS_SANITIZE", "") != "",
                                       reason="objects with and without sanitizers cannot be mixed")


@pytest.fixture
def optional(tmp_path):
    """Configures a project that asks for a package of its own, which is there or not."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(asks LANGUAGES NONE)\n"
        f'include("{PROJECT}/scripts/cmake/annulus_optional.cmake")\n'
        'list(APPEND CMAKE_MODULE_PATH "${CMAKE_SOURCE_DIR}")\n'
        'annulus_optional(GADGET Gadget "turning things")\n'
        'message(STATUS "with it: ${ANNULUS_WITH_GADGET}")\n')

    def ask(there, *options):
        (tmp_path / "FindGadget.cmake").write_text(f"set(Gadget_FOUND {there})\n")
        done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", "--fresh", *options], capture_output=True,
                              text=True, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())  # CMake breaks lines where it likes

    return ask


@pytest.mark.parametrize("switch,there,used", [
    ([], True, True), ([], False, False), (["-DANNULUS_GADGET=AUTO"], True, True), (["-DANNULUS_GADGET=ON"], True, True),
    (["-DANNULUS_GADGET=OFF"], True, False), (["-DANNULUS_GADGET=OFF"], False, False)])
def test_a_package_is_used_as_its_switch_says(optional, switch, there, used):
    code, text = optional(there, *switch)
    assert code == 0, text
    assert f"with it: {str(used).upper()}" in text
    assert ("Built without Gadget, so without turning things" in text) is not used


def test_a_package_that_must_be_there_is_missed(optional):
    code, text = optional(False, "-DANNULUS_GADGET=ON")
    assert code != 0 and "ANNULUS_GADGET is ON, but Gadget is not found." in text


def test_another_value_of_a_switch_is_refused(optional):
    code, text = optional(True, "-DANNULUS_GADGET=MAYBE")
    assert code != 0 and "ANNULUS_GADGET is 'MAYBE'. Set it to AUTO, ON or OFF." in text


def build_without(tmp_path, switch, rooms, library):
    """The program without one of the options; `rooms` are all that may be compiled differently for it."""
    build = tmp_path / "build"
    text = configure(build, f"-D{switch}=OFF")
    ours, theirs = commands(build), commands(BUILD)
    different = [output for output in ours if ours[output] != theirs.get(output)]
    for output in different:
        assert any(output.startswith(f"host/{room}/CMakeFiles/") for room in rooms), output
    for output in ours:
        assert not any(library.lower() in word.lower() for word in ours[output] if word.startswith(("-D", "-i", "-I"))), output
    run("ninja", "-C", build, "-j2", *different)
    relink([build / output for output in different], f"lib{library}", tmp_path / "annulus")
    return tmp_path / "annulus", text


def assert_backend_is_absent(program, name, detail, tmp_path):
    """It is listed as absent with a reason, asking for it is an error, and the others work."""
    listed = next(item for item in json.loads(run(program, "devices", "--json").stdout) if item["name"] == name)
    assert not listed["available"] and detail in listed["detail"]
    assert run(program, "simulate", "-o", tmp_path / "scan", "--detector", "Pilatus100k", "-n", 2, "-q").stderr == ""
    arguments = ["integrate", "-p", tmp_path / "scan/scan.poni", "-n", 100, "-q", tmp_path / "scan"]
    for backend in ("cpu", "model"):
        run(program, *arguments, "--backend", backend, "-o", tmp_path / f"{backend}.nxs")
    done = run(program, *arguments, "--backend", name, "-o", tmp_path / "absent.nxs", check=False)
    assert done.returncode == 6 and f"'{name}' is not available" in done.stderr and detail in done.stderr
    assert not (tmp_path / "absent.nxs").exists()


@needs_plain_build
def test_without_xrt(tmp_path):
    program, text = build_without(tmp_path, "ANNULUS_XRT", ["annulus/backends", "annulus/backends/fpga"], "xrt")
    assert "The emulated card is not built: there is no XRT" in text
    assert_backend_is_absent(program, "xrt", "this build has no XRT", tmp_path)


@needs_plain_build
def test_without_opencl(tmp_path):
    program, _ = build_without(tmp_path, "ANNULUS_OPENCL", ["annulus/backends", "annulus/backends/opencl", "annulus/tomography"],
                               "OpenCL")
    assert_backend_is_absent(program, "opencl", "this build has no OpenCL", tmp_path)


@needs_plain_build
def test_without_plplot(tmp_path):
    program, _ = build_without(tmp_path, "ANNULUS_PLOT", ["tools/plot"], "plplot")
    run(program, "simulate", "-o", tmp_path / "scan", "--detector", "Pilatus100k", "-n", 2, "-q")
    output = tmp_path / "out.nxs"
    run(program, "integrate", "-p", tmp_path / "scan/scan.poni", "-n", 100, "-q", "-o", output, tmp_path / "scan")
    for options in ([], ["--stack"]):
        done = run(program, "plot", output, *options, "-o", tmp_path / "picture.png", check=False)
        assert done.returncode == 6
        assert "this build has no PLplot" in done.stderr and "-DANNULUS_PLOT=ON" in done.stderr
    assert not (tmp_path / "picture.png").exists()


@needs_plain_build
def test_without_mpi(tmp_path):
    """The program is the same with and without it: only the module is not there, and several ranks are refused."""
    text = configure(tmp_path / "build", "-DANNULUS_MPI=OFF")
    assert "Built without MPI, so without jobs of several processes" in text
    ours, theirs = commands(tmp_path / "build"), commands(BUILD)
    assert ours and all(ours[output] == theirs[output] for output in ours)
    assert not any("mpi" in word.lower() for words in ours.values() for word in words if word.startswith(("-i", "-I")))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/annulus"
    relink([], "libmpi", program)
    run(program, "simulate", "-o", tmp_path / "scan", "--detector", "Pilatus100k", "-n", 2, "-q")
    arguments = ["integrate", "-p", tmp_path / "scan/scan.poni", "-n", 100, "-q", "-o", tmp_path / "out.nxs", tmp_path / "scan"]
    started = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    done = run(program, *arguments, check=False, env={**os.environ, **started})
    assert done.returncode == 6 and "started as 2 ranks" in done.stderr and "-DANNULUS_MPI=ON" in done.stderr
    assert not (tmp_path / "out.nxs").exists()
    run(program, *arguments, env={**os.environ, **started, "OMPI_COMM_WORLD_SIZE": "1"})
