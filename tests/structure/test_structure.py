"""The house keeps its order: rooms use only the rooms they name, and the top level is what it should be."""

import pathlib
import re

PROJECT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = PROJECT / "host" / "annulus"


def room_list():
    found = {}
    for path in ROOMS.glob("*/CMakeLists.txt"):
        text = path.read_text()
        name = re.search(r"annulus_room\((\w+)", text)[1]
        rooms = re.search(r"ROOMS ([a-z0-9_ ]+)", text)
        found[name] = set(rooms[1].split()) if rooms else set()
    return found


def test_rooms_include_only_the_rooms_they_name():
    rooms = room_list()
    assert len(rooms) >= 9
    for room, allowed in rooms.items():
        for path in (ROOMS / room).glob("*.[hc]pp"):
            used = set(re.findall(r"#include <annulus/(\w+)/", path.read_text()))
            assert used <= allowed | {room}, f"{path.name} of {room} uses {used - allowed - {room}}"


def test_rooms_have_no_cycles():
    rooms = room_list()

    def below(room, seen):
        assert room not in seen, f"cycle through {room}"
        return set().union(*(below(other, seen | {room}) for other in rooms[room])) | {room}

    for room in rooms:
        below(room, set())
    assert "backends" not in below("formats", set()) | below("outputs", set())


def test_every_source_is_built():
    for path in ROOMS.glob("*/*.cpp"):
        assert path.name in (path.parent / "CMakeLists.txt").read_text(), f"{path} is in no library"


def test_only_three_rooms_know_the_kernels():
    """What the kernels are is a matter of packing for them, launching them and counting what they do."""
    for path in ROOMS.glob("*/*.[hc]pp"):
        if re.search(r"#include <(hls/|launch\.hpp|replay\.hpp|xrt/)", path.read_text()):
            assert path.parent.name in {"device", "backends", "cycles"}, path


def test_figures_that_tests_report_are_shown():
    """ctest hides what tests print, so scripts/test shows the reports at the end."""
    reporting = [path for path in (PROJECT / "tests").rglob("test_*.py") if re.search(r"def \w+\(.*\breport\b.*\):", path.read_text())]
    assert len(reporting) >= 4
    for path in reporting:
        assert f"$ANNULUS_REPORT/{path.stem}.txt" in (PROJECT / "scripts" / "test").read_text(), path


def test_only_one_header_knows_where_xrt_has_its_own():
    """Releases of XRT differ in it."""
    for folder in ("host", "sim"):
        for path in (PROJECT / folder).rglob("*.[hc]pp"):
            if path.name != "xrt_headers.hpp":
                assert not re.search(r"#include [<\"].*(xclbin|xrt_system)\.h", path.read_text()), path


def test_only_one_header_includes_opencl():
    """It decides about versions and exceptions."""
    for path in (PROJECT / "host").rglob("*.[hc]pp"):
        if re.search(r"#include <CL/", path.read_text()):
            assert path.parent.name == "opencl" and path.name == "api.hpp", path


def test_top_level():
    made_by_use = {".git", "build", "demo-output"}
    top = {path.name for path in PROJECT.iterdir()} - made_by_use
    assert top == {
        "CMakeLists.txt", "CMakePresets.json", "hls", "host", "platform", "sim", "tests", "scripts", "docs", "README.md",
        "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", ".clang-format", ".clang-tidy", ".ci", ".gitignore"}
