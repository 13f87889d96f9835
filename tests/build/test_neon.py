"""The NEON code, on machines that have none: tests of the instruction sets, compiled for ARM and run in an emulator."""

import pathlib
import shutil
import subprocess

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
HOST = PROJECT / "host/annulus"
GTEST = pathlib.Path("/usr/src/googletest/googletest")  # as source: the libraries are of this machine
COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64-static"

SOURCES = [PROJECT / "tests/unit/backends/cpu/lane_kernels_test.cpp", PROJECT / "tests/unit/codecs/byte_offset_test.cpp",
           *(HOST / "backends/cpu" / f"{name}.cpp" for name in
             ("banded_plan", "lane_kernels", "lane_kernels_generic", "lane_kernels_neon")),
           *(HOST / "codecs" / f"{name}.cpp" for name in ("byte_offset", "short_codes", "short_codes_neon")),
           *(HOST / "core" / f"{name}.cpp" for name in ("error", "instruction_set", "large_vector", "parallel")),
           HOST / "plan/fixed_point.cpp", GTEST / "src/gtest-all.cc", GTEST / "src/gtest_main.cc"]


@pytest.mark.skipif(not (shutil.which(COMPILER) and shutil.which(EMULATOR) and GTEST.is_dir()),
                    reason=f"{COMPILER}, {EMULATOR} or the sources of GoogleTest are not installed")
def test_neon_gives_what_is_defined(tmp_path):
    # Only this of the machine's own headers: the others are not for ARM.
    (tmp_path / "fmt").symlink_to("/usr/include/fmt")
    subprocess.run([COMPILER, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-DFMT_HEADER_ONLY", f"-I{PROJECT}/host",
                    f"-isystem{tmp_path}", f"-isystem{GTEST}/include", f"-isystem{GTEST}", *map(str, SOURCES), "-static",
                    "-o", str(tmp_path / "check")], check=True)
    done = subprocess.run([EMULATOR, str(tmp_path / "check")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LaneKernels.IntegrateAsDefined" in done.stdout and "ByteOffset." in done.stdout
