"""Guest code that some programs need: ``workflow.parallel`` and ``pipeline``, and a ``map`` that can wait.

``parallel`` and ``pipeline`` take coroutines and functions, which cannot leave the sandbox, so they run
inside and only announce themselves over the bridge. The sandbox's own ``map`` cannot call a tool from its
function. The text is fixed; nothing of a program or a schema is ever put into it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["prelude_for"]

_MENTIONS_WORKFLOW: Final = re.compile(r"\bworkflow\b")
_MENTIONS_MAP: Final = re.compile(r"\bmap\b")

_WORKFLOW: Final = """
def _fabric_workflow(workflow):
    import asyncio
    announce_parallel = workflow.parallel
    announce_pipeline = workflow.pipeline

    def is_value(task):
        return task is None or isinstance(task, (str, bytes, int, float, list, dict, tuple, set))

    async def awaited(value):
        if type(value).__name__ == "coroutine":
            return await value
        return value

    async def started(task):
        if is_value(task) or type(task).__name__ == "coroutine":
            return await awaited(task)
        return await awaited(task())

    async def staged(item, stages):
        for stage in stages:
            item = await awaited(stage(item))
        return item

    async def settled(run):
        try:
            return {"ok": True, "value": await run}
        except Exception as error:
            return {"ok": False, "error": type(error).__name__ + ": " + str(error)}

    async def gathered(runs, settle):
        if settle:
            runs = [settled(run) for run in runs]
        return await asyncio.gather(*runs)

    async def parallel(tasks, *more, settle=False):
        tasks = [tasks, *more] if more else list(tasks)
        announce_parallel(count=len(tasks))
        return await gathered([started(task) for task in tasks], settle)

    async def pipeline(items, *stages, settle=False):
        items = list(items)
        announce_pipeline(count=len(items))
        return await gathered([staged(item, stages) for item in items], settle)

    workflow.parallel = parallel
    workflow.pipeline = pipeline
    return workflow

workflow = _fabric_workflow(workflow)
"""

_MAP: Final = """
def map(function, *iterables):
    return iter([function(*values) for values in zip(*iterables)])
"""


def prelude_for(code: str) -> str:
    """The guest code that a program needs before it; empty if it needs none.

    It looks at the words of the text alone: a word too many costs one short turn.
    """
    parts = (
        _WORKFLOW if _MENTIONS_WORKFLOW.search(code) else "",
        _MAP if _MENTIONS_MAP.search(code) else "",
    )
    return "".join(parts)
