"""Serves a Zarr directory by a package of PyPI: `python peers.py NAME TREE PORT`, in an environment that has it."""

import sys


def main(name: str, tree: str, port: int) -> None:
    """Serves until it is ended."""
    import uvicorn

    if name == "zarr-http-server":
        import zarr.storage
        from zarr_http_server import store_app

        app = store_app(zarr.storage.LocalStore(tree, read_only=True))
    else:
        import xarray
        from xpublish import Rest, SingleDatasetRest
        from xpublish_zarr.plugin import ZarrPlugin

        assert issubclass(SingleDatasetRest, Rest)
        dataset = xarray.open_zarr(tree, consolidated=False, mask_and_scale=False)
        app = SingleDatasetRest(dataset, plugins={"zarr": ZarrPlugin()}).app
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
