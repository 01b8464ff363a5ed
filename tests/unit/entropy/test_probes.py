"""The made-up material is what it says: canonical, another spelling, or in need of a guess."""

from __future__ import annotations

from toolfabric.entropy import parse_compiled_surface, session_evidence
from toolfabric.entropy.probes import (
    AMBIGUOUS,
    CANONICAL,
    OPEN_SCHEMA,
    SCHEMA,
    SPELLED,
    action,
    execution,
    legacy_artifact,
    session_lines,
    surface,
    trace,
)
from toolfabric.entropy.proof import prove
from toolfabric.trace.reader import parse_trace


def test_the_schema_takes_what_is_canonical_and_nothing_else() -> None:
    accepts = prove(SCHEMA).accepts
    assert all(accepts(args) for args in CANONICAL)
    assert all(accepts(wanted) and not accepts(given) for given, wanted in SPELLED)
    assert not any(accepts(args) for args in AMBIGUOUS)


def test_every_convention_has_a_rule() -> None:
    kinds = {rule.kind for rule in prove(SCHEMA).rules}
    assert kinds == {"key-form", "optional-null", "numeric-string", "enum-form"}
    assert prove(OPEN_SCHEMA).rules == ()


def test_traces_surfaces_and_session_lines_have_their_forms() -> None:
    assert action("a.b", "failed", "validate", x=1) == {
        "ref": "a.b",
        "args": {"x": 1},
        "outcome": "failed",
        "failureStage": "validate",
    }
    assert trace(action("a.b"), model="p/m", task="t").keys() == {"operations", "model", "taskKey"}
    assert surface(a=None) == {"version": 1, "actions": [{"ref": "probe.a", "inputSchema": None}]}
    assert parse_trace(execution([action("a.b")], phases=["p"])) is not None
    assert len(session_evidence(session_lines(("p/m", {"trace": execution([])}))).traces) == 1


def test_the_version_1_artifact_would_restrict_if_it_were_obeyed() -> None:
    legacy = parse_compiled_surface(legacy_artifact())
    assert legacy is not None
    assert legacy.actions
    assert legacy.quarantined
    assert not prove(legacy.actions[0].input_schema).accepts({"query": "anything"})
