"""Make the pictures of docs/explore.md: runs the bundled recipe, and shows it in headless Chromium.

    python bench/screenshots.py                # all, into docs/
    python bench/screenshots.py --to /tmp      # elsewhere

Needs Chromium and the package playwright.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import refinery  # noqa: E402
from tests.explore.pages import Watched, chromium, served  # noqa: E402

# By recipe, the name of the picture: the view's address, an element to wait for, and the height of the window.
PICTURES = {
    "web_sample": {
        "waterfall": ("waterfall", ".waterfall .steps", 620),
        "bounds": ("bounds?step=11&c.11.min_num=60", ".samples article", 820),
        "samples": ("samples?q=garden&fate=removed&sort=stat:num_words", ".rows mark", 700),
        "sample": ("samples/25?text=changes", ".steps .diff", 820),
        "fields": ("profile", ".profile .bar", 800),
    },
    "web_dedup": {"clusters": ("clusters?step=5&cluster=0", ".pair mark", 700)},
}


def take(watched: Watched, run: str, picture: tuple[str, str, int], path: Path) -> None:
    """Take a picture of a view. run: the folder that it shows in place of the temporary one."""
    view, selector, height = picture
    watched.page.set_viewport_size({"width": 1100, "height": height})
    watched.show(view, selector)
    watched.page.evaluate("name => { document.getElementById('run').textContent = name; }", run)
    watched.page.screenshot(path=path)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    watched.page.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    os.chdir(ROOT)  # the page shows paths from here
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        for recipe, pictures in PICTURES.items():
            folder = Path(scratch) / recipe
            refinery.run(f"recipes/{recipe}.yaml", work_dir=str(folder), export_path=str(folder / "kept.jsonl"))
            with served(folder) as address:
                for name, picture in pictures.items():
                    take(
                        Watched(browser, address, 1100),
                        f"outputs/{recipe}",
                        picture,
                        options.to / f"explore-{name}.png",
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
