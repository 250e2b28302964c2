"""A leaderboard that lasts: run it twice. Usage: python leaderboard.py COMPONENT DATABASE"""

import sys

from wasmtime.component import Variant

from host import Orbweaver, record, split
from store import SqliteStore

component, database = sys.argv[1:]
orbweaver = Orbweaver(component, SqliteStore(database))

# Redis' protocol: any of its commands.
print("This is run", orbweaver.command("INCR", "runs").decode().strip(":\r\n"))

# Typed: values in, values out. Db 0, key `scores`: who has more than before gets the new score.
better = record({"which": "any", "comparison": "greater"})
added = orbweaver.call("sorted-sets", "add", 0, b"scores", [(120.5, b"ada"), (99.0, b"bob")], better)
print(added.added, "new players")

orbweaver.call("sorted-sets", "increment", 0, b"scores", b"bob", 10.0, record({"which": "any", "comparison": "any"}))

# The best ten.
best = record({"range": Variant("ranks", (0, 9)), "direction": "descending", "offset": 0, "limit": None})
best = orbweaver.call("sorted-sets", "range", 0, b"scores", best)
for name, score in zip(split(best.members), best.scores):
    print(f"{score:8.1f} {name.decode()}")
