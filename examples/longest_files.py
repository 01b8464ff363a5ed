"""Read all files that match a pattern at the same time and name the longest ones.

Payloads: ``pattern``, by default every Python file; ``top``, how many to name.
"""

import asyncio

pattern = payloads.get("pattern", "**/*.py")
top = int(payloads.get("top", "3"))

await workflow.phase(name="find")
found = await pi.find(pattern=pattern)
paths = [path for path in found["paths"] if not path.endswith("/")]

await workflow.phase(name="read")


async def measure(path):
    try:
        file = await pi.read(path=path)
    except Exception as error:
        return {"path": path, "lines": 0, "problem": str(error)}
    return {"path": path, "lines": file["lines"]}


measured = await asyncio.gather(*[measure(path) for path in paths])
longest = sorted(measured, key=lambda file: file["lines"], reverse=True)[:top]
return {"files": len(paths), "longest": longest}
