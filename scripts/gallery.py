"""Draw the pictures of docs/gallery.md again, with the code of the page itself.

``python scripts/gallery.py`` writes docs/pictures/*.png. Run it when the drawing of maps has changed.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from PIL import Image

DOCS = Path(__file__).resolve().parent.parent / "docs"
#: The largest width of a picture, in pixels.
WIDEST = 800


def main() -> None:
    """Run the code of the page, and keep the pictures that it draws, with fewer colours."""
    mpl.use("agg")
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    target = DOCS / "pictures"
    target.mkdir(exist_ok=True)
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for sample in ("learn/bike-trips.csv", "do/tour.gpx"):
            shutil.copy(DOCS / sample, folder)
        os.chdir(folder)
        for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            for example in doctest.DocTestParser().get_examples(block):
                exec(example.source, names)
        for picture in Path(folder).glob("*.png"):
            image = Image.open(picture).convert("RGB")
            image.thumbnail((WIDEST, WIDEST))
            # Small marks keep their colours, which the usual method gives up for more shades of the ground.
            few = image.quantize(128, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
            few.save(target / picture.name, optimize=True)
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
