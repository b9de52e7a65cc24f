"""The bench of `benches/gateway` once, to see that it runs. A case of `gateway.py`."""

import os
import subprocess
import sys

from lib import ROOT, Skip, case


@case
def the_bench_beside_nginx_runs(work):
    command = [sys.executable, "benches/gateway/run.py", "--quick", "--program", os.environ["ICEFIELD"]]
    cases = [argument for name in ("64 KiB", "404", "304") for argument in ("--case", name)]
    done = subprocess.run([*command, *cases], cwd=ROOT, capture_output=True, text=True, timeout=300)
    if "apt-get install" in done.stderr:
        raise Skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith(("| 64", "| 404", "| 304"))]
    assert len(rows) == 6, done.stdout
