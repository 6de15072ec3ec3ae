"""Host name and public suffix of an address, by the list in the package tldextract."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import of_texts, structs
from refinery.kernels.words.hosts import authority, host_parts

FEATURE = {
    "doc": (
        "Parts of an address. fqdn: the host name, if it has a public suffix and a name before it; else empty. suffix: "
        "its public suffix, private ones such as github.io not counted; empty for an IP address. The list is the one "
        "that the installed tldextract brings along, nothing is downloaded. Letter case is kept."
    ),
    "version": 1,
    "functions": {
        "url_parts": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "STRUCT(fqdn VARCHAR, suffix VARCHAR)",
            "runs": "kernel",  # a microsecond per sample, since hosts are cached: threads hardly wait for each other
            "call": "url_parts",
        }
    },
    "sql": "url_parts({{ text }})",
}


def url_parts(column: pa.Array) -> pa.Array:
    """A struct of two texts for each address; NULL for NULL."""
    parts = [None if url is None else host_parts(authority(url)) for url in column.to_pylist()]
    fqdn, suffix = (of_texts([part and part[at] for part in parts]) for at in (0, 1))
    return structs(np.array([part is not None for part in parts], np.bool_), fqdn=fqdn, suffix=suffix)
