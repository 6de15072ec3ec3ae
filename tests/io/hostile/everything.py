"""All samples of a file or folder, good and bad, however it is cut."""

from pathlib import Path

from refinery.io.batch import BadSample
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import cut, find

GOOD = [b'{"text": "one"}', b'{"text": "two"}']


def read_all(path: Path, shard_size: int = 1 << 30, **options: int) -> tuple[list, list[BadSample]]:
    """Good samples, and bad ones with the lines counted through the file."""
    good, bad, lines = [], [], 0
    for shard in cut(find([path])[0], shard_size):
        rows = []
        seen = 0
        for batch in read(shard, **options):
            good += [batch.sample(i) for i in range(len(batch))]
            bad += [BadSample(b.row, b.line + lines, b.raw, b.error) for b in batch.bad]
            rows += [*batch.rows.tolist(), *(b.row for b in batch.bad)]
            seen = max(seen, batch.lines_seen)
        assert sorted(rows) == list(range(count_rows(shard)))
        lines += seen
    return good, bad
