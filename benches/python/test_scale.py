"""The figure of arrays grows with their number."""

import json
from pathlib import Path

import pytest
import scale


def test_more_arrays_make_a_larger_snapshot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scale.main(["1", "40", "--directory", str(tmp_path)]) == 0
    one, forty = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (one["arrays"], forty["arrays"]) == (1, 40)
    assert 0 < one["snapshot_bytes"] < forty["snapshot_bytes"] < forty["bytes"]
    assert list(tmp_path.iterdir()) == []
