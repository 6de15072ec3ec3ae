"""Samples that a program hands over to a corpus, as files that the corpus then copies: it reads its data again later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

from refinery.errors import DataError
from refinery.io.python_data.kinds import in_memory, is_ray_dataset
from refinery.io.python_data.spool import Spool
from refinery.recipe import Recipe
from refinery.recipe.input_config import InputConfig
from refinery.results.disk_space import explained
from refinery.storage.local import LocalStore


@contextmanager
def handed_over(recipe: Recipe, dataset: Any) -> Iterator[Recipe]:
    """The recipe with files of the samples as its input, which are there meanwhile, in the recipe's `temp_dir`.

    Raises DataError for a dataset of no known kind, and for one that ends with an error.
    """
    if is_ray_dataset(dataset):
        cure = "Write it to Parquet (dataset.write_parquet), and add the files with dataset_path"
        raise DataError(
            f"dataset: a Ray dataset is computed by a cluster, and a corpus reads its data again later. {cure}"
        )
    with TemporaryDirectory(prefix="refinery-add-", dir=recipe.temp_dir) as folder:
        store = LocalStore(folder)
        with explained(folder):
            table, spool = in_memory(dataset), Spool(store, {})
            spool.keep_only(spool.write(dataset) if table is None else spool.tables([table]))
        yield replace(recipe, inputs=(InputConfig(store.url),), suffixes=())
