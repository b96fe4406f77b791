"""A hook of MkDocs: pages that are made of something else, namely of notebooks, the bibliography and the code."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

import bibliography
import example_report
import names
import notebooks

PAGES = Path(__file__).parents[1]
HEAD = """---
search:
  exclude: true
---
# `{path}` {{ #{module} data-toc-label="{name}" }}

{about}
"""
CODE = """::: {module}
    options:
      show_root_heading: false
      show_root_toc_entry: false
      show_root_members_full_path: false
      show_root_full_path: false
      merge_init_into_class: false
      filters: ["!^__"]
      heading_level: 2

## The whole file

```python linenums="1"
{source}
```
"""
CODE_INDEX = """# The code

Modules that pages name, each with all its functions and their source. What a user imports is in
[the reference](../reference/index.md).

"""


def on_config(config: Any) -> Any:
    """Put pages that the navigation does not name at its end, so that none is out of reach."""
    named = re.findall(r"[\w/-]+\.md", str(config.nav))
    written = (str(page.relative_to(PAGES)) for page in sorted(PAGES.rglob("*.md")))
    if left := [place for place in written if place not in named]:
        config.nav.append({"More": left})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add all generated pages to those that are written by hand."""
    modules = names.modules_with_pages()
    made = {"bibliography.md": bibliography.page(), "code/index.md": CODE_INDEX + _list(modules)}
    made |= {f"code/{module.removeprefix('unweave.').replace('.', '/')}.md": _code_page(module) for module in modules}
    for notebook in sorted((PAGES / "tutorials").glob("*.ipynb")):
        made[f"tutorials/{notebook.stem}.md"] = notebooks.page(notebook)
    made["tutorials/onnx-report.html"] = example_report.report_of(PAGES / "tutorials" / "onnx-and-apis.ipynb")
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def _code_page(module: str) -> str:
    """A page with everything that one module defines, or with the modules of a folder."""
    path = names.shown_path(module)
    inside = names.modules_in(module)
    about = (
        _list(inside)
        if inside
        else CODE.format(module=module, source=names.file_of(module).read_text(encoding="utf-8"))
    )
    return HEAD.format(path=path, name=path.rstrip("/").rpartition("/")[2], module=module, about=about)


def _list(modules: Iterable[str]) -> str:
    """Links to the pages of modules."""
    return "".join(f"* `{names.shown_path(module)}`\n" for module in modules)
