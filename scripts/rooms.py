"""The rooms of host/annulus and host/tools as their CMakeLists.txt declare them, and what their files include.

Used by scripts/include_graph and tests/structure.
"""

import pathlib
import re
from dataclasses import dataclass, field

PROJECT = pathlib.Path(__file__).resolve().parents[1]
HOST = PROJECT / "host"

LISTS = ("SOURCES", "HEADERS", "ROOMS", "LINK")
MADE_BY_CMAKE = {"annulus/version.hpp"}


@dataclass
class Room:
    name: str  # backends/cpu, tools/plot
    folder: pathlib.Path
    cmake: str  # the text of its CMakeLists.txt
    lists: dict = field(default_factory=dict)

    @property
    def rooms(self):
        return set(self.lists.get("ROOMS", ()))

    @property
    def headers(self):
        """Those that are installed."""
        return set(self.lists.get("HEADERS", ()))

    def files(self):
        return sorted(self.folder.glob("*.[hc]pp"))


def parse_room(folder):
    """The room that a folder's CMakeLists.txt declares, or None."""
    path = folder / "CMakeLists.txt"
    if not path.exists():
        return None
    text = re.sub(r"#.*", "", path.read_text())
    call = re.search(r"\bannulus_room\(([\w/]+)([^)]*)\)", text)
    if not call:
        return None
    room = Room(call[1], folder, text)
    current = None
    for word in call[2].split():
        if word in LISTS:
            current = room.lists.setdefault(word, [])
        else:
            current.append(word)
    return room


def all_rooms():
    found = {}
    for path in sorted(HOST.rglob("CMakeLists.txt")):
        room = parse_room(path.parent)
        if room:
            found[room.name] = room
    return found


def includes(path):
    """What a file includes in angle brackets."""
    return re.findall(r"^\s*#\s*include\s*<([^>]+)>", path.read_text(), re.MULTILINE)


def room_of(include, rooms):
    """The room of a header as it is included: <annulus/backends/cpu/lane_sums.hpp> -> backends/cpu. None if it is of no room."""
    folder = include.rsplit("/", 1)[0]
    name = folder.removeprefix("annulus/")
    return name if folder != "annulus" and name in rooms and (include.startswith(("annulus/", "tools/"))) else None


def include_edges(rooms):
    """How many includes lead from one room to another: {(from, to): count}."""
    edges = {}
    for room in rooms.values():
        for path in room.files():
            for include in includes(path):
                other = room_of(include, rooms)
                if other and other != room.name:
                    edges[room.name, other] = edges.get((room.name, other), 0) + 1
    return edges


def find_cycle(edges):
    """The rooms of a cycle in their order, or an empty list."""
    below = {}
    for start, end in edges:
        below.setdefault(start, set()).add(end)
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return []
        path.append(room)
        for other in sorted(below.get(room, ())):
            cycle = visit(other)
            if cycle:
                return cycle
        path.pop()
        done.add(room)
        return []

    for room in sorted(below):
        cycle = visit(room)
        if cycle:
            return cycle
    return []
