"""Draw docs/demo.svg from a real run of `unweave demo`.

python docs/make_demo_picture.py
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100
environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
run = subprocess.run(
    [Path(sys.executable).with_name("unweave"), "demo"], capture_output=True, text=True, env=environment, check=True
)
console = Console(record=True, width=WIDTH, file=io.StringIO())
console.print(Text("$ unweave demo\n", style="bold"))
console.print(Text.from_ansi(run.stdout))
# Without the fonts that the template would load from elsewhere: any monospaced one will do.
picture = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="unweave demo"), flags=re.DOTALL)
Path(__file__).with_name("demo.svg").write_text(picture)
