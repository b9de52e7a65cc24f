"""zarr-python's state machine of hierarchies: groups and arrays come, change and go, beside a dictionary.

It runs with the machine of zarr-python 3.4 and with that of 3.1, whose rules differ in two places.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import zarr
from chosen import NAME, ic
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from hypothesis.strategies import DataObject
from zarr.testing.stateful import ZarrHierarchyStateMachine
from zarr.testing.strategies import node_names, np_array_and_chunks

if "array_and_chunks" in inspect.signature(ZarrHierarchyStateMachine.add_array).parameters:
    # The older machine is given the array, and draws its fill value; the newer one draws it whole, see `_Storable`.
    _adding = rule(
        data=st.data(),
        name=node_names,
        array_and_chunks=np_array_and_chunks().filter(lambda drawn: 0 not in drawn[1]),
    )
else:
    _adding = rule(data=st.data(), name=node_names)


def _is_unicode(text: str) -> bool:
    """Whether a text is a part of JSON that a Zarr store may take.

    zarr-python writes lone surrogates into attributes and fill values as escapes such as \\ud800. That is no Unicode
    text, so no JSON either (RFC 8259, section 8.2, leaves it to the reader): a store that reads what it stores refuses
    it.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_storable(array: "zarr.Array[Any]") -> bool:
    """Whether the metadata of an array is a document that a Zarr store may take."""
    if not _is_unicode(json.dumps(array.metadata.to_dict(), ensure_ascii=False, default=str)):
        return False
    # A chunk is at least one element long (Zarr v3, regular grid); the strategy makes 0 for dimensions of length 0.
    return 0 not in array.chunks


class _Storable:
    """Hypothesis' data, without the arrays that no Zarr store may take, and without such fill values."""

    def __init__(self, data: DataObject) -> None:
        self._data = data

    def draw(self, strategy: st.SearchStrategy[Any], label: Any = None) -> Any:
        value = self._data.draw(strategy, label)
        if isinstance(value, zarr.Array):
            assume(_is_storable(value))
        if isinstance(value, str):
            assume(_is_unicode(value))
        return value


class Hierarchy(ZarrHierarchyStateMachine):
    @_adding
    def add_array(self, data: DataObject, name: str, *_: Any, **array: Any) -> None:
        super().add_array(data=_Storable(data), name=name, **array)

    @precondition(lambda self: bool(self.all_groups))
    @rule(data=st.data())
    def check_list_dir(self, data: DataObject) -> None:
        path = self.draw_directory(data)
        model = set(self._sync_iter(self.model.list_dir(path)))
        store = set(self._sync_iter(self.store.list_dir(path)))
        if NAME == "icechunk" and path in self.all_arrays:
            # The reference lists the folder of the chunks of an array without chunks, too.
            store -= {"c"} - model
        assert sorted(store) == sorted(model)

    @precondition(lambda self: bool(self.all_arrays) or bool(self.all_groups))
    @rule(data=st.data())
    def delete_dir(self, data: DataObject) -> None:
        # The older machine takes `ab` for a child of `a`, and then adds it again where it still is.
        path = self.draw_directory(data)
        self._sync(self.model.delete_dir(path))
        self._sync(self.store.delete_dir(path))
        for nodes in (self.all_groups, self.all_arrays):
            nodes -= {it for it in nodes if it == path or it.startswith(path + "/")}


# Most of the time is zarr-python's: what a place may change is tried on fewer.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("place", "examples"), [("memory", 200), ("local", 50)])
def test_many_hierarchies(place: str, examples: int, tmp_path: Path) -> None:
    storage = (
        ic.in_memory_storage()
        if place == "memory"
        else ic.local_filesystem_storage(str(tmp_path / "repository"))
    )
    repository = ic.Repository.create(storage)

    def machine() -> ZarrHierarchyStateMachine:
        return Hierarchy(repository.writable_session("main").store)

    run_state_machine_as_test(
        machine,  # type: ignore[arg-type]  # A function that makes one is as good as its class.
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
