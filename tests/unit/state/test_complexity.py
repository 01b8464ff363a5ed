from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from toolfabric.errors import StateError
from toolfabric.state.complexity import MAX_SOURCE_BYTES, FileComplexity, count_decisions, measure_files


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ("x = 1\n", {}),
        ("if a: pass\nelif b: pass\nelse: pass\n", {"if": 2}),
        ("for x in y: pass\nelse: pass\nwhile z: pass\n", {"loop": 2}),
        ("async def f():\n async for x in y: pass\n async with z: pass\n", {"loop": 1}),
        ("try: pass\nexcept A: pass\nexcept: pass\nelse: pass\nfinally: pass\n", {"catch": 2}),
        ("try: pass\nexcept* A: pass\n", {"catch": 1}),
        ("x = [i for i in a for j in i if j if i]\n", {"loop": 2, "if": 2}),
        ("x = {i: 1 for i in a}, {i for i in a}, (i for i in a)\n", {"loop": 3}),
        ("x = a if b else c\n", {"conditional": 1}),
        ("x = a and b or not c and d\n", {"logic": 3}),
        ("match x:\n case 1: pass\n case 2 | 3: pass\n case _: pass\n", {"case": 2}),
        ("match x:\n case _ if a: pass\n case y: pass\n case _, _: pass\n", {"case": 3, "if": 1}),
        ("def f(x=1 if a else 2): return lambda: b or c\n", {"conditional": 1, "logic": 1}),
        ("assert a\nwith b: pass\n# if c\nx = 'if d and e'\n", {}),
    ],
)
def test_decision_points_of_python(source: str, counts: dict[str, int]) -> None:
    assert count_decisions(source.encode(), ".py") == (counts, True)


SCRIPT: list[tuple[str, dict[str, int]]] = [
    ("let x = 1;", {}),
    ("if (a) {} else if (b) {} else {}", {"if": 2}),
    ("for (;;) {} for (const k in o) {} for (const v of o) {} while (a) {} do {} while (b);", {"loop": 5}),
    ("async function f() { for await (const v of o) {} }", {"loop": 1}),
    ("switch (a) { case 1: case 2: break; default: b(); }", {"case": 2}),
    ("try {} catch (e) {} finally {} try {} catch {}", {"catch": 2}),
    ("x = a ? b : c ? d : e;", {"conditional": 2}),
    ("x = a && b || c ?? d;", {"logic": 3}),
    ("a &&= b; c ||= d; e ??= f; g += h;", {"logic": 3}),
    ("x = a?.b?.[c] + d & e | f;", {}),
    ("const f = x => x && y; class A { m() { if (a) {} } get p() { return a || b } }", {"logic": 2, "if": 1}),
    ("// if (a)\nx = `if ${a ? b : c} && d`; y = /a||b/;", {"conditional": 1}),
]


@pytest.mark.parametrize("suffix", [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".JS"])
@pytest.mark.parametrize(("source", "counts"), SCRIPT)
def test_decision_points_of_javascript_and_typescript(
    source: str, counts: dict[str, int], suffix: str
) -> None:
    assert count_decisions(source.encode(), suffix) == (counts, True)


@pytest.mark.parametrize(
    ("source", "suffix", "counts"),
    [
        ("type T = A extends B ? C : D; let x = y as T; let z = w!;", ".ts", {}),
        ("enum E { A } interface I { a?: number } function f(this: I): asserts x is E {}", ".ts", {}),
        ("const e = <div>{a && <b/>}{c ? <d/> : null}</div>;", ".tsx", {"logic": 1, "conditional": 1}),
        ("const e = <div>{a && <b/>}</div>;", ".jsx", {"logic": 1}),
        ("let x = <T>y;", ".ts", {}),
    ],
)
def test_types_decide_nothing_and_markup_is_understood(
    source: str, suffix: str, counts: dict[str, int]
) -> None:
    assert count_decisions(source.encode(), suffix) == (counts, True)


@pytest.mark.parametrize(
    ("source", "suffix"),
    [(b"if a: (((\nif b: pass\n", ".py"), (b"if (a) { if (", ".ts"), (b"\xff\xfe\x00", ".js")],
)
def test_what_does_not_parse_is_counted_and_marked(source: bytes, suffix: str) -> None:
    _counts, clean = count_decisions(source, suffix)
    assert not clean


def test_deep_nesting_is_counted_without_end_of_stack() -> None:
    source = "(" * 20_000 + "a" + ")" * 20_000 + " if b else c"
    counts, _clean = count_decisions(source.encode(), ".py")
    assert counts.total() <= 1


def test_files_are_counted_in_the_order_given(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.ts").write_text("if (a && b) {}")
    (tmp_path / "b.py").write_text("if (: pass\n")
    one, two = measure_files(tmp_path, ["src/a.ts", "b.py"])
    assert one == FileComplexity(
        path="src/a.ts",
        language="typescript",
        decisions=2,
        by_kind={"if": 1, "logic": 1},
        clean=True,
        sha256=hashlib.sha256(b"if (a && b) {}").hexdigest(),
    )
    assert (two.path, two.language, two.clean) == ("b.py", "python", False)
    assert set(one.to_json()) == {"path", "language", "decisions", "byKind", "clean", "sha256"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing.py", "No such file"),
        ("folder.py", "is a folder, not a file"),
        ("../outside.py", "leads out of"),
        ("/etc/passwd.py", "is outside"),
        ("link.py", "outside"),
        ("a.rb", "and not in '.rb' ones"),
        ("a", "and not in '' ones"),
        ("large.py", "is larger than"),
        ("", "not in ''"),
    ],
)
def test_files_that_cannot_be_counted_are_named_with_the_reason(
    tmp_path: Path, path: str, reason: str
) -> None:
    workspace = tmp_path / "w"
    (workspace / "folder.py").mkdir(parents=True)
    (tmp_path / "outside.py").write_text("secret")
    (workspace / "link.py").symlink_to(tmp_path / "outside.py")
    (workspace / "large.py").write_bytes(b"#" * (MAX_SOURCE_BYTES + 1))
    with pytest.raises(StateError, match=reason):
        measure_files(workspace, [path])


def test_a_workspace_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="could not count decision points: No such file"):
        measure_files(tmp_path / "gone", ["a.py"])


@pytest.mark.parametrize("missing", ["tree_sitter", "tree_sitter_python"])
def test_without_the_parsers_the_extra_is_named(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from toolfabric.errors import StateError
from toolfabric.state.complexity import count_decisions
try:
    count_decisions(b"x", ".py")
except StateError as error:
    sys.stdout.write(str(error))
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout == (
        "counting decision points needs parsers; install them with: pip install 'toolfabric[complexity]'"
    )


def test_the_parsers_are_not_loaded_before_something_is_counted() -> None:
    code = (
        "import sys; import toolfabric.state.control; sys.exit(any('tree_sitter' in m for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
