"""Models behind an address: servers of the Open Inference Protocol, and any API that takes and gives JSON."""

from unweave.extras import need

for package in ("httpx", "jsonpath"):
    need(package, purpose="asking a server")
