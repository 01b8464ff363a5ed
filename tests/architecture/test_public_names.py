"""``__all__`` is a promise: sorted, true, and for the two façades a closed list."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

PUBLIC: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "public_names.json").read_text(encoding="utf-8")
)


def declared(tree: ast.Module) -> list[str] | None:
    """The literal value of a module's ``__all__``, if it has one."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                names: list[str] = ast.literal_eval(value)
                return names
            case _:
                continue
    return None


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as the linter sorts them."""
    bare = name.lstrip("_")
    if bare.isupper():
        return 0, name
    return (1 if bare[:1].isupper() else 2), name


def dotted(path: str) -> str:
    """The import name of a module below ``src/toolfabric``."""
    parts = list(PurePosixPath("toolfabric", path).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_list_of_public_names_is_sorted_without_doubles(sources: Mapping[str, ast.Module]) -> None:
    lists = {path: declared(tree) for path, tree in sources.items()}
    unsorted = {
        path: sorted(set(names), key=order)
        for path, names in lists.items()
        if names is not None and names != sorted(set(names), key=order)
    }
    assert unsorted == {}


def test_every_module_with_code_says_what_is_public(sources: Mapping[str, ast.Module]) -> None:
    silent = [
        path
        for path, tree in sources.items()
        if PurePosixPath(path).stem not in {"__init__", "__main__", "_version"}
        and any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body)
        and declared(tree) is None
    ]
    assert silent == []


def test_every_public_name_is_there(sources: Mapping[str, ast.Module]) -> None:
    missing: dict[str, list[str]] = {}
    for path, tree in sources.items():
        names = declared(tree)
        if names:
            module = import_module(dotted(path))
            missing[path] = [name for name in names if not hasattr(module, name)]
    assert {path: names for path, names in missing.items() if names} == {}


@pytest.mark.parametrize("facade", PUBLIC)
def test_a_facade_offers_a_closed_list_of_names(facade: str) -> None:
    module = import_module(facade)
    assert module.__all__ == PUBLIC[facade]
    assert [name for name in PUBLIC[facade] if not hasattr(module, name)] == []


@pytest.mark.parametrize("facade", PUBLIC)
def test_a_name_that_a_facade_does_not_offer_is_refused_by_name(facade: str) -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = import_module(facade).nonsense


def test_a_list_out_of_order_is_seen() -> None:
    assert sorted(["zeta", "Alpha", "_private", "LIMIT"], key=order) == ["LIMIT", "Alpha", "_private", "zeta"]
