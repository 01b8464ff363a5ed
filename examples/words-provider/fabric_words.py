"""A provider that counts words: two actions, an old spelling that is still understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from toolfabric.protocols import CallContext
from toolfabric.values import ActionSpec, Json, JsonObject, Risk

__all__ = ["WordsProvider"]

_WORD = re.compile(r"\w+")

COUNT = ActionSpec(
    name="count",
    description="How many words a text has.",
    risk=Risk.READ,
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {"text": {"type": "string"}},
    },
    output_schema={"type": "integer", "minimum": 0},
)

FREQUENT = ActionSpec(
    name="frequent",
    description="The commonest words of a text, most frequent first.",
    risk=Risk.READ,
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10},
        },
    },
    output_schema={
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["word", "count"],
            "properties": {"word": {"type": "string"}, "count": {"type": "integer"}},
        },
    },
)


class WordsProvider:
    """Counts words. It keeps nothing and touches nothing, so ``read`` is all it asks for."""

    name = "words"
    description = "Counting words in texts."

    def list(self) -> Sequence[ActionSpec]:
        """Both actions."""
        return (COUNT, FREQUENT)

    def describe(self, name: str) -> ActionSpec | None:
        """One of them by its name."""
        return next((spec for spec in self.list() if spec.name == name), None)

    def prepare_arguments(self, name: str, args: JsonObject) -> JsonObject:
        """Read ``top``, the name that ``limit`` had in the first version."""
        if name != "frequent" or "top" not in args or "limit" in args:
            return args
        renamed = {key: value for key, value in args.items() if key != "top"}
        return {**renamed, "limit": args["top"]}

    def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Run one action; the arguments fit its schema already."""
        words = [word.lower() for word in _WORD.findall(str(args["text"]))]
        if name == "count":
            return len(words)
        limit = args.get("limit", 10)
        context.progress(f"{len(words)} words")
        counted = Counter(words).most_common(limit if isinstance(limit, int) else 10)
        return [{"word": word, "count": count} for word, count in counted]
