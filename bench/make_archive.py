"""Write the sample archive of the recipes of the web: `recipes/data/web_sample.warc.gz`, pages of our own making.

    python bench/make_archive.py            write the file
    python bench/make_archive.py --check    compare its contents with those from the seed; exit 1 on a difference

Besides the pages of archive_pages.py it holds what every crawl has: a warcinfo, a request, a page in another charset, one
that the server refused, and a record that the end of the file cuts off.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import uuid
from pathlib import Path

from archive_pages import SITE, page, paragraphs, prose, web_pages
from prose import Dice

ARCHIVE = Path(__file__).resolve().parent.parent / "recipes" / "data" / "web_sample.warc.gz"
SEED = 1851
DATE = "2026-02-17T08:00:00Z"
EOL = "\r\n"


def record(kind: str, number: int, content_type: str, block: bytes, url: str = "") -> bytes:
    """A record of WARC 1.0 with the two empty lines behind it."""
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{uuid.UUID(int=SEED << 64 | number)}>",
        "WARC-Date": DATE,
        **({"WARC-Target-URI": url} if url else {}),
        "Content-Type": content_type,
        "Content-Length": str(len(block)),
    }
    head = "WARC/1.0" + EOL + "".join(f"{name}: {value}{EOL}" for name, value in fields.items()) + EOL
    return head.encode() + block + (EOL * 2).encode()


def response(number: int, url: str, body: bytes, status: str = "200 OK", charset: str = "utf-8") -> bytes:
    head = f"HTTP/1.1 {status}{EOL}Content-Type: text/html; charset={charset}{EOL}Content-Length: {len(body)}{EOL}{EOL}"
    return record("response", number, "application/http; msgtype=response", head.encode() + body, url)


def records() -> list[bytes]:
    """All records in their order."""
    pages = web_pages(SEED)
    found = [
        record(
            "warcinfo", 0, "application/warc-fields", f"software: corpus-refinery{EOL}format: WARC 1.0{EOL}".encode()
        ),
        record("request", 1, "application/http; msgtype=request", f"GET / HTTP/1.1{EOL}{EOL}".encode(), SITE + "/"),
    ]
    found += [response(number, one.url, one.html.encode()) for number, one in enumerate(pages, 2)]
    dice, at = Dice(SEED + 1), len(found)
    german = page("Das Wehr über dem Mühlbach", paragraphs(prose(dice, 5, "de")), "de")
    found.append(response(at, SITE + "/de/latin1.html", german.encode("iso-8859-1", "replace"), charset="iso-8859-1"))
    refused = page("Not found", paragraphs(["There is no such page."])).encode()
    found.append(response(at + 1, SITE + "/gone.html", refused, status="404 Not Found"))
    last = response(at + 2, SITE + "/cut.html", page("The last page", paragraphs(prose(dice, 4))).encode())
    return [*found, last[: len(last) // 2]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    if parser.parse_args().check:
        same = ARCHIVE.is_file() and gzip.decompress(ARCHIVE.read_bytes()) == b"".join(records())
        print(f"{ARCHIVE}: {'same' if same else 'differs; run bench/make_archive.py'}")
        return 0 if same else 1
    ARCHIVE.write_bytes(b"".join(gzip.compress(one, 9, mtime=0) for one in records()))
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
