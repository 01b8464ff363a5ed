"""Every error stands in the drawn tree, and survives the way to another process."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from toolfabric import errors
from toolfabric.values import Outcome

_LINE = re.compile(r"^(?P<indent>[│ ]*)(?:[├└]── )?(?P<name>[A-Z]\w*)(?= {2,}|$)")
_STEP = 4


def drawn(text: str) -> dict[str, str]:
    """Each class in a drawn tree with the class that it hangs from; the root hangs from ``Exception``."""
    above: list[str] = []
    parents: dict[str, str] = {}
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        branch = line[len(found["indent"]) :].startswith(("├", "└"))
        depth = len(found["indent"]) // _STEP + 1 if branch else 0
        del above[depth:]
        parents[found["name"]] = above[-1] if above else "Exception"
        above.append(found["name"])
    return parents


def drawing() -> str:
    """The block of the module's docstring that holds the tree."""
    text = inspect.cleandoc(errors.__doc__ or "")
    block = text.split("::\n", 1)[1].lstrip("\n").split("\n\n", 1)[0]
    return inspect.cleandoc(block)


def defined() -> dict[str, str]:
    """Each error class of the module with its one base."""
    return {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    assert drawn(drawing()) == defined()


def test_every_error_is_public() -> None:
    assert sorted(errors.__all__) == sorted(defined())


@pytest.mark.parametrize("name", errors.__all__)
def test_an_error_keeps_its_class_and_text_in_another_process(name: str) -> None:
    raised: Exception = vars(errors)[name]("what was wrong, where, what to do")
    back = pickle.loads(pickle.dumps(raised))  # noqa: S301 -- our own bytes, made on this line
    assert (type(back), str(back), back.__dict__) == (type(raised), str(raised), raised.__dict__)


def test_an_error_keeps_what_it_carries_in_another_process() -> None:
    raised = errors.InvokeError("the provider was cancelled", outcome=Outcome.ABORTED)
    back = pickle.loads(pickle.dumps(raised))  # noqa: S301 -- our own bytes, made on this line
    assert (str(back), back.outcome) == ("the provider was cancelled", Outcome.ABORTED)


@pytest.mark.parametrize(
    "name", [name for name in errors.__all__ if name not in {"FabricError", "CallError"}]
)
def test_a_call_error_has_a_stage_and_nothing_else_has(name: str) -> None:
    kind: type[Exception] = vars(errors)[name]
    assert hasattr(kind, "stage") == issubclass(kind, errors.CallError)


def test_a_misdrawn_tree_is_seen() -> None:
    assert drawn("A   root\n├── B   left\n│   └── C\n└── D   right") == {
        "A": "Exception",
        "B": "A",
        "C": "B",
        "D": "A",
    }
