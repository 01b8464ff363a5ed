"""Run several commands side by side and report which of them failed, without stopping at the first.

It needs leave to run commands: ``--yes execute``.
"""

import asyncio

COMMANDS = {
    "tree is clean": "git diff --quiet",
    "has a readme": "test -f README.md",
    "has a licence": "test -f LICENSE",
}


async def check(name, command):
    ran = await pi.bash(command=command, settle=True)
    return {"check": name, "passed": ran["ok"], "exitCode": ran["details"]["exitCode"]}


checks = await asyncio.gather(*[check(name, command) for name, command in COMMANDS.items()])
failed = [one["check"] for one in checks if not one["passed"]]
return {"passed": len(checks) - len(failed), "failed": failed}
