"""Make the pictures of docs/gallery, and the page that shows them, from `docs/gallery/figures.toml`.

    python docs/make_gallery.py                              write the page from what is there
    python docs/make_gallery.py --run --out gallery-runs     run every figure first: about ten CPU minutes
    python docs/make_gallery.py --run --out gallery-runs --only fiedler:figure-1.2 allenzhu:figure-2

A run goes on where it was stopped: measurements are kept in the folder, as `unweave reproduce` keeps them there.
"""

import argparse
import io
import json
import math
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

DOCS = Path(__file__).parent
GALLERY, PAGE = DOCS / "gallery", DOCS / "gallery.md"
FOUND = GALLERY / "found.json"
# Pixels per inch, and colours of a palette: small files that are still legible.
RESOLUTION, COLOURS = 80, 128
Record = Mapping[str, float | str]
PLACE = re.compile(r"\{([\w.-]+)((?: @ | & )[^{}]*?)?(:%)?\}")
TITLES = {"fiedler": "Rauchensteiner", "soltanolkotabi": "Soltanolkotabi and others", "allenzhu": "Allen-Zhu and Li"}
HEAD = """# Gallery

<!-- Written by docs/make_gallery.py from the files of docs/gallery: change those. -->

Every figure of the works that this package reproduces, run again on one core: what is published, in one line, beside
what was found here. Sizes are small. *Quick* is the form of `--quick`, *usual* the one without an option; neither is
the published size, which `--full` has and which nobody has run here. What each costs `unweave reproduce --list` says.
All pictures are made by

```sh
python docs/make_gallery.py --run --out gallery-runs
```

and each by the command beside it, with `--out run`. [awasthi] and [goel] have no figures; their algorithms, theorems
and tables are in the same list.
"""


def read_figures() -> dict[str, dict[str, Any]]:
    """What is shown, by names as `unweave reproduce` has them."""
    return tomllib.loads((GALLERY / "figures.toml").read_text(encoding="utf-8"))


def read_found() -> dict[str, dict[str, Any]]:
    """What was run: its form, pictures, and the line of what was found."""
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}


def records(document: Mapping[str, Any]) -> list[Record]:
    """The numbers of a reproduction as flat rows: those of all cells of a row by their medians."""
    result = document["result"]
    if "rows" in result and result["rows"] and "settings" in result["rows"][0]:
        return [row["settings"] | _medians(row["numbers"]) for row in result["rows"]]
    return list(_flat(result))


def _medians(cells: list[dict[str, Any]]) -> dict[str, float]:
    names = dict.fromkeys(name for cell in cells for name in cell)
    values = {
        name: [float(cell[name]) for cell in cells if not isinstance(cell.get(name), list | None)] for name in names
    }
    return {name: median(each) for name, each in values.items() if each}


def _flat(part: Any) -> Iterator[Record]:
    """Every dictionary of a document with the numbers and words in it; means stand for their scores."""
    if isinstance(part, list):
        for each in part:
            yield from _flat(each)
    elif isinstance(part, dict):
        yield {name: value for name, value in _scalars(part) if value is not None}
        for each in part.values():
            yield from _flat(each)


def _scalars(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in part.items():
        if isinstance(value, dict) and "mean" in value:
            yield name, value["mean"]
        elif isinstance(value, dict):
            yield from ((f"{name}.{inner}", each["mean"]) for inner, each in value.items() if _is_score(each))
        elif not isinstance(value, list | bool):
            yield name, value


def _is_score(value: Any) -> bool:
    return isinstance(value, dict) and "mean" in value


def told(template: str, rows: list[Record]) -> str:
    """A line with what its braces name: `{column}` or `{column @ setting = value & other = value:%}`.

    Raises:
        ValueError: if nothing was found under a name.
    """

    def one(place: re.Match[str]) -> str:
        column, conditions, percent = place.groups()
        wanted = [each.split(" = ", 1) for each in re.split(r" @ | & ", conditions or "")[1:]]
        chosen = [row for row in rows if all(str(row.get(name.strip())) == value for name, value in wanted)]
        values = [row[column] for row in chosen if column in row]
        if not values:
            raise ValueError(f"there is no {place[0]}.")
        return worded(values, is_share=bool(percent))

    return PLACE.sub(one, template)


def worded(values: list[float | str], *, is_share: bool = False) -> str:
    """The range of numbers, or words one after the other."""
    words = list(dict.fromkeys(str(value) for value in values))
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return ", ".join(words)
    ends = [min(numbers), max(numbers)]
    shown = [f"{100 * end:.1f} %" if is_share else "none" if math.isinf(end) else f"{end:.3g}" for end in ends]
    return " to ".join(dict.fromkeys(shown))


def run(name: str, figure: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Run one figure, and write its pictures."""
    from unweave.reproduce.experiment import Scale
    from unweave.reproduce.registry import Request, reproduction_named

    scale = Scale.QUICK if figure.get("quick") else Scale.USUAL
    sizes = {"seeds": figure["seeds"]} if "seeds" in figure else {}
    found = reproduction_named(name).run(Request(out=folder / name.replace(":", "-"), scale=scale, sizes=sizes))
    pictures = found.pictures()
    files = {}
    for number, picture in enumerate(pictures.values(), start=1):
        file = name.replace(":", "-") + (f"-{number}" if len(pictures) > 1 else "") + ".png"
        files[file] = palette(picture)
        (GALLERY / file).write_bytes(files[file])
    line = told(figure["here"], records(found.as_document()))
    return {"form": form(figure), "pictures": list(files), "here": line}


def palette(picture: Any) -> bytes:
    """A picture as PNG with few colours, chosen so that lines of a few pixels keep theirs."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    picture.savefig(drawn, dpi=RESOLUTION, format="png", metadata={"Software": None})
    image = Image.open(drawn).convert("RGB")
    image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


def form(figure: Mapping[str, Any]) -> str:
    """How large it was made, in words."""
    seeds = figure.get("seeds")
    return ("quick" if figure.get("quick") else "usual") + (f", {seeds} seed{'s'[: seeds != 1]}" if seeds else "")


def command(name: str, figure: Mapping[str, Any]) -> str:
    """What a reader types."""
    seeds = f" --seeds {figure['seeds']}" if "seeds" in figure else ""
    return f"unweave reproduce {name}{' --quick' if figure.get('quick') else ''}{seeds}"


def page(figures: Mapping[str, Mapping[str, Any]], found: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: works, and their figures in order."""
    parts, work = [HEAD], ""
    for name, figure in figures.items():
        if name.partition(":")[0] != work:
            work = name.partition(":")[0]
            parts.append(f"\n## {TITLES[work]} {{#{work}}}\n\nAll from [{work}].\n")
        shown, number = found[name], name.partition(":figure-")[2]
        pictures = " ".join(f"![Figure {number} of {work}, run again](gallery/{file})" for file in shown["pictures"])
        pictures = pictures or "*Numbers only: a drawing that was not made again.*"
        parts.append(
            f"\n### Figure {number} {{#{name.replace(':', '-')}}}\n\n{pictures}\n\n"
            f"* **Published:** {figure['published']}.\n* **Here** ({shown['form']}): {shown['here']}.\n"
            f"* `{command(name, figure)}`\n"
        )
    return "".join(parts)


def main() -> int:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    figures = read_figures()
    parser.add_argument("--run", action="store_true", help="run figures first")
    parser.add_argument("--only", nargs="+", choices=figures, default=list(figures), metavar="WORK:NUMBER")
    parser.add_argument("--out", type=Path, help="keep measurements here, and go on there")
    args = parser.parse_args()
    if args.run and args.out is None:
        parser.error("--run needs --out, a folder.")
    found = read_found()
    for name in args.only if args.run else ():
        sys.stderr.write(f"{name}\n")
        found[name] = run(name, figures[name], args.out)
        # In the order of the page, after every figure: a run that is stopped has lost none.
        ordered = {each: found[each] for each in figures if each in found}
        FOUND.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if missing := [name for name in figures if name not in found]:
        sys.stderr.write(f"not run yet, so that there is no page: {', '.join(missing)}\n")
        return 1
    PAGE.write_text(page(figures, found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
