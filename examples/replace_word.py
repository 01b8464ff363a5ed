"""Replace a word wherever it stands once in a file, and say where it stands more often.

Payloads: ``old`` and ``new``. It needs leave to write: ``--yes write``.
"""

old = payloads["old"]
new = payloads["new"]

found = await pi.grep(pattern=old, literal=True)
places = {}
for match in found["matches"]:
    places.setdefault(match["path"], []).append(match)

changed = []
left = []
for path, matches in places.items():
    if len(matches) == 1 and matches[0]["text"].count(old) == 1:
        await pi.edit(path=path, oldText=old, newText=new)
        changed.append(path)
    else:
        left.append(path)
return {"changed": changed, "left": left}
