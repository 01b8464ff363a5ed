from __future__ import annotations

import pytest

from toolfabric.errors import RecordError
from toolfabric.state.records import Head, Pending, Proposal, StateBinding, proof_of

PROPOSAL = Proposal(
    format=1,
    transition_id="t",
    version=1,
    source=None,
    to="draft",
    summary="",
    commands=(),
    complexity=(),
    previous_proof="0" * 64,
    proposed_by="h",
    proposed_at="now",
)


def test_a_proof_is_over_everything_in_a_proposal() -> None:
    form = PROPOSAL.to_json()
    assert proof_of(Proposal.from_json(form)) == proof_of(PROPOSAL)
    changes: dict[str, object] = {
        "transitionId": "u",
        "version": 2,
        "from": {"transitionId": "s", "version": 1, "to": "x"},
        "to": "other",
        "summary": "x",
        "commands": [{"name": "n", "command": "c", "args": [], "timeoutMs": 1_000}],
        "complexity": [{"path": "a", "atMost": 0}],
        "previousProof": "1" * 64,
        "proposedBy": "i",
        "proposedAt": "then",
        "data": None,
    }
    assert set(changes) == {*form, "data"} - {"format"}
    proofs = {proof_of(Proposal.from_json({**form, key: value})) for key, value in changes.items()}
    assert len(proofs | {proof_of(PROPOSAL)}) == len(changes) + 1


BROKEN: list[dict[str, object]] = [
    {"format": 2},
    {"version": 0},
    {"to": "a\n"},
    {"to": " a"},
    {"previousProof": "0" * 63},
    {"extra": 1},
    {"from": "t"},
    {"commands": [{"name": "n", "command": "c", "args": [], "timeoutMs": 600_001}]},
    {"commands": [{"name": "n", "command": "c", "args": ["x"] * 65, "timeoutMs": 1_000}]},
    {"complexity": [{"path": "a", "atMost": -1}]},
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_proposal_out_of_bounds_is_not_read(broken: dict[str, object]) -> None:
    with pytest.raises(RecordError):
        Proposal.from_json({**PROPOSAL.to_json(), **broken})


def test_a_head_says_null_before_the_first_state() -> None:
    pending = Pending(transition_id="t", version=1, to="a", proof="0" * 64, proposed_by="h", since="now")
    head = Head(format=1, current=None, proof="0" * 64, updated_at="now", pending=pending)
    assert head.to_json()["current"] is None
    assert Head.from_json(head.to_json()) == head
    assert PROPOSAL.binding == StateBinding(transition_id="t", version=1, to="draft")
