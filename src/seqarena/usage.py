"""`--help` of the verbs: the options of each group with what their files say of themselves, then the verb's own page.

Hydra's own help composes every file of every group to list their names, which takes longer than all else together.
"""

import sys
from pathlib import Path


def asked() -> bool:
    """Whether the command line asks for help."""
    return bool({"--help", "-h"} & set(sys.argv[1:]))


def show(verb: str, about: str, groups: tuple[str, ...], root: Path) -> None:
    """Print how `verb` is used; `groups` are the folders of conf/ that it takes options from."""
    print(about, end="\n\n")
    for group in groups:
        print(f"{group}=")
        folder = root / group if group == "sweeps" else root / "conf" / group
        for path in sorted(folder.glob("*.yaml")):
            print(f"  {path.stem:24} {headline(path)}")
        print()
    print((root / "conf" / f"{verb}.yaml").read_text(encoding="utf-8").split("\nhydra:")[0].strip())
    print(f"\npython {verb}.py --cfg job shows every option with its value; --hydra-help Hydra's own flags.")


def headline(path: Path) -> str:
    """The first comment of a config file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# ") for line in lines if line.startswith("# ") and "@package" not in line)
