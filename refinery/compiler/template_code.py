"""Code of compiled templates in the user's cache folder: compiling a template takes as long as a small query."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from refinery.common.cache_files import read_cached, write_cached
from refinery.common.cache_folder import cache_root
from refinery.common.packages import installed_version

if TYPE_CHECKING:
    from jinja2 import BytecodeCache

_MOST = 500  # templates, of some 5 kB each


def code_cache(syntax: Mapping[str, Any]) -> BytecodeCache:
    """Store of compiled templates of a sandboxed environment. syntax: its options that change the code.

    Jinja's keys cover the template and Python; the folder covers Jinja's version and the options.
    """
    from jinja2.bccache import Bucket, BytecodeCache

    options = hashlib.sha256(repr(sorted(syntax.items())).encode()).hexdigest()[:8]
    folder = cache_root() / f"templates-{installed_version('jinja2')}-{options}"

    class CodeCache(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            if (code := read_cached(folder / bucket.key)) is not None:
                bucket.load_bytecode(BytesIO(code))

        def dump_bytecode(self, bucket: Bucket) -> None:
            code = BytesIO()
            bucket.write_bytecode(code)
            write_cached(folder / bucket.key, code.getvalue(), _MOST)

    return CodeCache()
