"""How far a preparation has come: a bar on a terminal, nothing elsewhere."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Watch:
    """A context that shows one stage at a time, with rows, rows a second and the time left where the end is known."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console()
        self._bars = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(show_speed=True),
            TextColumn("{task.completed:,.0f} rows  [dim]left"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            disable=not console.is_terminal or console.is_dumb_terminal,
        )
        self._stage = self._bars.add_task("preparing data", total=None)

    def __enter__(self) -> "Watch":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bars.stop()

    def stage(self, name: str, rows: int | None = None) -> None:
        """Begin another stage, of so many rows if that is known."""
        self._bars.reset(self._stage, description=name, total=rows)

    def advance(self, rows: int) -> None:
        """So many rows more are done."""
        self._bars.advance(self._stage, rows)
