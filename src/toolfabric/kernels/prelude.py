"""Guest code that every Python program finds defined: ``workflow`` with its two helpers.

``parallel`` and ``pipeline`` take coroutines and functions, which cannot leave the sandbox, so they run
inside and only announce themselves over the bridge. The text is fixed; nothing of a program or a schema
is ever put into it.
"""

from __future__ import annotations

from typing import Final

__all__ = ["HOST_WORKFLOW", "PRELUDE"]

HOST_WORKFLOW: Final = "fabric_host_workflow"
"""The name under which the prelude reaches the host's side of ``workflow``."""

PRELUDE: Final = f"""
import asyncio as _fabric_asyncio

def _fabric_started(_fabric_one):
    if repr(_fabric_one)[:9] == "<function":
        return _fabric_one()
    return _fabric_one

async def _fabric_settled(_fabric_one):
    try:
        return {{"ok": True, "value": await _fabric_started(_fabric_one)}}
    except Exception as _fabric_error:
        return {{"ok": False, "error": str(_fabric_error)}}

async def _fabric_stages(_fabric_item, _fabric_steps):
    for _fabric_step in _fabric_steps:
        _fabric_item = await _fabric_step(_fabric_item)
    return _fabric_item

class _FabricWorkflow:
    async def phase(self, *given, **named):
        return await {HOST_WORKFLOW}.phase(*given, **named)

    async def item(self, *given, **named):
        return await {HOST_WORKFLOW}.item(*given, **named)

    async def event(self, *given, **named):
        return await {HOST_WORKFLOW}.event(*given, **named)

    async def progress(self, *given, **named):
        return await {HOST_WORKFLOW}.progress(*given, **named)

    async def parallel(self, items, settle=False):
        ready = list(items)
        await {HOST_WORKFLOW}.parallel(count=len(ready))
        if settle:
            return await _fabric_asyncio.gather(*[_fabric_settled(one) for one in ready])
        return await _fabric_asyncio.gather(*[_fabric_started(one) for one in ready])

    async def pipeline(self, items, *steps, settle=False):
        ready = list(items)
        await {HOST_WORKFLOW}.pipeline(count=len(ready))
        runs = [_fabric_stages(one, steps) for one in ready]
        if settle:
            runs = [_fabric_settled(one) for one in runs]
        return await _fabric_asyncio.gather(*runs)

workflow = _FabricWorkflow()
"""
