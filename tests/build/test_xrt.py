"""XRT is an option of the build: a vendor's before a distribution's, older and current releases, with or without its
driver for software emulation. A build without any is tested in test_optional.py.
"""

import json
import os
import pathlib
import re

import pytest

from other_build import BUILD, CACHE, PROJECT, configure, run

HAS_XRT = bool(CACHE.get("XRT_COREUTIL_LIBRARY", "").endswith(".so"))


def make_file(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


# Finding it: a small project, in a file system of its own.


@pytest.fixture
def find_xrt(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(finds_xrt LANGUAGES CXX)\n"
        f'list(APPEND CMAKE_MODULE_PATH "{PROJECT}/scripts/cmake")\n'
        "foreach(kind INCLUDE LIBRARY)\n  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)\nendforeach()\n"
        f'set(CMAKE_FIND_ROOT_PATH "{tmp_path}/root")\n'
        'find_package(XRT REQUIRED)\nmessage(STATUS "headers ${XRT_INCLUDE_DIR} library ${XRT_COREUTIL_LIBRARY}")\n')
    for library in ("xrt_coreutil", "uuid"):
        make_file(tmp_path / f"root/usr/lib/lib{library}.so")
    make_file(tmp_path / "root/usr/include/xrt/xrt/xrt_device.h")

    def find(env=None):
        text = configure(tmp_path / "build", source=tmp_path, env={**os.environ, "XILINX_XRT": "", **(env or {})})
        return re.search(r"headers (.*) library (.*)", text).groups()

    return tmp_path / "root", find


def make_vendor_xrt(folder):
    make_file(folder / "include/xrt/xrt_device.h")
    make_file(folder / "lib/libxrt_coreutil.so")


def test_a_distributions_xrt_is_found(find_xrt):
    root, find = find_xrt
    assert find() == (f"{root}/usr/include/xrt", f"{root}/usr/lib/libxrt_coreutil.so")


def test_a_vendors_xrt_is_preferred(find_xrt):
    root, find = find_xrt
    make_vendor_xrt(root / "opt/xilinx/xrt")
    assert find() == (f"{root}/opt/xilinx/xrt/include", f"{root}/opt/xilinx/xrt/lib/libxrt_coreutil.so")


def test_the_xrt_of_the_environment_is_preferred_to_all(find_xrt):
    root, find = find_xrt
    make_vendor_xrt(root / "opt/xilinx/xrt")
    make_vendor_xrt(root / "home/xrt")
    assert find({"XILINX_XRT": "/home/xrt"}) == (f"{root}/home/xrt/include", f"{root}/home/xrt/lib/libxrt_coreutil.so")


@pytest.mark.skipif(pathlib.Path("/opt/xilinx/xrt").exists(), reason="this machine has a vendor's XRT")
@pytest.mark.parametrize("vendor", [False, True])
def test_debians_package_is_installed_only_where_no_vendors_xrt_is(tmp_path, vendor):
    if vendor:
        make_vendor_xrt(tmp_path / "xrt")
    done = run("bash", "-c", f'source "{PROJECT}/scripts/lib.sh"; echo "${{build_packages[*]}}"',
               env={**os.environ, "XILINX_XRT": str(tmp_path / "xrt")})
    assert "libfmt-dev" in done.stdout
    assert ("libxrt-dev" in done.stdout) is not vendor


@pytest.mark.parametrize("headers", [("xclbin.h", "experimental/xrt_system.h"),
                                     ("xrt/detail/xclbin.h", "xrt/experimental/xrt_system.h")], ids=["2.13", "current"])
def test_headers_are_found_where_a_release_has_them(tmp_path, headers):
    for number, header in enumerate(headers):
        make_file(tmp_path / "include" / header)
        (tmp_path / "include" / header).write_text(f"struct from_header_{number} {{}};\n")
    (tmp_path / "uses.cpp").write_text("#include <annulus/backends/fpga/xrt_headers.hpp>\nfrom_header_0 a;\nfrom_header_1 b;\n")
    run("c++", "-std=c++20", "-fsyntax-only", "-I", PROJECT / "host", "-isystem", tmp_path / "include", tmp_path / "uses.cpp")


# An XRT without the driver for software emulation.


@pytest.mark.skipif(not HAS_XRT, reason="this build has no XRT")
def test_without_the_driver_there_is_no_emulated_card_but_all_else(tmp_path):
    library = pathlib.Path(CACHE["XRT_COREUTIL_LIBRARY"])
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / library.name).symlink_to(library)
    build = tmp_path / "build"
    text = configure(build, f"-DXRT_COREUTIL_LIBRARY={tmp_path}/lib/{library.name}")
    assert f"The emulated card is not built: the XRT in {tmp_path}/lib has no driver" in text
    assert "libxrt_swemu" in run("cmake", "--build", build, "--target", "annulus_emulation").stdout
    files = {pathlib.Path(entry["file"]).name for entry in json.loads((build / "compile_commands.json").read_text())}
    assert "xrt_card.cpp" in files and "emulated_card.cpp" not in files
    done = run(PROJECT / "scripts/emulate", "--build", build, "--", "true", check=False)
    assert done.returncode == 2 and "annulus_emulation" in done.stderr


@pytest.mark.skipif(not (BUILD / "emulation/annulus.xclbin").exists(), reason="this build has no emulated card")
def test_scripts_emulate_refuses_a_build_whose_driver_is_gone(tmp_path):
    (tmp_path / "emulation").mkdir()
    for path in (BUILD / "emulation").iterdir():
        if path.name != "xrt":
            (tmp_path / "emulation" / path.name).symlink_to(path)
    done = run(PROJECT / "scripts/emulate", "--build", tmp_path, "--", "echo", "it ran", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "libxrt_swemu" in done.stderr
