"""Code of compiled templates in the user's cache folder: compiling a template takes as long as a small query."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from refinery.common.cache_files import read_cached, write_cached
from refinery.common.packages import installed_version
from refinery.kernels.core.cache import cache_root

if TYPE_CHECKING:
    from jinja2 import BytecodeCache

_MOST = 500  # templates, of some 5 kB each


def code_cache() -> BytecodeCache:
    """Store of Jinja's compiled templates. Jinja's keys cover the template and Python; the folder names Jinja's version."""
    from jinja2.bccache import Bucket, BytecodeCache

    folder = cache_root() / f"templates-{installed_version('jinja2')}"

    class CodeCache(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            if (code := read_cached(folder / bucket.key)) is not None:
                bucket.load_bytecode(BytesIO(code))

        def dump_bytecode(self, bucket: Bucket) -> None:
            code = BytesIO()
            bucket.write_bytecode(code)
            write_cached(folder / bucket.key, code.getvalue(), _MOST)

    return CodeCache()
