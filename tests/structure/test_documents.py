"""The documents name what exists: links and anchors lead somewhere, paths are in the repository, and the options of the
command line are those that command_line.md explains."""

import os
import pathlib
import re
import subprocess

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*(PROJECT / "docs").glob("*.md"), *PROJECT.glob("*.md"), PROJECT / "platform" / "README.md"])
# Folders of which the documents may name files; other names with a slash are paths in HDF5 files or in a build.
SOURCES = ("host", "hls", "sim", "platform", "scripts", "tests", "docs")


def prose(page):
    """The page without its blocks of code, in which links and paths are those of examples."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    "))


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link} is no heading of {target.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_are_those_of_the_repository(page):
    files = [path.relative_to(PROJECT).as_posix() for folder in SOURCES for path in (PROJECT / folder).rglob("*.*")]
    for name in re.findall(r"`([\w./*]+/[\w.*]*)`", prose(page)):
        if name.split("/")[0] in SOURCES:
            found = [*PROJECT.glob(name), *PROJECT.glob(name + ".*")]
        elif re.search(r"\.(hpp|cpp|cl|py|cmake)$", name):
            found = [path for path in files if path.endswith("/" + name)]
        else:
            continue
        assert found, f"{page.name} names {name}, which is not there"


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "docs" and page.name != "glossary.md"],
                         ids=lambda page: page.name)
def test_every_page_leads_to_the_glossary(page):
    if page.name == "dependencies.md":
        pytest.skip("a list of packages has no words of its own")
    assert "](glossary.md)" in page.read_text()


@pytest.mark.parametrize("command, heading", [("integrate", "## annulus integrate"), ("simulate", "## annulus simulate"),
                                              ("plot", "## annulus plot"), ("bench", "## annulus bench")])
def test_every_option_is_explained(command, heading):
    """In the section of its command; what a section shares with `integrate` stands there."""
    program = os.environ.get("ANNULUS")
    if not program:
        pytest.skip("ANNULUS does not name the program")
    help_text = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
    offered = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", help_text)) - {"--help"}
    page = (PROJECT / "docs" / "command_line.md").read_text()
    sections = {f"## {part.split(chr(10))[0]}": part for part in re.split(r"^## ", page, flags=re.M)}
    explained = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", sections[heading]))
    if command == "bench":
        explained |= set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", sections["## annulus integrate"]))
    assert offered - explained == set(), f"options of {command} that command_line.md does not explain"


def test_every_option_of_tomo_is_explained_and_no_other():
    program = os.environ.get("ANNULUS")
    if not program:
        pytest.skip("ANNULUS does not name the program")
    help_text = subprocess.run([program, "tomo", "--help"], capture_output=True, text=True, check=True).stdout
    offered = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", help_text)) - {"--help"}
    rows = [row for row in (PROJECT / "docs" / "xrd_ct.md").read_text().splitlines() if row.startswith("| `-")]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", "".join(row.split("|")[1] for row in rows))) == offered


def test_every_option_that_only_correlate_has_is_explained_and_no_other():
    program = os.environ.get("ANNULUS")
    if not program:
        pytest.skip("ANNULUS does not name the program")

    def offered(command):
        help_text = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z0-9-]+)", help_text, re.M))
    rows = [row for row in (PROJECT / "docs" / "fxs.md").read_text().splitlines() if row.startswith("| `-")]
    explained = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", "".join(row.split("|")[1] for row in rows if "split" not in row)))
    assert explained == offered("correlate") - offered("integrate")


def test_integrate_has_every_option_that_is_explained():
    program = os.environ.get("ANNULUS")
    if not program:
        pytest.skip("ANNULUS does not name the program")
    help_text = subprocess.run([program, "integrate", "--help"], capture_output=True, text=True, check=True).stdout
    page = (PROJECT / "docs" / "command_line.md").read_text()
    section = page.split("\n## annulus integrate\n")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (`-[^|]*) \|", section, re.M):
        for option in re.findall(r"--[a-z][a-z0-9-]+", row):
            assert option in help_text, f"{option} is explained and does not exist"
