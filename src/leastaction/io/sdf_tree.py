"""Which joints of an SDF model carry its links, and which close loops: a graph of links becomes a tree and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..mechanism import WORLD


@dataclass(frozen=True)
class Connection:
    """A joint between two links.  carries: it has springs, dampers or limits, which only joints of the tree can have."""

    joint: str
    parent: str
    child: str
    carries: bool = False


@dataclass(frozen=True)
class Hung:
    """A link that hangs on `upper` by a joint; turned: the file names the joint's ends the other way round."""

    link: str
    upper: str
    joint: str
    turned: bool


@dataclass(frozen=True)
class Tree:
    roots: list[str]  #: links that hang on nothing
    hung: list[Hung]  #: every other link after the one it hangs on
    closing: list[str]  #: joints that are not part of the tree


def spanning_tree(links: Sequence[str], connections: Iterable[Connection]) -> Tree:
    """Joints that carry something first, then in the order of the file."""
    group = {link: link for link in (WORLD, *links)}
    near: dict[str, list[Connection]] = {link: [] for link in group}
    closing, held = [], set()
    for connection in sorted(connections, key=lambda c: not c.carries):
        a, b = _first(group, connection.parent), _first(group, connection.child)
        if a == b:
            closing.append(connection.joint)
            continue
        group[b] = a
        held.add(connection.child)
        near[connection.parent].append(connection)
        near[connection.child].append(connection)
    roots = _roots(links, group, held)
    return Tree(roots, list(_hang([WORLD, *roots], near)), closing)


def _first(group: dict[str, str], link: str) -> str:
    """The link that stands for all that are joined with this one."""
    while group[link] != link:
        group[link] = group[group[link]]
        link = group[link]
    return link


def _roots(links: Sequence[str], group: dict[str, str], held: set[str]) -> list[str]:
    """Of everything that is not joined to the world one link, if possible one that is nobody's child."""
    chosen: dict[str, str] = {_first(group, WORLD): WORLD}
    for link in [*(link for link in links if link not in held), *links]:
        chosen.setdefault(_first(group, link), link)
    return [link for link in chosen.values() if link != WORLD]


def _hang(roots: Sequence[str], near: dict[str, list[Connection]]) -> Iterable[Hung]:
    reached, stack = set(roots), list(reversed(roots))
    while stack:
        upper = stack.pop()
        found = []
        for connection in near[upper]:
            turned = connection.child == upper
            link = connection.parent if turned else connection.child
            if link not in reached:
                reached.add(link)
                found.append(link)
                yield Hung(link, upper, connection.joint, turned)
        stack.extend(reversed(found))
