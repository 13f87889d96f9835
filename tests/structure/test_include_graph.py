"""scripts/include_graph, and the picture in the documentation that it draws."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "scripts/include_graph"


def load_script():
    sys.path.insert(0, str(SCRIPT.parent))
    loader = importlib.machinery.SourceFileLoader("include_graph", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("include_graph", loader))
    loader.exec_module(module)
    return module


def test_the_picture_shows_the_graph_as_it_is():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_picture_is_in_the_documentation():
    assert "images/architecture.svg" in (PROJECT / "docs/architecture.md").read_text()


def test_a_picture_that_is_out_of_date_is_found(tmp_path):
    script = load_script()
    edges = script.graph()
    picture = tmp_path / "picture.svg"
    picture.write_text(script.PICTURE.read_text())
    assert script.out_of_date(edges, picture) == []
    more = {**edges, ("geometry", "codecs"): 1}
    assert "geometry -> codecs is not drawn" in script.out_of_date(more, picture)
    fewer = {edge: count for edge, count in edges.items() if edge != ("plan", "geometry")}
    assert "plan -> geometry is drawn, but is no longer there" in script.out_of_date(fewer, picture)
    assert script.out_of_date(edges, tmp_path / "absent.svg") == [f"{tmp_path}/absent.svg is not there"]


def test_edges_that_follow_from_others_are_not_drawn():
    script = load_script()
    edges = {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 1, ("a", "tools/x"): 1, ("tools/x", "d"): 1, ("a", "d"): 1}
    assert script.without_shortcuts(edges) == [("a", "b"), ("a", "d"), ("a", "tools/x"), ("b", "c"), ("tools/x", "d")]


def test_faults_of_the_graph_are_named():
    script = load_script()
    edges = script.graph()
    assert script.faults(edges) == []
    assert "geometry includes codecs but does not name it" in script.faults({**edges, ("geometry", "codecs"): 1})
    fewer = {edge: count for edge, count in edges.items() if edge != ("plan", "geometry")}
    assert script.faults(fewer) == ["plan names geometry but includes nothing of it"]
    assert any(line.startswith("a cycle: ") for line in script.faults({**edges, ("core", "plan"): 1}))
