"""The house keeps its order: rooms use only the rooms they name, and the top level is what it should be."""

import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))

import rooms as house  # noqa: E402

HOST = PROJECT / "host"
ROOMS = house.all_rooms()
EDGES = house.include_edges(ROOMS)

# Usual files of a project that other tools expect at the top. They may be there.
OPTIONAL_AT_THE_TOP = {"pyproject.toml", "SECURITY.md", "CITATION.cff"}


def sources(folder):
    return sorted(folder.rglob("*.[hc]pp"))


def text_includes(path):
    """Everything a file includes, in brackets or quotes."""
    return re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", path.read_text(), re.MULTILINE)


def test_every_folder_of_the_library_and_the_tools_is_a_room():
    assert len(ROOMS) >= 14
    for path in sources(HOST / "annulus") + sources(HOST / "tools"):
        if path != HOST / "annulus/annulus.hpp":
            assert house.parse_room(path.parent), f"{path}: its folder has no CMakeLists.txt with annulus_room()"
    for name, room in ROOMS.items():
        below = room.folder.relative_to(HOST)
        assert str(below) == (name if name.startswith("tools/") else f"annulus/{name}"), f"{below} calls itself {name}"


def test_rooms_include_only_the_rooms_they_name():
    for (room, other), count in EDGES.items():
        assert other in ROOMS[room].rooms, f"{room} includes {other} ({count} times) but does not name it in ROOMS"


def test_rooms_name_only_the_rooms_they_include():
    for room in ROOMS.values():
        for other in room.rooms:
            assert other in ROOMS, f"{room.name} names {other}, which is no room"
            assert (room.name, other) in EDGES, f"{room.name} names {other} in ROOMS but includes nothing of it"


def test_rooms_have_no_cycles():
    assert house.find_cycle(EDGES) == []
    # And the search finds one.
    assert house.find_cycle([("a", "b"), ("b", "c"), ("c", "b")]) == ["b", "c", "b"]


def test_files_include_other_rooms_by_their_whole_path():
    """In brackets from host, so that the graph of includes is complete; in quotes only what is in the same folder."""
    for room in ROOMS.values():
        for path in room.files():
            for include in re.findall(r"#\s*include\s*\"([^\"]+)", path.read_text()):
                assert "/" not in include and (room.folder / include).exists(), f"{path} includes \"{include}\""
            for include in house.includes(path):
                if include.startswith(("annulus/", "tools/")) and include not in house.MADE_BY_CMAKE:
                    assert (HOST / include).exists(), f"{path} includes {include}, which is not there"
                    assert house.room_of(include, ROOMS), f"{path} includes {include}, which is of no room"


def test_every_source_is_built():
    for room in ROOMS.values():
        for path in room.folder.glob("*.cpp"):
            assert re.search(rf"(?<![\w/]){re.escape(path.name)}\b", room.cmake), f"{path} is in no library"


def test_the_library_knows_neither_tools_nor_program():
    """Tools know the library and the program knows both, never the other way."""
    for path in sources(HOST / "annulus"):
        assert not any(include.startswith(("tools/", "app/")) for include in text_includes(path)), path
    for folder in (HOST / "tools", PROJECT / "hls", PROJECT / "sim"):
        for path in sources(folder):
            assert not any(include.startswith("app/") for include in text_includes(path)), path
    for path in sources(PROJECT / "hls"):
        assert not any(include.startswith(("annulus/", "tools/")) for include in text_includes(path)), path


def test_only_two_rooms_know_the_kernels():
    """What the kernels are is a matter of packing for them, launching them and counting what they do."""
    for path in sources(HOST):
        if any(re.match(r"hls/|launch\.hpp|replay\.hpp|xrt/", include) for include in text_includes(path)):
            room = house.parse_room(path.parent)
            assert room and room.name in {"backends/fpga", "tools/cycles"}, path


def public_headers():
    """As they are included."""
    return {"annulus/annulus.hpp", *house.MADE_BY_CMAKE,
            *(f"annulus/{room.name}/{header}" for room in ROOMS.values() for header in room.headers)}


def test_public_headers_include_only_public_headers():
    headers = public_headers()
    assert 20 <= len(headers) <= 36, "the library shows users what they need, and nothing else"
    for header in headers - house.MADE_BY_CMAKE:
        for include in house.includes(HOST / header):
            if include.startswith("annulus/"):
                assert include in headers, f"{header} is installed, but {include}, which it includes, is not"


def test_public_headers_need_nothing_but_the_standard_library_and_two_others():
    """What users must have to compile against the library; a change here is a change for all of them."""
    allowed = re.compile(r"annulus/.*|fmt/.*|nlohmann/.*|[a-z_0-9]+")
    for header in public_headers() - house.MADE_BY_CMAKE:
        for include in text_includes(HOST / header):
            assert allowed.fullmatch(include), f"{header} shows its users <{include}>"


def test_figures_that_tests_report_are_shown():
    """ctest hides what tests print, so scripts/test shows the reports at the end."""
    reporting = [path for path in (PROJECT / "tests").rglob("test_*.py") if re.search(r"def \w+\(.*\breport\b.*\):", path.read_text())]
    assert len(reporting) >= 4
    for path in reporting:
        assert f"$ANNULUS_REPORT/{path.stem}.txt" in (PROJECT / "scripts" / "test").read_text(), path


def test_only_one_header_knows_where_xrt_has_its_own():
    """Releases of XRT differ in it."""
    for folder in ("host", "sim"):
        for path in sources(PROJECT / folder):
            if path.name != "xrt_headers.hpp":
                assert not re.search(r"#include [<\"].*(xclbin|xrt_system)\.h", path.read_text()), path


def test_only_one_header_includes_opencl():
    """It decides about versions and exceptions."""
    for path in sources(HOST):
        if any(include.startswith("CL/") for include in text_includes(path)):
            assert path.parent.name == "opencl" and path.name == "api.hpp", path


def test_the_citation_states_the_version_of_the_project():
    version = re.search(r"project\(annulus VERSION ([\d.]+)", (PROJECT / "CMakeLists.txt").read_text())[1]
    assert f"\nversion: {version}\n" in (PROJECT / "CITATION.cff").read_text()


def test_top_level():
    made_by_use = {".git", "build", "demo-output"}
    top = {path.name for path in PROJECT.iterdir()} - made_by_use - OPTIONAL_AT_THE_TOP
    assert top == {
        "CMakeLists.txt", "CMakePresets.json", "hls", "host", "platform", "sim", "tests", "scripts", "docs", "README.md",
        "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", ".clang-format", ".clang-tidy", ".ci", ".gitignore"}
