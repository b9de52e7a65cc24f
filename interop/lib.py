"""What every suite needs: cases with names, and our programs.

The programs are named by the environment, which `cargo xtask test` sets:

    ICEFIELD                the command line
    ICEFIELD_PROBE          reads and writes repositories for tests, see `dump` and `write`
    ICEFIELD_TEST_S3        an S3 server, see `object_store.py`
    ICEFIELD_INTEROP_SPEC   the version of the format to make repositories in: 1, or 2
    ICEFIELD_INTEROP_WORK   an empty directory for the repositories that the cases make
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = []
# The version of the format in which the cases make their repositories.
SPEC = int(os.environ.get("ICEFIELD_INTEROP_SPEC", "1"))


class Skip(Exception):
    """Raised by a case that cannot run here, with the reason."""


def case(function):
    """Registers a case. Its name is that of the function, its argument an empty directory."""
    CASES.append(function)
    return function


def run_cases(patterns):
    """Runs the cases whose names contain one of the patterns (all, if there are none)."""
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for function in CASES:
        # The file, not the module: that of a script is called `__main__`.
        name = f"{Path(function.__code__.co_filename).stem}.{function.__name__}"
        if patterns and not any(pattern in name for pattern in patterns):
            continue
        start = time.monotonic()
        verdict, detail = run_case(function, name)
        counts[verdict] += 1
        print(f"{verdict} {name} ({time.monotonic() - start:.1f} s){detail}", flush=True)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    ran = counts["PASS"] + counts["FAIL"]
    return 1 if counts["FAIL"] or not ran else 0


def leave(status):
    """Ends the process. Not through the interpreter's own end, where the reference's threads, which are
    still running, now and then crash it (seen with 1.1.21 and 2.3.0, about once in 20 times)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run_case(function, name):
    work = Path(os.environ["ICEFIELD_INTEROP_WORK"]) / name
    work.mkdir(parents=True)
    try:
        function(work)
    except Skip as why:
        return "SKIP", f": {why}"
    except Exception:
        traceback.print_exc()
        return "FAIL", ""
    return "PASS", ""


def dump(repository):
    """Everything our side reads in a repository: refs, and each snapshot reachable from them."""
    return json.loads(program("ICEFIELD_PROBE", "dump", repository))


def write(repository, operations):
    """Has our side apply a list of operations to a repository; returns its commits and the conflicts of its rebases."""
    operations = [{**it, "spec": SPEC} if it["op"] == "create" else it for it in operations]
    spec = Path(os.environ["ICEFIELD_INTEROP_WORK"]) / "operations.json"
    spec.write_text(json.dumps(operations, ensure_ascii=False))
    return json.loads(program("ICEFIELD_PROBE", "write", repository, spec))


def icefield(*arguments):
    """Runs our command line and returns what it prints."""
    if arguments[0] == "init":
        arguments = (*arguments, "--spec", SPEC)
    return program("ICEFIELD", *arguments).decode()


def program(variable, *arguments):
    """Runs a program. An argument may bring an `environment` of its own: the keys of the bucket that it names."""
    command = [os.environ[variable], *map(str, arguments)]
    environment = dict(os.environ)
    for argument in arguments:
        environment.update(getattr(argument, "environment", {}))
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        sys.stdout.write(done.stderr.decode(errors="replace"))
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout


def sets(tree):
    """The operations that write every key of a plain Zarr directory, the arrays before their chunks."""
    keys = sorted(keys_of(tree), key=lambda key: not key.endswith("zarr.json"))
    return [set_bytes(key, (tree / key).read_bytes()) for key in keys]


def keys_of(tree):
    return sorted(str(f.relative_to(tree)) for f in tree.rglob("*") if f.is_file())


def set_bytes(key, value):
    return {"op": "set", "key": key, "base64": base64.b64encode(value).decode()}


def set_json(key, value):
    return {"op": "set", "key": key, "text": json.dumps(value, ensure_ascii=False)}


def delete(key):
    return {"op": "delete", "key": key}


def session(branch="main", name=""):
    return {"op": "session", "branch": branch, "name": name}


def commit(message, metadata=None):
    return {"op": "commit", "message": message, "metadata": metadata or {}}


def amend(message):
    return {"op": "amend", "message": message}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def partly(mapping):
    """Marks a mapping of `assert_same`: what was found may have more keys than these."""
    return {**mapping, "…": "and more"}


def assert_same(found, expected, where=""):
    """Asserts that `found` is `expected`, and names the first place where it is not."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = set(expected) - {"…"}
        assert keys <= set(found), f"{where}: not read: {sorted(keys - set(found))}"
        more = set(found) - keys
        assert "…" in expected or not more, f"{where}: nobody wrote {sorted(more)}"
        for key in sorted(keys):
            assert_same(found[key], expected[key], f"{where}/{key}")
    else:
        # As JSON, because in Python `1 == 1.0 == True`.
        same = json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)
        assert same, f"{where}: {found!r}, expected {expected!r}"
