"""The house's floors: who may import whom, and that no room is called utils."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "src" / "seqarena").rglob("*.py"))
ALLOWED = {  # room -> what it may import beside the standard library and itself
    "models": ("torch",),
    "data": (
        "torch", "numpy", "pyarrow", "datasets", "tokenizers", "sklearn", "num2words", "babel", "lightning",
        "filelock", "rich",
        "huggingface_hub", "yaml",
        "zstandard", "charset_normalizer",
        "seqarena.errors",
    ),
    "evaluation": ("pyarrow",),
    "reach": ("numpy",),
    "extrapolation": ("numpy", "pyarrow", "seqarena.evaluation", "seqarena.reach"),
    "probing": (
        "torch", "numpy", "plotly", "seqarena.errors", "seqarena.evaluation", "seqarena.reach",
        "seqarena.models.attention",
    ),
    "compare": (
        "numpy", "scipy", "pyarrow", "rich", "jinja2", "markupsafe", "plotly", "sacrebleu",
        "wandb", "wandb_workspaces", "pydantic", "typing_extensions", "seqarena.forms", "seqarena.history",
        "seqarena.errors", "seqarena.record", "seqarena.evaluation", "seqarena.reach", "seqarena.sweep",
        "seqarena.wandb_run",
    ),
    "exporting": (
        "torch", "numpy", "ctranslate2", "omegaconf", "filelock", "seqarena.errors", "seqarena.device", "seqarena.runs",
        "seqarena.models", "seqarena.tasks", "seqarena.data.batch", "seqarena.data.examples",
    ),
    "record": ("pydantic", "seqarena.errors", "seqarena.forms", "seqarena.secrets"),
    "secrets": ("seqarena.errors",),
    "history": ("pydantic", "seqarena.errors", "seqarena.forms"),
    "forms": ("pydantic", "pydantic_core", "typing_extensions", "seqarena.errors"),
    "tasks": (
        "torch", "lightning", "torchmetrics", "sacrebleu", "pyarrow", "seqarena.errors", "seqarena.evaluation",
        "seqarena.data.batch", "seqarena.device", "seqarena.layers", "seqarena.models.contract",
        "seqarena.models.dropout",
    ),
}  # fmt: skip
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            found.add(str(node.module))
    return found


def room(path: Path) -> str:
    return path.relative_to(ROOT / "src" / "seqarena").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", [path for path in FILES if room(path) in ALLOWED], ids=lambda p: p.name)
def test_a_room_imports_from_below_only(path: Path) -> None:
    import sys

    allowed = (*ALLOWED[room(path)], f"seqarena.{room(path)}")
    for name in imported(path):
        standard = name.split(".")[0] in sys.stdlib_module_names
        assert standard or any(name == one or name.startswith(f"{one}.") for one in allowed), f"{path} imports {name}"


def test_a_task_is_handed_an_architecture_and_never_imports_one() -> None:
    for path in FILES:
        if room(path) == "tasks":
            ours = {name for name in imported(path) if name.startswith("seqarena.models")}
            assert ours <= {"seqarena.models.contract", "seqarena.models.dropout"}, path


def test_files_say_what_they_are() -> None:
    for path in FILES:
        assert path.stem not in VAGUE and path.parent.name not in VAGUE
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no head"


def test_no_tunnels_in_models() -> None:
    for path in FILES:
        if room(path) == "models":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                assert not (isinstance(node, ast.FunctionDef) and node.args.kwarg), f"{path}:{node.lineno}"


def test_a_clock_that_somebody_sets_ends_nothing_early_or_late() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp | ast.Compare):
                assert "time.time()" not in ast.unparse(node), f"{path}:{node.lineno}: time.monotonic() counts seconds"
