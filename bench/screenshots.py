"""Make the pictures of docs/explore.md: runs the bundled recipe, and shows it in headless Chromium.

    python bench/screenshots.py                # all, into docs/
    python bench/screenshots.py --to /tmp      # elsewhere

Needs Chromium and the package playwright.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import refinery  # noqa: E402
from tests.explore.pages import Watched, chromium, served  # noqa: E402

# Name of the picture: the view's address, an element to wait for, and the height of the window.
PICTURES = {
    "waterfall": ("waterfall", ".waterfall .steps", 620),
    "bounds": ("bounds?step=11&c.11.min_num=60", ".samples article", 820),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "web_sample"
        refinery.run(ROOT / "recipes" / "web_sample.yaml", work_dir=str(folder), export_path=str(folder / "kept.jsonl"))
        with served(folder) as address, chromium() as browser:
            for name, (view, selector, height) in PICTURES.items():
                watched = Watched(browser, address, 1100)
                watched.page.set_viewport_size({"width": 1100, "height": height})
                watched.show(view, selector)
                watched.page.evaluate(
                    "name => { document.getElementById('run').textContent = name; }", "outputs/web_sample"
                )
                path = options.to / f"explore-{name}.png"
                watched.page.screenshot(path=path)
                print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
                watched.page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
